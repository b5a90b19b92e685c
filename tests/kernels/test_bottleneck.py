import torch

from lamina.kernels.bottleneck import block_kernels_apply
from lamina.kernels.norm import recorded_kernels

WEIGHTS = [torch.zeros(16, 64, 1, 1), torch.zeros(16, 16, 3, 3), torch.zeros(64, 16, 1, 1)]


def test_not_on_the_cpu():
    maps = torch.zeros(1, 64, 4, 4, dtype=torch.bfloat16).contiguous(memory_format=torch.channels_last)
    weights = [w.contiguous(memory_format=torch.channels_last) for w in WEIGHTS]
    with recorded_kernels():
        assert not block_kernels_apply(maps, weights)
