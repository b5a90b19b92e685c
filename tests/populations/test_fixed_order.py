"""Where our own kernels compute, a member's bits depend neither on how many others there are nor on its place."""

import pytest
import torch
from torch import nn

from lamina.kernels import native, ordered
from lamina.kernels.convolution import Form, convolved
from lamina.layers import Detector
from populations.widths import CASES, assert_feels_no_width

needs_compiler = pytest.mark.skipif(native.compiler() is None, reason="needs g++")


@needs_compiler
@pytest.mark.parametrize("kind", ("adam", "nesterov"))
@pytest.mark.parametrize("name", CASES)
def test_a_member_feels_neither_the_width_nor_its_place(name, kind, monkeypatch):
    monkeypatch.setitem(ordered.WANTED, "cpu", True)
    assert_feels_no_width(name, kind, "cpu")


FORMS = (
    Form(1, 28, 28, 6, 5, 5, 1, 2, "sigmoid", 2),
    Form(6, 14, 14, 16, 5, 5, 1, 0, "tanh", 2),
    Form(2, 9, 11, 7, 3, 3, 1, 1, "identity", 1),
    Form(2, 11, 11, 5, 4, 4, 1, 1, "scaled_tanh", 3),
    Form(6, 9, 9, 16, 5, 5, 1, 2, "relu", 2, largest=True),
    Form(3, 11, 10, 2, 3, 3, 1, 0, "leaky_relu", 3, largest=True),
)


@needs_compiler
@pytest.mark.parametrize("shared", (True, False))
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.activation)
def test_convolutions_with_what_follows_them(form, dtype, shared):
    g = torch.Generator().manual_seed(0)
    members, f = 3, form
    x = torch.randn(5, 1 if shared else members, f.channels, f.height, f.width, generator=g, dtype=dtype)
    weight = torch.randn(members, f.filters, f.channels, f.rows, f.columns, generator=g, dtype=dtype)
    bias = torch.randn(members, f.filters, generator=g, dtype=dtype)
    tensors = [weight.requires_grad_(), bias.requires_grad_()] + ([] if shared else [x.requires_grad_()])
    assert f.fits(x)
    y = convolved(x, weight, bias, f)
    slope = torch.randn(y.shape, generator=g, dtype=dtype)
    pool = (nn.MaxPool2d if f.largest else nn.AvgPool2d)(f.pool)
    maps = [
        pool(Detector(f.activation)(nn.functional.conv2d(x[:, 0 if shared else k].double(), weight[k].double(),
                                                       bias[k].double(), padding=f.padding)))
        for k in range(members)
    ]  # fmt: skip
    expected = torch.stack(maps, 1)
    ours, theirs = (torch.autograd.grad(o, tensors, s) for o, s in ((y, slope), (expected, slope.double())))
    for mine, right in zip((y, *ours), (expected, *theirs), strict=True):
        scale = float(right.detach().abs().max())
        torch.testing.assert_close(
            mine.double(), right.double(), rtol=0, atol=scale * (1e-5 if dtype == torch.float32 else 1e-13)
        )
    for k in range(members):
        one = convolved(x[:, 0:1] if shared else x[:, k : k + 1], weight[k : k + 1], bias[k : k + 1], f)
        assert torch.equal(one[:, 0], y[:, k])
        for mine, part in zip(torch.autograd.grad(one, tensors[:2], slope[:, k : k + 1]), ours, strict=False):
            assert torch.equal(mine[k], part[k])
