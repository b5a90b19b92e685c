import copy
import subprocess
import sys
import textwrap

import pytest
import torch
from torch import nn

import lamina
from lamina.layers.memory_format import _prefers_channels_last, overrunning, overruns, to_channels_last


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


@pytest.mark.parametrize(
    ("layer", "unsafe"),
    [
        (nn.Conv2d(8, 16, 1, stride=2), True),
        (nn.Conv2d(15, 4, 1, stride=(1, 2), padding=1), True),
        (nn.Conv2d(16, 32, 1, stride=2), False),
        (nn.Conv2d(8, 16, 1), False),
        (nn.Conv2d(8, 16, (1, 3), stride=2), False),
        (nn.Conv2d(8, 16, 1, stride=2, groups=2), False),
        (nn.Conv2d(8, 16, 1, stride=2, device="meta"), False),
    ],
)
def test_narrow_strided_pointwise_convolutions_keep_the_layout(layer, unsafe):
    net = nn.Sequential(nn.Conv2d(3, 8, 3, device=layer.weight.device), layer)
    assert overruns(layer.weight, layer.stride, layer.groups) is overrunning(net) is unsafe
    assert _prefers_channels_last(net) is not unsafe
    kept = to_channels_last(net)[0].weight.is_contiguous()
    assert kept is unsafe


CRASHES = """
    import torch, lamina
    from torch import nn
    data = lamina.load(torch.randn(282, 1, 16, 16), torch.arange(282) % 2)
    layers = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 1, stride=2), nn.Flatten(), nn.Linear(1024, 2)
    recipe = lamina.Recipe(epochs=10, batch_size=47)  # odd batches fail most
    lamina.fit(nn.Sequential(*layers), data, recipe, folder="run", runtime=lamina.Runtime(step="{step}", threads=2))
"""


def _survives(step, folder):
    """Train a network with such a layer for some hundred updates in a process of its own."""
    code = textwrap.dedent(CRASHES).format(step=step)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_narrow_strided_pointwise_convolution_trains_with_two_threads(tmp_path):
    """Without `overruns` this process dies of a segmentation fault or a damaged heap on processors with AVX-512."""
    _survives("eager", tmp_path)


@pytest.mark.slow
def test_it_also_trains_compiled(tmp_path):
    _survives("compiled", tmp_path)
