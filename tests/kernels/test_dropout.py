"""Masks by compiled code are those of each member by itself."""

import pytest
import torch
from torch.func import vmap

from lamina.functional.random import dropout
from lamina.populations._masks import stacked_dropout
from populations.masks import COUNTER, RATE, SEED, layouts


def assert_same_masks(dtype, device="cpu"):
    given = [t.to(device) for t in (RATE.to(dtype), SEED, COUNTER)]
    for values in layouts(dtype, device):
        values = values.detach().requires_grad_()
        weights = torch.arange(values.numel(), dtype=dtype, device=device).reshape(values.shape).cos()
        ours = stacked_dropout(values, *given, 2)
        (slope,) = torch.autograd.grad((ours * weights).sum(), values)
        theirs = vmap(dropout, in_dims=(1, 0, 0, None, 0), out_dims=1)(values, *given[:2], 2, given[2])
        (expected,) = torch.autograd.grad((theirs * weights).sum(), values)
        assert torch.equal(ours, theirs)
        torch.testing.assert_close(slope, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_masks_are_those_of_each_member_by_itself(dtype):
    assert_same_masks(dtype)


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_masks_are_the_same_on_cuda(dtype):
    assert_same_masks(dtype, "cuda")
