"""Small networks pool by our kernel while they are trained eagerly on a CPU; nothing else changes by that."""

from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import lamina
from lamina.data.arrays import from_arrays
from lamina.kernels import native, pooling
from lamina.layers.detector import Detector
from lamina.layers.initialized import conv2d, linear
from lamina.training.executors import _eager
from lamina.training.executors._pooling import pooled
from lamina.training.executors._swapped import Swapped
from lamina.training.loop import Progress, drain

needs_compiler = pytest.mark.skipif(not native.works(), reason="needs g++")
PICTURES = torch.randint(256, (48, 1, 28, 28), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
DATA = from_arrays(PICTURES, torch.arange(48) % 10)


def trained(precision="float32"):
    """Train a network with too many filters for our convolution."""
    recipe = lamina.Recipe(lamina.Adam(1e-3), epochs=2, batch_size=8, precision=precision)
    first, second = conv2d(1, 6, 5, padding=2), conv2d(6, 24, 5)
    stages = first, Detector("relu"), nn.MaxPool2d(2), second, Detector("relu"), nn.MaxPool2d(2)
    at, net = Progress(), nn.Sequential(*stages, nn.Flatten(), linear(600, 10))
    drain(lamina.train(net, DATA.split(), recipe, at=at, runtime=lamina.Runtime("cpu", step="eager")))
    return at, net


@needs_compiler
def test_a_run_has_the_same_bits(monkeypatch):
    calls, call = [], pooling._call
    monkeypatch.setattr(pooling, "_call", lambda name, *tensors: (calls.append(name), call(name, *tensors)))
    at, net = trained()
    assert calls.count("largest") == calls.count("spread") == 2 * 2 * 4  # epochs, layers, updates; checks are torch's
    monkeypatch.setattr(_eager, "Swapped", lambda forwards: nullcontext())  # with maps that lie as before
    other, plain = trained()
    assert len(calls) == 32 and at.rows == other.rows
    assert all(torch.equal(p, q) for p, q in zip(net.parameters(), plain.parameters(), strict=True))
    assert net[0].weight.is_contiguous()


@needs_compiler
def test_half_precision_is_torchs(monkeypatch):
    monkeypatch.setattr(pooling, "largest", lambda inputs: 1 / 0)
    at, _ = trained("bfloat16")
    assert len(at.rows) > 1


def test_without_a_compiler_maps_are_channels_last(monkeypatch):
    monkeypatch.setattr(native, "works", lambda: False)
    assert trained()[1][3].weight.is_contiguous(memory_format=torch.channels_last)


@needs_compiler
@pytest.mark.parametrize(
    ("layer", "wanted"),
    [
        (nn.MaxPool2d(2), True),
        (nn.MaxPool2d((2, 2), (2, 2)), True),
        (nn.MaxPool2d(2, ceil_mode=True), False),
        (nn.MaxPool2d(2, return_indices=True), False),
        (nn.MaxPool2d(3, 2), False),
        (nn.MaxPool2d(2, 1), False),
        (nn.MaxPool2d(2, padding=1), False),
        (nn.MaxPool2d(2, dilation=2), False),
        (nn.AvgPool2d(2), False),
    ],
)
def test_which_layers_are_meant(layer, wanted, monkeypatch):
    x = torch.randn(1, 2, 6, 6)
    plain = layer(x)
    calls, largest = [], pooling.largest
    monkeypatch.setattr(pooling, "largest", lambda inputs: (calls.append(1), largest(inputs))[1])
    forwards = pooled(nn.Sequential(nn.Conv2d(1, 2, 3), layer))
    with Swapped(forwards):
        found = layer(x)
    assert bool(calls) == wanted == bool(forwards) and "forward" not in vars(layer)
    assert all(map(torch.equal, found, plain))


@needs_compiler
def test_what_follows_operations_sees_torchs():
    x, layer = torch.randn(3, 1, 2, 4, 6), nn.MaxPool2d(2)
    with Swapped(pooled(layer)):
        found = torch.func.vmap(layer)(x)
        slopes = torch.func.grad(lambda each: layer(each).sum())(x[0])
    assert torch.equal(found[0], layer(x[0])) and slopes.sum() == found[0].numel()


@needs_compiler
def test_a_checkpoint_computes_the_same_operations_again():
    x = torch.randn(1, 2, 4, 6, requires_grad=True)
    net = nn.Sequential(nn.MaxPool2d(2), nn.Softplus())
    with Swapped(pooled(net)):
        y = checkpoint(net, x, use_reentrant=False)
    y.sum().backward()
    assert torch.equal(x.grad, torch.autograd.grad(nn.Softplus()(nn.MaxPool2d(2)(x)).sum(), x)[0])


class Names(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names = [*getattr(self, "names", ()), str(func)]
        return func(*args, **kwargs or {})


@needs_compiler
def test_who_follows_operations_finds_torchs():
    layer = nn.MaxPool2d(2)
    with Swapped(pooled(layer)), Names() as seen:
        layer(torch.zeros(1, 1, 2, 2))
    assert "aten.max_pool2d_with_indices.default" in seen.names


def test_a_network_with_many_channels_or_on_another_device_stays_as_it_is():
    assert not pooled(nn.Sequential(nn.Conv2d(1, 64, 3), nn.MaxPool2d(2)))
    assert not pooled(nn.Sequential(nn.Conv2d(1, 4, 3, device="meta"), nn.MaxPool2d(2)))
    assert not pooled(nn.Sequential(nn.Conv2d(1, 4, 3, dtype=torch.bfloat16), nn.MaxPool2d(2)))


class Signed(nn.MaxPool2d):
    def forward(self, inputs):
        return -super().forward(-inputs)


def test_poolings_that_somebody_changed_stay_as_they_are():
    given = nn.MaxPool2d(2)
    given.forward = lambda inputs: inputs
    assert not pooled(nn.Sequential(nn.Conv2d(1, 4, 3), Signed(2), given)) and "forward" in vars(given)
