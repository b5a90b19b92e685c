"""The drawings of the page ch3/convolution: numbers by hand, and what the notes say of them."""

import torch

from lamina.functional.convolution import convolution_matrix
from lamina.pages.chapters.ch3.convolution._drawing import matrix_of_convolution, named_grids

K = [[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_rows_of_the_matrix_of_a_convolution_are_the_same_numbers_moved_on():
    matrix = convolution_matrix(torch.tensor(K), 4, 5)
    assert torch.equal(matrix[0].roll(1), matrix[1]) and torch.equal(matrix[0].roll(5), matrix[3])
    assert matrix[0, :5].tolist() == [9, 8, 7, 0, 0]
    assert matrix_of_convolution(matrix, 2).description == "6 x 20 entries, 54 of them not zero."


def test_grids_say_what_they_show():
    assert named_grids([("a", [[1.5]], []), ("b", [[2, -3]], [(0, 1)])], title="t").description == "a: 1.5. b: 2 −3."
