import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina.functional.initialization import INITIALIZATIONS, draw
from lamina.layers.initialized import conv2d, linear


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.notes("N2.02")
def test_linear_is_torchs_layer_with_our_weights():
    layer = linear(4, 3, seed=5)
    assert type(layer) is nn.Linear
    assert layer.weight.shape == (3, 4)
    assert torch.equal(layer.weight, draw("xavier", (3, 4), 5))
    assert layer.bias.tolist() == [0, 0, 0]
    u = normal(2, 4)
    layer = layer.double()
    torch.testing.assert_close(layer(u), u @ layer.weight.T, rtol=0, atol=1e-14)
    assert all(p.requires_grad and p.is_leaf for p in layer.parameters())


@pytest.mark.parametrize("kind", INITIALIZATIONS)
def test_every_rule_can_be_named(kind):
    assert torch.equal(
        linear(4, 3, initialization=kind, scale=0.7, seed=1).weight, draw(kind, (3, 4), seed=1, scale=0.7)
    )
    assert torch.equal(
        conv2d(2, 3, 5, initialization=kind, scale=0.7, seed=1).weight, draw(kind, (3, 2, 5, 5), seed=1, scale=0.7)
    )


def test_spread_of_the_starting_weights():
    assert linear(400, 300).weight.std().item() == pytest.approx(400**-0.5, rel=0.02)
    assert linear(400, 300, initialization="he").weight.std().item() == pytest.approx((2 / 400) ** 0.5, rel=0.02)
    assert conv2d(16, 64, 5).weight.std().item() == pytest.approx((2 / (16 * 25)) ** 0.5, rel=0.02)
    grouped = conv2d(16, 64, 5, groups=4)
    assert grouped.weight.std().item() == pytest.approx((2 / (4 * 25)) ** 0.5, rel=0.03)


@pytest.mark.notes("N3.30", "N3.35")
def test_conv2d_is_torchs_layer_with_our_weights():
    layer = conv2d(2, 6, 3, stride=2, padding=1, groups=2, seed=3)
    assert type(layer) is nn.Conv2d
    assert torch.equal(layer.weight, draw("he", (6, 1, 3, 3), 3))
    assert layer.bias.tolist() == [0] * 6
    images, layer = normal(2, 2, 7, 7), layer.double()
    expected = nn.functional.conv2d(images, layer.weight, None, stride=2, padding=1, groups=2)
    torch.testing.assert_close(layer(images), expected, rtol=0, atol=1e-14)
    assert sum(p.numel() for p in conv2d(1, 6, 5, padding=2).parameters()) == 156
    assert sum(p.numel() for p in linear(784, 784).parameters()) == 615_440


@pytest.mark.notes("N2.28")
def test_zero_biases_do_no_harm_when_weights_differ():
    generator = torch.Generator().manual_seed(0)
    network = nn.Sequential(linear(4, 5, seed=generator), nn.Tanh(), linear(5, 2, seed=generator)).double()
    assert not network[0].bias.any()
    network(normal(7, 4)).square().sum().backward()
    rows = network[0].weight.grad
    distances = torch.cdist(rows, rows) + torch.eye(5, dtype=torch.float64)
    assert distances.min() > 1e-3
    constant = nn.Sequential(
        linear(4, 5, initialization="constant", scale=0.3),
        nn.Tanh(),
        linear(5, 2, initialization="constant", scale=0.3),
    ).double()
    constant(normal(7, 4)).square().sum().backward()
    rows = constant[0].weight.grad
    torch.testing.assert_close(rows, rows[:1].expand(5, 4), rtol=0, atol=1e-14)  # columns of one product


def test_bias_can_be_left_out():
    assert linear(2, 3, bias=False).bias is None
    assert conv2d(2, 3, 1, bias=False).bias is None
    assert list(linear(2, 3, bias=False).state_dict()) == ["weight"]


@pytest.mark.parametrize("make", [lambda seed: linear(3, 4, seed=seed), lambda seed: conv2d(1, 2, 3, seed=seed)])
def test_seeds_and_generators(make):
    assert torch.equal(make(1).weight, make(1).weight)
    assert not torch.equal(make(1).weight, make(2).weight)
    generator = torch.Generator().manual_seed(1)
    first, second = make(generator), make(generator)
    assert torch.equal(first.weight, make(1).weight)
    assert not torch.equal(first.weight, second.weight)


@pytest.mark.parametrize("make", [lambda: linear(3, 4), lambda: conv2d(1, 2, 3)])
def test_global_generator_is_left_alone(make):
    before = torch.get_rng_state()
    make()
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(
    "make", [lambda kind: linear(3, 4, initialization=kind), lambda kind: conv2d(1, 2, 3, initialization=kind)]
)
def test_unknown_rules_are_refused(make):
    with pytest.raises(ArgumentError, match=r"`initialization` must be one of 'xavier', 'glorot', 'he'.*got 'magic'"):
        make("magic")


def test_on_the_meta_device_nothing_is_drawn():
    with torch.device("meta"):
        layers = linear(4, 3), conv2d(1, 2, 3)
    assert all(p.is_meta and p.requires_grad for layer in layers for p in layer.parameters())
