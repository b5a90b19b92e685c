"""Products, activations and sums whose order one member's shapes decide."""

import pytest
import torch

from lamina.kernels import native, ordered
from lamina.kernels.ordered import sum_by_halves
from lamina.layers import Detector

needs_compiler = pytest.mark.skipif(native.compiler() is None, reason="needs g++")


@needs_compiler
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
@pytest.mark.parametrize("sizes", ((1, 1, 1), (13, 7, 5), (10, 33, 65), (16, 128, 300)))
def test_products_of_any_layout(sizes, dtype):
    rows, size, columns = sizes
    g = torch.Generator().manual_seed(0)
    left, right = (
        torch.randn(3, rows, size, generator=g).to(dtype),
        torch.randn(3, size, columns, generator=g).to(dtype),
    )
    bias = torch.randn(3, rows, generator=g).to(dtype)
    tolerance = {"rtol": 0, "atol": (2e-6 if dtype == torch.float32 else 4e-15) * size**0.5 * 3}
    turned = right.mT.contiguous().mT
    for a in (left, left.mT.contiguous().mT):
        for b in (right, turned, right[0], turned[0]):
            expected = torch.tanh(a.double() @ b.double() + bias.double()[:, :, None])
            torch.testing.assert_close(ordered.product(a, b, bias, "tanh").double(), expected, **tolerance)
            for k in range(3):  # the same bits alone, and from memory that begins elsewhere
                moved = torch.empty(a[k].numel() + 1, dtype=dtype)[1:].view(1, rows, size).copy_(a[k])
                one = ordered.product(moved, b if b.ndim == 2 else b[k : k + 1], bias[k : k + 1], "tanh")
                assert torch.equal(one[0], ordered.product(a, b, bias, "tanh")[k])


@needs_compiler
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
@pytest.mark.parametrize("name", ordered.ACTIVATIONS)
def test_activations_and_their_slopes(name, dtype):
    z = torch.linspace(-30, 30, 1001, dtype=dtype)
    z = torch.cat([z, z / 100, torch.tensor([200.0, -200.0, 1e-30, torch.inf, -torch.inf]).to(dtype)]).requires_grad_()
    y = ordered.activated(z, name)
    exact = z.detach().double().requires_grad_()
    wanted = Detector(name)(exact)
    tolerance = {"rtol": 4e-7, "atol": 4e-8} if dtype == torch.float32 else {"rtol": 1e-14, "atol": 1e-15}
    torch.testing.assert_close(y.double(), wanted, **tolerance)
    keep = z.detach().isfinite()
    (slope,), (right,) = torch.autograd.grad(y.sum(), z), torch.autograd.grad(wanted.sum(), exact)
    torch.testing.assert_close(
        slope[keep].double(), right[keep], rtol=1e-5 if dtype == torch.float32 else 1e-12, atol=3e-7
    )
    assert ordered.activated(torch.tensor([torch.nan], dtype=dtype), name).isnan().all()
    for count in range(1, 70):
        assert torch.equal(ordered.activated(z[:count], name), y[:count])


def test_sums_by_halves():
    for count in range(1, 40):
        values = torch.arange(2.0 * count).view(count, 2)
        assert torch.equal(sum_by_halves(values), values.sum(0))
    values = torch.rand(1000, 3, generator=torch.Generator().manual_seed(0))
    for k in range(3):
        assert torch.equal(sum_by_halves(values)[k : k + 1], sum_by_halves(values[:, k : k + 1]))
    torch.testing.assert_close(sum_by_halves(values).double(), values.double().sum(0), rtol=1e-6, atol=0)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
@pytest.mark.parametrize("own", (False, pytest.param(True, marks=needs_compiler)), ids=("by torch", "compiled"))
def test_squares_of_each_member(own, dtype, monkeypatch):
    monkeypatch.setitem(ordered.WANTED, "cpu", own)
    for count in range(1, 40):
        values = torch.arange(2.0 * count, dtype=dtype).view(2, count)
        assert ordered.squares_of_members(values).tolist() == values.double().square().sum(1).tolist()
    turned = torch.arange(24.0, dtype=dtype).view(3, 4, 2).mT
    assert ordered.squares_of_members(turned).tolist() == turned.double().square().sum((1, 2)).tolist()
