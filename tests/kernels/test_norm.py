"""Batch norm, addition and ReLU as one operation: on the CPU with plain passes for the kernels, on a GPU as it is."""

import pytest
import torch
from torch import nn

from kernels import plain_passes
from kernels.norms import F64, batch_norm_relu, batch_norm_relu_and_skip, close, draw, outcome, readable, running
from lamina.kernels import norm
from lamina.kernels.norm import kernels_apply, recorded_kernels


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setattr(norm, "with_triton", {"_norm_triton": plain_passes}.get)


def test_by_hand(plain):
    u = torch.tensor([1.0, 3.0, 5.0, 7.0], dtype=F64).reshape(2, 1, 1, 2)
    mean, variance, count = torch.zeros(1, dtype=F64), torch.ones(1, dtype=F64), torch.tensor(0)
    y = batch_norm_relu(
        u, torch.full((1,), 5**0.5, dtype=F64), torch.ones(1, dtype=F64), (mean, variance, count), 0.5, 0
    )
    assert y.flatten().tolist() == pytest.approx([0, 0, 2, 4])  # sqrt(5) (u - 4) / sqrt(5) + 1
    assert (mean.item(), count.item()) == (2.0, 1)
    assert variance.item() == pytest.approx(0.5 + 0.5 * 20 / 3)


@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
@pytest.mark.parametrize("relu", [True, False])
def test_equals_batch_norm_and_relu(plain, layout, relu, generator):
    u, d = (draw(generator, 3, 4, 5, 6).contiguous(memory_format=layout) for _ in range(2))
    module = nn.BatchNorm2d(4, eps=1e-4, momentum=0.3).double()
    module.load_state_dict({**module.state_dict(), "weight": draw(generator, 4), "bias": draw(generator, 4)})
    ours = running(4)
    for buffer, value in zip((module.running_mean, module.running_var, module.num_batches_tracked), ours, strict=True):
        buffer.copy_(value)
    tensors = {"inputs": u, "weight": module.weight.detach(), "bias": module.bias.detach()}
    found = outcome(batch_norm_relu, tensors, ours, d, relu=relu)
    v = u.clone().requires_grad_()
    y = torch.relu(module(v)) if relu else module(v)
    y.backward(d)
    expected = [y.detach(), v.grad, module.weight.grad, module.bias.grad]
    expected += [module.running_mean, module.running_var, module.num_batches_tracked]
    close(found, expected, 1e-12)


def test_with_a_residual(plain, generator):
    tensors = {"inputs": draw(generator, 3, 4, 5, 6), "weight": draw(generator, 4), "bias": draw(generator, 4)}
    d, r = draw(generator, 3, 4, 5, 6), draw(generator, 3, 4, 5, 6)
    found, expected = [], []
    for function, into in ((batch_norm_relu, found), (readable, expected)):
        leaf = r.clone().requires_grad_()
        into += [*outcome(function, tensors, running(4), d, residual=leaf), leaf.grad]
    close(found, expected, 1e-12)


def test_with_a_skip_connection(plain, generator):
    tensors = {"inputs": draw(generator, 3, 4, 5, 6), "weight": draw(generator, 4), "bias": draw(generator, 4)}
    d, kernel = draw(generator, 3, 4, 5, 6), draw(generator, 4, 4, 1, 1)

    def block(inputs, *rest):
        active, skip = batch_norm_relu_and_skip(inputs, *rest)
        return skip + nn.functional.conv2d(active, kernel)

    def plain(inputs, *rest):
        return inputs + nn.functional.conv2d(readable(inputs, *rest), kernel)

    close(outcome(block, tensors, running(4), d), outcome(plain, tensors, running(4), d), 1e-12)


def test_a_result_that_nobody_uses_has_no_gradient(plain, generator):
    u, w, b = (t.requires_grad_() for t in (draw(generator, 2, 3, 2, 2), draw(generator, 3), draw(generator, 3)))
    _, skip = batch_norm_relu_and_skip(u, w, b)
    found = torch.autograd.grad(2 * skip.sum(), (u, w, b), allow_unused=True)
    assert torch.equal(found[0], torch.full_like(u, 2)) and found[1:] == (None, None)


def test_gradients_are_those_of_finite_differences(plain, generator):
    u, w, b, r = draw(generator, 2, 3, 2, 2), draw(generator, 3), draw(generator, 3), draw(generator, 2, 3, 2, 2)
    leaves = [t.requires_grad_() for t in (u, w, b, r)]
    assert torch.autograd.gradcheck(lambda u, w, b, r: batch_norm_relu(u, w, b, residual=r), leaves)
    assert torch.autograd.gradcheck(batch_norm_relu, leaves[:3])
    assert torch.autograd.gradcheck(batch_norm_relu_and_skip, leaves[:3])


def test_a_gradient_in_another_layout(plain, generator):
    tensors = {"inputs": draw(generator, 3, 4, 5, 6), "weight": draw(generator, 4), "bias": draw(generator, 4)}
    d = draw(generator, 3, 4, 1, 1).expand(3, 4, 5, 6)  # as average pooling hands it back
    close(
        outcome(batch_norm_relu, tensors, running(4), d),
        outcome(readable, tensors, running(4), d),
        1e-12,
    )


def test_half_precision_accumulates_in_single(plain, generator):
    u, d = draw(generator, 8, 4, 6, 6, dtype=torch.bfloat16) + 5, draw(generator, 8, 4, 6, 6, dtype=torch.bfloat16)
    single = {"inputs": u, "weight": torch.ones(4), "bias": torch.full((4,), 0.1)}
    double = {name: t.double() for name, t in single.items()}
    found = outcome(batch_norm_relu, single, running(4, torch.float32), d)
    assert found[0].dtype == found[1].dtype == torch.bfloat16
    assert found[2].dtype == torch.float32
    expected = outcome(readable, double, running(4), d.double())
    close([t.double() for t in found[:2]], expected[:2], 0.02)
    close([t.double() for t in found[2:]], expected[2:], 1e-4)


def test_the_kernels_run_only_while_recording(monkeypatch):
    monkeypatch.setattr(norm, "with_triton", lambda _: pytest.fail("asked for triton"))
    u = torch.zeros(2, 4, 3, 3).contiguous(memory_format=torch.channels_last)
    assert not kernels_apply(u)
    with recorded_kernels():
        assert not kernels_apply(u)  # on the CPU


def test_a_nan_stays(plain, generator):
    u = draw(generator, 2, 3, 2, 2)
    u[0, 1, 0, 0] = torch.nan
    y = batch_norm_relu(u, torch.ones(3, dtype=F64), torch.zeros(3, dtype=F64))
    assert y[:, 1].isnan().all()
    assert y[:, [0, 2]].isfinite().all()
