import copy

import pytest
import torch
from torch import nn

import lamina
from lamina.layers.memory_format import _prefers_channels_last, to_channels_last


@pytest.mark.parametrize(
    ("name", "options", "shape"),
    [("lenet5", {}, (2, 1, 28, 28)), ("resnet18-cifar", {"width": 0.125}, (2, 3, 32, 32))],
)
def test_same_parameters_same_outputs(name, options, shape, generator):
    net = lamina.build(name, **options).eval()
    u, before = torch.randn(shape, generator=generator), list(net.parameters())
    expected, values = net(u), copy.deepcopy(net.state_dict())
    assert to_channels_last(net) is net
    assert all(p is q for p, q in zip(net.parameters(), before, strict=True))
    assert all(torch.equal(t, values[name]) for name, t in net.state_dict().items())
    assert torch.allclose(net(u), expected, rtol=1e-4, atol=1e-5)


def test_ordinary_inputs_come_out_channels_last(generator):
    net = to_channels_last(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)))
    maps = net(torch.randn(2, 3, 6, 6, generator=generator))
    assert maps.is_contiguous(memory_format=torch.channels_last)


def test_where_it_does_not_win_nothing_changes():
    double = nn.Conv2d(3, 8, 3).double()
    assert not _prefers_channels_last(double)
    assert to_channels_last(double).weight.is_contiguous()
    assert not _prefers_channels_last(lamina.build("fnn", inputs=4, outputs=2))
