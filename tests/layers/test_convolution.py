import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from lamina._errors import ArgumentError, ShapeError
from lamina.functional.convolution import convolution
from lamina.functional.initialization import he
from lamina.layers.convolution import TrueConv2d
from lamina.layers.initialized import conv2d


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.notes("N3.18", "N3.33")
def test_forward_is_the_functional_convolution():
    layer = TrueConv2d(3, 4, 3, stride=2, padding=1, seed=5).double()
    images = normal(2, 3, 7, 6)
    with torch.no_grad():
        layer.bias.copy_(normal(4, seed=1))
    assert torch.equal(layer(images), convolution(images, layer.weight, layer.bias, 2, 1))


@pytest.mark.notes("N3.21", "N3.23")
def test_example_of_the_notes():
    layer = TrueConv2d(1, 1, 3, initialization="constant").double()
    with torch.no_grad():
        layer.weight.copy_(torch.arange(1.0, 10.0).reshape(1, 1, 3, 3))
    Y = torch.tensor([[1, 5, -2, 0, 2], [3, 8, 7, 1, 0], [-1, 0, 1, 2, 3], [4, 2, 1, -1, 2]], dtype=torch.float64)
    assert layer(Y[None, None])[0, 0].tolist() == [[119, 120, 53], [155, 155, 102]]


@pytest.mark.notes("N3.30")
def test_weights_come_from_the_rules_and_the_seed():
    layer = TrueConv2d(3, 8, 5, seed=7)
    assert torch.equal(layer.weight, he((8, 3, 5, 5), seed=7))
    assert layer.bias.tolist() == [0] * 8
    assert sum(p.numel() for p in layer.parameters()) == 608
    assert torch.equal(layer.weight, conv2d(3, 8, 5, seed=7).weight)
    assert not torch.equal(layer.weight, TrueConv2d(3, 8, 5, seed=8).weight)
    assert torch.equal(TrueConv2d(3, 8, 5, seed=7, scale=2.0).weight, 2 * layer.weight)
    assert TrueConv2d(1, 1, 1, initialization="constant", scale=0.5).weight.tolist() == [[[[0.5]]]]


def mirrored_pair():
    """Two small networks, one with true convolutions, one with torch's, from mirrored kernels."""
    ours = nn.Sequential(TrueConv2d(2, 3, 3, padding=1, seed=1), nn.Tanh(), TrueConv2d(3, 2, 2, stride=2, seed=2))
    theirs = nn.Sequential(conv2d(2, 3, 3, padding=1), nn.Tanh(), conv2d(3, 2, 2, stride=2))
    with torch.no_grad():
        for k in (0, 2):
            theirs[k].weight.copy_(ours[k].weight.flip(2, 3))
    return ours.double(), theirs.double()


@pytest.mark.notes("N3.20")
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_training_from_mirrored_kernels_gives_mirrored_kernels_and_equal_losses(optimizer):
    images, targets = normal(4, 2, 6, 6, seed=3), normal(4, 2, 3, 3, seed=4)
    curves, networks = [], mirrored_pair()
    for network in networks:
        steps, losses = optimizer(network.parameters(), lr=0.02), []
        for _ in range(15):
            loss = (network(images) - targets).square().mean()
            steps.zero_grad()
            loss.backward()
            steps.step()
            losses.append(loss.item())
        curves.append(losses)
    assert curves[0] == pytest.approx(curves[1], abs=1e-12)
    assert curves[0][-1] < curves[0][0] - 1e-3
    ours, theirs = networks
    for k in (0, 2):
        torch.testing.assert_close(ours[k].weight, theirs[k].weight.flip(2, 3), rtol=0, atol=1e-12)
        torch.testing.assert_close(ours[k].bias, theirs[k].bias, rtol=0, atol=1e-12)
    assert not torch.allclose(ours[0].weight, theirs[0].weight)


def test_state_round_trip():
    layer, other = TrueConv2d(2, 3, 3, seed=1), TrueConv2d(2, 3, 3, seed=2)
    assert list(layer.state_dict()) == ["weight", "bias"]
    other.load_state_dict(copy.deepcopy(layer.state_dict()))
    images = normal(1, 2, 5, 5).float()
    assert torch.equal(layer(images), other(images))


def test_population():
    members = [TrueConv2d(2, 3, 3, padding=1, seed=seed).double() for seed in range(3)]
    parameters, buffers = stack_module_state(members)
    images = normal(2, 2, 5, 5)
    together = vmap(lambda p, b: functional_call(members[0], (p, b), (images,)))(parameters, buffers)
    alone = torch.stack([member(images) for member in members])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-13)


def test_representation():
    assert repr(TrueConv2d(1, 6, 5, padding=2)) == "TrueConv2d(1, 6, kernel_size=5, stride=1, padding=2)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"in_channels": 0}, "`in_channels` must be at least 1, got 0"),
        ({"out_channels": 0}, "`out_channels` must be at least 1, got 0"),
        ({"kernel_size": 0}, "`kernel_size` must be at least 1, got 0"),
        ({"stride": 0}, "`stride` must be at least 1, got 0"),
        ({"padding": -1}, "`padding` must be at least 0, got -1"),
        ({"initialization": "magic"}, "`initialization` must be one of 'xavier', .* got 'magic'"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ArgumentError, match=message):
        TrueConv2d(**{"in_channels": 1, "out_channels": 1, "kernel_size": 1, **options})


def test_too_small_images_are_refused():
    with pytest.raises(ShapeError, match=r"`kernel_size` must be at most the padded input \(7\), got 9: add padding"):
        TrueConv2d(1, 1, 9, padding=1)(torch.zeros(1, 1, 5, 5))
