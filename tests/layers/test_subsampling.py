import math

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

from lamina._errors import ArgumentError
from lamina.layers.detector import scaled_tanh
from lamina.layers.subsampling import Subsampling

EXAMPLE = torch.tensor([[1, 3, 0, -7], [-2, 4, 1, -1], [0, 1, 8, -3], [2, 0, 4, 5]], dtype=torch.float64)


@pytest.mark.notes("N3.07")
def test_values_by_hand_on_the_pooling_example():
    layer = Subsampling(2, activation="identity").double()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([1.0, -0.5]))
        layer.bias.copy_(torch.tensor([0.0, 10.0]))
    outputs = layer(torch.stack([EXAMPLE, EXAMPLE])[None])
    # window sums: 6, -7 / 3, 14
    assert outputs.tolist() == [[[[6, -7], [3, 14]], [[7, 13.5], [8.5, 3]]]]


def test_squashes_after_the_affine_map():
    layer = Subsampling(1, activation="sigmoid").double()
    with torch.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(-1.0)
    assert layer(EXAMPLE[None, None])[0, 0, 0, 0].item() == pytest.approx(1 / (1 + math.exp(-2.0)), abs=1e-14)
    assert torch.equal(
        Subsampling(1).double()(EXAMPLE[None, None])[0, 0, 1], scaled_tanh(torch.tensor([3 / 4, 14 / 4]).double())
    )


def test_starts_as_squashed_average_pooling(generator):
    y = torch.randn(2, 3, 7, 9, generator=generator, dtype=torch.float64)
    for size in (2, 3):
        average = torch.nn.functional.avg_pool2d(y, size)
        assert torch.allclose(Subsampling(3, size, activation="tanh").double()(y), torch.tanh(average), atol=1e-7)


@pytest.mark.notes("N3.07")
def test_has_two_variables_a_channel():
    assert [sum(p.numel() for p in Subsampling(channels).parameters()) for channels in (6, 16)] == [12, 32]


def test_gradients(generator):
    layer = Subsampling(2).double()
    y = torch.randn(1, 2, 4, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, generator=generator, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(2, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda y, w, b: functional_call(layer, {"weight": w, "bias": b}, (y,)), (y, weight, bias)
    )


def test_vmap_equals_one_by_one(generator):
    layers = [Subsampling(2).double() for _ in range(3)]
    for layer in layers:
        layer.weight.data = torch.randn(2, generator=generator, dtype=torch.float64)
    y = torch.randn(2, 2, 4, 4, generator=generator, dtype=torch.float64)
    state = stack_module_state(layers)
    together = vmap(lambda p, b: functional_call(layers[0], (p, b), (y,)))(*state)
    assert torch.allclose(together, torch.stack([layer(y) for layer in layers]), rtol=0, atol=1e-14)


def test_sizes_are_positive():
    with pytest.raises(ArgumentError, match="`channels` must be at least 1, got 0"):
        Subsampling(0)
    with pytest.raises(ArgumentError, match="`size` must be at least 1, got 0"):
        Subsampling(1, 0)
    assert Subsampling(6).extra_repr() == "6, size=2"
