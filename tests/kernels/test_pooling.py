"""The compiled pooling beside torch's, bit by bit."""

import pytest
import torch
from torch.nn.functional import max_pool2d

from lamina.kernels import native, pooling

needs_compiler = pytest.mark.skipif(not native.works(), reason="needs g++")
SIZES = [(2, 2), (3, 5), (2, 7), (6, 8), (10, 10), (9, 17), (28, 28), (5, 33)]


def maps(height: int, width: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Few different values, so that many windows have several largest ones."""
    g = torch.Generator().manual_seed(height * width)
    return torch.randint(-2, 3, (3, 4, height, width), generator=g).to(dtype).requires_grad_()


def same(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    return found.dtype == wanted.dtype and bool(torch.equal(found.nan_to_num(nan=7.5), wanted.nan_to_num(nan=7.5)))


@needs_compiler
def test_by_hand():
    x = torch.tensor([[[[1.0, 3.0, 0.0, -7.0, 9.0], [-2.0, 3.0, 1.0, -1.0, 9.0], [9.0, 9.0, 9.0, 9.0, 9.0]]]])
    x.requires_grad_()
    y = pooling.largest(x)
    y.backward(torch.tensor([[[[10.0, 20.0]]]]))
    assert y.tolist() == [[[[3.0, 1.0]]]]
    assert x.grad.tolist() == [[[[0, 10, 0, 0, 0], [0, 0, 20, 0, 0], [0, 0, 0, 0, 0]]]]


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", SIZES)
def test_values_and_gradients_are_torchs(size, dtype):
    x = maps(*size, dtype)
    found, wanted = pooling.largest(x), max_pool2d(x, 2)
    slopes = torch.randn(wanted.shape, dtype=dtype, generator=torch.Generator().manual_seed(1))
    assert same(found, wanted)
    assert same(*(torch.autograd.grad(y, x, slopes)[0] for y in (found, wanted)))


@needs_compiler
@pytest.mark.parametrize("size", [(4, 6), (6, 20)])
def test_what_is_no_number_wins_as_in_torch(size):
    x = maps(*size)
    with torch.no_grad():
        drawn = torch.rand(x.shape, generator=torch.Generator().manual_seed(2))
        x[drawn < 0.2], x[drawn > 0.9], x[(drawn > 0.8) & (drawn <= 0.9)] = torch.nan, torch.inf, -torch.inf
    found, wanted = pooling.largest(x), max_pool2d(x, 2)
    assert wanted.isnan().any() and same(found, wanted)
    assert same(*(torch.autograd.grad(y, x, torch.ones_like(y))[0] for y in (found, wanted)))


@needs_compiler
def test_threads_change_no_bit():
    x = torch.randn(64, 6, 28, 28, generator=torch.Generator().manual_seed(3), requires_grad=True)
    assert x.numel() > pooling._SHARED
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            y = pooling.largest(x)
            found.append((y, torch.autograd.grad(y, x, y)[0]))
    finally:
        torch.set_num_threads(before)
    assert all(same(a, b) for each in found[1:] for a, b in zip(each, found[0], strict=True))
    assert same(found[0][0], max_pool2d(x, 2))


@needs_compiler
def test_slopes_in_another_layout_and_a_second_derivative():
    x = maps(6, 8, torch.float64)
    y = pooling.largest(x)
    slopes = torch.randn(y.shape[0], *y.shape[2:], y.shape[1]).double().permute(0, 3, 1, 2)
    assert same(*(torch.autograd.grad(each, x, slopes)[0] for each in (y, max_pool2d(x, 2))))
    spread = torch.randn(
        2, 3, 4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(4), requires_grad=True
    )
    assert torch.autograd.gradcheck(pooling.largest, spread) and torch.autograd.gradgradcheck(pooling.largest, spread)


@needs_compiler
def test_what_fits():
    x = torch.zeros(2, 3, 4, 6)
    assert pooling.fits(x) and pooling.fits(x.double())
    assert not pooling.fits(x.half()) and not pooling.fits(x[0]) and not pooling.fits(x[:0])
    assert not pooling.fits(x[:, :, :1]) and not pooling.fits(x.to(memory_format=torch.channels_last))
    assert not pooling.fits(x.to("meta")) and not pooling.fits(torch.nn.Parameter(x))


def test_without_a_compiler_nothing_fits(monkeypatch):
    monkeypatch.setattr(native, "works", lambda: False)
    assert not pooling.fits(torch.zeros(2, 3, 4, 6))
