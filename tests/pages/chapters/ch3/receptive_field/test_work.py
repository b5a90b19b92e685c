"""The work of the page ch3/receptive_field: numbers by hand, and what the notes say of them."""

import pytest
import torch

from lamina.functional.convolution import receptive_field
from lamina.inspection.gradient_field import autograd_field
from lamina.pages.chapters.ch3.receptive_field._work import line_stack, square_stack


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
