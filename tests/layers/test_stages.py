import pytest
import torch

from lamina._errors import ArgumentError
from lamina.layers.bottleneck import OriginalBottleneck, PreActBottleneck
from lamina.layers.residual_blocks import OriginalBlock, PreActBlock
from lamina.layers.stages import block_class, stage


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.notes("N4.34")
def test_block_class_by_name():
    assert [block_class(kind, bottleneck=b) for kind in ("original", "preactivation") for b in (False, True)] == [
        OriginalBlock, OriginalBottleneck, PreActBlock, PreActBottleneck,
    ]  # fmt: skip
    with pytest.raises(ArgumentError, match="`block` must be one of 'original', 'preactivation', got 'v2'"):
        block_class("v2")


@pytest.mark.notes("N4.20", "N4.33")
def test_stages_of_resnet18_have_the_known_counts():
    sizes = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
    assert [count(stage(OriginalBlock, a, b, 2, stride=s)) for a, b, s in sizes] == [147968, 525568, 2099712, 8393728]


def test_a_stage_is_its_blocks_one_after_another(generator):
    blocks = stage(PreActBlock, 2, 4, 3, stride=2, seed=generator).double().eval()
    y = torch.randn(2, 2, 8, 8, generator=generator, dtype=torch.float64)
    assert blocks(y).shape == (2, 4, 4, 4)
    assert torch.equal(blocks(y), blocks[2](blocks[1](blocks[0](y))))
    assert not torch.equal(blocks[1].conv1.weight, blocks[2].conv1.weight)


def test_zero_branch_reaches_every_block(generator):
    y = torch.rand(2, 4, 5, 5, generator=generator, dtype=torch.float64)
    assert torch.equal(stage(OriginalBlock, 4, 4, 3, zero_branch=True).double()(y), y)
    with pytest.raises(ArgumentError, match="`count` must be at least 1, got 0"):
        stage(OriginalBlock, 4, 4, 0)
