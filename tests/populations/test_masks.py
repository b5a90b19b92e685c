import pytest
import torch
from torch.func import vmap

from lamina.functional.random import dropout
from lamina.kernels import native
from lamina.layers import Dropout
from lamina.populations._masks import stacked_dropout
from lamina.populations.stacked import _stack_modules

RATE = torch.tensor([0.0, 0.3, 0.9])
SEED = torch.tensor([5, -7, 2**31 - 1], dtype=torch.int32)
COUNTER = torch.tensor([0, 3, 1000], dtype=torch.int32)


def layouts(dtype, device="cpu"):
    """Values [batch, members, ...] that lie in memory in several ways."""
    g = torch.Generator().manual_seed(0)
    values = torch.randn(4, 3, 5, 6, generator=g, dtype=torch.float64).to(device, dtype)
    yield values
    yield values[..., 0]
    yield values[:, :, 0].permute(1, 2, 0).contiguous().permute(2, 0, 1)
    yield values.flatten(1, 2).to(memory_format=torch.contiguous_format).unflatten(1, (3, 5))
    yield values[:, :1, 0].expand(-1, 3, -1)
    yield values.transpose(0, 2).contiguous().transpose(0, 2)


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


def test_without_a_compiler_the_masks_are_the_same(monkeypatch):
    values = next(layouts(torch.float32))
    first = stacked_dropout(values, RATE, SEED, COUNTER, 1)
    monkeypatch.setattr(native, "works", lambda: False)
    assert torch.equal(first, stacked_dropout(values, RATE, SEED, COUNTER, 1))


@pytest.mark.parametrize("compiled", (True, False))
def test_in_float64_members_scale_by_their_rate_in_float64(compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(native, "works", lambda: False)
    rates = (0.3, 0.7)
    stacked = _stack_modules([Dropout(rate, seed=k) for k, rate in enumerate(rates)]).double()
    outputs = stacked(torch.ones(1, 2, 50, dtype=torch.float64))
    for k, rate in enumerate(rates):
        assert outputs[0, k].max().item() == pytest.approx(1 / (1 - rate), rel=1e-15)
