"""Feature maps and kernels as pictures: by hand, and the shares of the catalogue."""

import math

import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina.architectures.build import build
from lamina.inspection.activations import Kernels, _signed, feature_maps, kernels, normalized


def test_maps_are_what_the_layers_give():
    net = build("lenet5")
    u = torch.randn(3, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    found = feature_maps(net, u)
    first = net.features[0](u)
    assert torch.equal(found["features.0"].values, first)
    assert torch.equal(found["features.1"].values, torch.sigmoid(first))
    assert found["features.0"].mean == pytest.approx(first.mean().item(), rel=1e-5)
    assert found["features.1"].kind == "sigmoid" and found["features.1"].saturated == 0
    shown = found["features.2"].pictures(1)
    assert shown.shape == (6, 14, 14) and shown.amin((1, 2)).tolist() == [0.0] * 6
    assert shown.amax((1, 2)).tolist() == [1.0] * 6
    assert torch.equal(found.layers[-1].values, net(u)) and found.layers[-1].pictures().shape == (1, 1, 10)
    assert net.training and not net.features[0]._forward_hooks


def test_normalizing_by_hand():
    maps = torch.tensor([[[1.0, 3.0], [2.0, 5.0]], [[4.0, 4.0], [4.0, 4.0]]])
    assert normalized(maps).tolist() == [[[0.0, 0.5], [0.25, 1.0]], [[0.0, 0.0], [0.0, 0.0]]]
    assert _signed(torch.zeros(1, 2, 2)).tolist() == [[[0.5, 0.5], [0.5, 0.5]]]


def test_kernels_are_pictures_around_gray():
    weights = torch.tensor([[[[-1.0, 0.0], [0.5, 1.0]]], [[[0.0, 4.0], [0.0, -2.0]]]])
    layer = Kernels("conv", weights)
    assert layer.pictures().tolist() == [[[[0.0, 0.5], [0.75, 1.0]]], [[[0.5, 1.0], [0.5, 0.25]]]]
    assert layer.pictures("all")[0].tolist() == [[[0.375, 0.5], [0.5625, 0.625]]]
    found = kernels(build("alexnet", inputs=(3, 67, 67), width=0.0625))
    colors = found[0].colors()
    assert colors.shape[-1] == 3 and colors.min() == 0 and colors.max() == 1
    assert str(layer).splitlines()[0] == "conv: 2 kernels of 1x2x2"
    with pytest.raises(ArgumentError, match="`colors` needs kernels that read 3 channels, got 1: use `pictures`"):
        layer.colors()
    with pytest.raises(ArgumentError, match="`scale` must be one of 'each', 'all', got 'none'"):
        layer.pictures("none")


@pytest.mark.notes("N2.32")
def test_large_weights_saturate_tanh():
    shares = {}
    for width in (25, 400):
        net = build("fnn", inputs=width, outputs=width, hidden=(width,) * 19, activation="tanh",
                    last_activation="tanh", initialization="gaussian", scale=0.2)  # fmt: skip
        u = torch.randn(64, width, generator=torch.Generator().manual_seed(0))
        shares[width] = feature_maps(net, u).layers[-1].saturated
    assert shares[25] == 0 and 0.4 < shares[400] < 0.5


def test_dead_units_and_the_table():
    net = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[1.0], [-1.0]]))
        net[0].bias.zero_()
    found = feature_maps(net, torch.tensor([[1.0], [3.0]]))
    assert found["1"].dead == 0.5 and math.isnan(found["1"].saturated) and found["1"].mean == 1.0
    lines = str(found).splitlines()
    assert lines[0].split() == ["layer", "kind", "shape", "mean", "std", "dead", "saturated"]
    assert lines[2].split() == ["1", "relu", "2", "1", "1.22", "0.5", "-"]
    with pytest.raises(ArgumentError, match="there is no layer 'x': the layers are 0, 1"):
        found["x"]
    cells = feature_maps(build("many-to-one", inputs=2, outputs=2, hidden=3), torch.ones(1, 4, 2))
    assert [layer.kind for layer in cells.layers if layer.name == "recurrent"] == ["gru"]
