"""What the pages of chapter 3 are made of: typed matrices, drawings with live numbers, small stacks, work."""

import ast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._catalogue import items
from lamina._errors import DataError
from lamina.functional.convolution import convolution_matrix, convolve2d, correlate2d, receptive_field
from lamina.inspection.gradient_field import autograd_field
from lamina.pages.site.contents import pages
from lamina.pages.chapters.ch3.shared import (
    matrix_of_convolution,
    named_grids,
    pixels,
    pooling_entry,
    seen_pixels,
    shades,
    thinned_network,
)
from lamina.pages.kit.matrices import read_matrix
from lamina.pages.chapters.ch3.receptive_field.work import line_stack, square_stack
from lamina.pages.chapters.ch3.lrn.work import dropout_race

Y = [[1.0, 5, -2, 0, 2], [3, 8, 7, 1, 0], [-1, 0, 1, 2, 3], [4, 2, 1, -1, 2]]
K = [[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_the_pages_show_every_row_of_the_chapter():
    shown = set()
    for page in (p for p in pages() if p.chapter == "ch3"):
        for node in ast.walk(ast.parse(page.file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "kit.section":
                shown |= {
                    c.value for word in node.keywords for c in ast.walk(word.value) if isinstance(c, ast.Constant)
                }
    assert {key for key in items() if key.startswith("N3.")} - shown == set()


def test_a_matrix_is_read_in_the_forms_people_type():
    assert read_matrix("1 5 -2\n3, 8, 7\n") == [[1, 5, -2], [3, 8, 7]]
    assert read_matrix(" 1;2 ;; −0.5 ") == [[1], [2], [-0.5]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "K is empty: type rows of numbers"),
        ("1 2; 3", "every row of K must have as many numbers as the others, got 1 and 2"),
        ("1 a", "K must hold numbers, got 'a': write them as 3 or -0.5"),
        ("inf", "K must hold numbers below a million, got inf"),
        ("1 2 3 4 5 6 7 8 9", "K may have at most 8 rows and columns, got 1 x 9"),
    ],
)
def test_a_matrix_that_cannot_be_read_says_why(text, words):
    with pytest.raises(DataError, match=words):
        read_matrix(text, "K")


@pytest.mark.notes("N3.18", "N3.19")
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 3), st.integers(3, 5), st.integers(3, 6))
def test_a_convolution_is_its_matrix(seed, m1, m2, n1, n2):
    g = torch.Generator().manual_seed(seed)
    y, k = (torch.randn(*shape, generator=g, dtype=torch.float64) for shape in ((n1, n2), (m1, m2)))
    for flip, direct in ((True, convolve2d), (False, correlate2d)):
        matrix = convolution_matrix(k, n1, n2, flip=flip)
        torch.testing.assert_close(matrix @ y.flatten(), direct(y, k).flatten(), rtol=0, atol=1e-13)
        assert int(matrix.ne(0).sum()) == len(matrix) * m1 * m2


def test_rows_of_the_matrix_of_a_convolution_are_the_same_numbers_moved_on():
    matrix = convolution_matrix(torch.tensor(K), 4, 5)
    assert torch.equal(matrix[0].roll(1), matrix[1]) and torch.equal(matrix[0].roll(5), matrix[3])
    assert matrix[0, :5].tolist() == [9, 8, 7, 0, 0]
    assert matrix_of_convolution(matrix, 2).description == "6 x 20 entries, 54 of them not zero."


@pytest.mark.notes("N3.41", "N3.42")
def test_the_drawn_pooling_has_the_numbers_of_the_notes():
    image = [[1, 3, 0, -7], [-2, 4, 1, -1], [0, 1, 8, -3], [2, 0, 4, 5]]
    said = [pooling_entry(image, place, kind=kind).description for kind in ("max", "average")
            for place in ((1, 1), (1, 2), (2, 1), (2, 2))]  # fmt: skip
    assert [words.split(" = ")[-1] for words in said] == ["4.", "1.", "2.", "8.", "1.5.", "−1.75.", "0.75.", "3.5."]


def test_padding_is_minus_infinity_for_max_and_zero_for_the_mean():
    image = [[-1.0, -2.0], [-3.0, -4.0]]
    options = {"kernel_size": 3, "stride": 1, "padding": 1}
    assert "−∞" in pooling_entry(image, **options).description
    assert pooling_entry(image, **options).description.endswith("= −1.")
    assert pooling_entry(image, kind="average", **options).description.endswith("/ 9 = −1.11.")


def test_colors_and_pixels():
    assert pixels(torch.tensor([[[0.0]], [[0.5]], [[1.0]]])) == [[[0, 128, 255]]]
    assert shades(torch.tensor([[1.0, -0.5]]), 1.0) == [[[204, 16, 22], [133, 169, 226]]]
    assert shades(torch.zeros(1, 1)) == [[[255, 255, 255]]]


def test_grids_fields_and_thinned_networks_say_what_they_show():
    assert named_grids([("a", [[1.5]], []), ("b", [[2, -3]], [(0, 1)])], title="t").description == "a: 1.5. b: 2 −3."
    assert "rows 0 to 13 and columns 6 to 21" in seen_pixels(torch.rand(28, 28), ((0, 13), (6, 21))).description
    none = thinned_network([[True] * 4, [True] * 6, [True] * 3])
    assert none.description == "Of 13 units 0 are dropped; 42 of 42 arrows are left."
    assert thinned_network([[True] * 2, [False] * 3]).description.endswith("0 of 6 arrows are left.")


@pytest.mark.notes("N3.36", "N3.37")
def test_the_stack_of_a_line_sees_what_the_formula_says():
    for kernels, strides in (([3, 3], [1, 1]), ([3, 3, 3], [2, 1, 2]), ([5, 2], [1, 3])):
        network = line_stack(kernels, strides, [0] * len(kernels))
        assert int(autograd_field(network, (1, 40), 2).sum()) == receptive_field(kernels, strides)


def test_a_square_stack_keeps_the_size_and_depends_on_its_seed_only():
    one, same, other = square_stack(3, 5, seed=1), square_stack(3, 5, seed=1), square_stack(3, 5, seed=2)
    u = torch.rand(1, 1, 9, 9)
    assert torch.equal(one(u), same(u)) and not torch.equal(one(u), other(u))
    assert one(u).shape == (1, 4, 9, 9)


@pytest.mark.slow
@pytest.mark.notes("N3.57")
def test_the_race_shows_the_gap_that_dropout_closes():
    last = list(dropout_race(0.5, 0.2, 0))[-1]
    gaps = [seen - unseen for seen, unseen in zip(last["seen"], last["unseen"], strict=True)]
    assert (
        last["epoch"] == 60 and last["seen"][0] > 0.99 and gaps[1] < gaps[0] and last["unseen"][1] > last["unseen"][0]
    )


def test_the_race_yields_plain_rows():
    rows = list(dropout_race(0.5, 0.0, 1, epochs=2))
    assert [row["epoch"] for row in rows] == [1, 2] and all(0 <= v <= 1 for row in rows for v in row["seen"])
    assert rows[1]["seen"][0] > rows[0]["seen"][0] or rows[1]["seen"][1] > rows[0]["seen"][1]
