import pytest
import torch
from torch.nn.functional import conv2d

from lamina._errors import ArgumentError
from lamina.layers.bottleneck import OriginalBottleneck, PreActBottleneck
from layers.block_formulas import maps, norm, scramble


@pytest.mark.notes("N4.19")
@pytest.mark.parametrize("stride", [1, 2])
def test_original_bottleneck_is_its_formula(stride, generator):
    block, y = scramble(OriginalBottleneck(4, 8, stride=stride, seed=generator), generator), maps(generator)
    hidden = torch.relu(norm(block.bn1, conv2d(y, block.conv1.weight)))
    hidden = torch.relu(norm(block.bn2, conv2d(hidden, block.conv2.weight, stride=stride, padding=1)))
    branch = norm(block.bn3, conv2d(hidden, block.conv3.weight))
    skip = norm(block.downsample[1], conv2d(y, block.downsample[0].weight, stride=stride))
    assert torch.allclose(block(y), torch.relu(skip + branch), rtol=0, atol=1e-12)


@pytest.mark.notes("N4.23")
@pytest.mark.parametrize(("channels", "stride"), [(4, 1), (8, 2)])
def test_preactivation_bottleneck_is_its_formula(channels, stride, generator):
    block, y = scramble(PreActBottleneck(4, channels, stride=stride, seed=generator), generator), maps(generator)
    active = torch.relu(norm(block.bn1, y))
    hidden = torch.relu(norm(block.bn2, conv2d(active, block.conv1.weight)))
    hidden = torch.relu(norm(block.bn3, conv2d(hidden, block.conv2.weight, stride=stride, padding=1)))
    skip = y if stride == 1 else conv2d(active, block.downsample.weight, stride=2)
    assert torch.allclose(block(y), skip + conv2d(hidden, block.conv3.weight), rtol=0, atol=1e-12)


def test_middle_has_a_quarter_of_the_channels():
    block = PreActBottleneck(16, 64)
    assert [tuple(c.weight.shape) for c in (block.conv1, block.conv2, block.conv3)] == [
        (16, 16, 1, 1), (16, 16, 3, 3), (64, 16, 1, 1),
    ]  # fmt: skip
    for make in (OriginalBottleneck, PreActBottleneck):
        with pytest.raises(ArgumentError, match="bottleneck block must be a multiple of 4, got 6: its middle"):
            make(6, 6)
