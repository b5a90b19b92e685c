"""The drawings of the page ch3/convolution: numbers by hand, and what the notes say of them."""

import torch

from lamina.functional.convolution import convolution_matrix
from lamina.pages.chapters.ch3.convolution._drawing import matrix_of_convolution, named_grids
from lamina.pages.chapters.ch3.lrn._drawing import thinned_network
from lamina.pages.chapters.ch3.receptive_field._drawing import seen_pixels

K = [[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_rows_of_the_matrix_of_a_convolution_are_the_same_numbers_moved_on():
    matrix = convolution_matrix(torch.tensor(K), 4, 5)
    assert torch.equal(matrix[0].roll(1), matrix[1]) and torch.equal(matrix[0].roll(5), matrix[3])
    assert matrix[0, :5].tolist() == [9, 8, 7, 0, 0]
    assert matrix_of_convolution(matrix, 2).description == "6 x 20 entries, 54 of them not zero."


def test_grids_fields_and_thinned_networks_say_what_they_show():
    assert named_grids([("a", [[1.5]], []), ("b", [[2, -3]], [(0, 1)])], title="t").description == "a: 1.5. b: 2 −3."
    assert "rows 0 to 13 and columns 6 to 21" in seen_pixels(torch.rand(28, 28), ((0, 13), (6, 21))).description
    none = thinned_network([[True] * 4, [True] * 6, [True] * 3])
    assert none.description == "Of 13 units 0 are dropped; 42 of 42 arrows are left."
    assert thinned_network([[True] * 2, [False] * 3]).description.endswith("0 of 6 arrows are left.")
