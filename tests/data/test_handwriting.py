"""A drawn digit becomes a picture as those of MNIST are: box of 20, center of mass in the middle, values kept."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError, DataError
from lamina.data.handwriting import as_mnist, ink_of


def box(picture):
    rows, columns = (torch.nonzero((picture > 0.05).any(dim)).flatten() for dim in (1, 0))
    return len(range(int(rows[0]), int(rows[-1]) + 1)), len(range(int(columns[0]), int(columns[-1]) + 1))


def center(picture):
    place = torch.arange(28.0)
    return float((picture.sum(1) * place).sum() / picture.sum()), float((picture.sum(0) * place).sum() / picture.sum())


def test_a_bar_of_40_by_20_becomes_20_by_10_in_the_middle():
    drawn = torch.zeros(280, 280)
    drawn[100:140, 30:50] = 1.0
    expected = torch.zeros(28, 28)
    expected[4:24, 9:19] = 1.0
    torch.testing.assert_close(as_mnist(drawn), expected)


def test_the_center_of_mass_and_not_the_box_is_centered():
    drawn = torch.zeros(200, 200)
    drawn[20:120, 60:80] = 1.0  # a stem with a foot
    drawn[100:120, 20:120] = 1.0
    picture = as_mnist(drawn)
    assert box(picture) == (20, 20)
    y, x = center(picture)
    assert abs(y - 13.5) <= 0.5 and abs(x - 13.5) <= 0.5


def test_a_digit_that_is_in_place_stays():
    picture = torch.zeros(28, 28)
    picture[4:24, 9:19] = 0.6  # 153 of 255: pictures of MNIST have 256 levels
    torch.testing.assert_close(as_mnist(picture), picture)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 4))
def test_neither_place_nor_size_matters(top, left, factor):
    digit = torch.zeros(20, 20)
    digit[2:4, 3:17] = digit[2:18, 12:14] = 1.0
    large = digit.repeat_interleave(factor, 0).repeat_interleave(factor, 1)
    paper = torch.zeros(150, 150)
    paper[top : top + 20 * factor, left : left + 20 * factor] = large
    there, here = as_mnist(paper), as_mnist(digit)
    assert there.min() >= 0 and there.max() <= 1
    assert (there - here).abs().max() < 0.3 and box(there)[0] == 20


def test_a_dot_and_a_whole_page_work():
    dot = torch.zeros(50, 50)
    dot[7, 9] = 1.0
    assert as_mnist(dot).sum() > 300
    assert as_mnist(torch.ones(30, 30)).sum() == pytest.approx(400)


def test_nothing_drawn_is_said():
    with pytest.raises(DataError, match="has no ink .*draw with a thicker or darker line"):
        as_mnist(torch.zeros(28, 28))
    with pytest.raises(ArgumentError, match="`side` must be at least 20, got 10"):
        as_mnist(torch.ones(28, 28), side=10)


def test_ink_is_found_on_light_and_on_dark_paper():
    digit = torch.zeros(9, 9)
    digit[2:7, 4] = 1.0
    assert torch.equal(ink_of(digit), digit) and torch.equal(ink_of(1 - digit), digit)
    noise = 0.8 + 0.02 * torch.rand(9, 9, generator=torch.Generator().manual_seed(0))
    noise[2:7, 4] = 0.2
    assert torch.equal(ink_of(noise), digit)
    assert ink_of(torch.full((4, 4), 0.5)).sum() == 0
