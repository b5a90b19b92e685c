"""Rates, seeds and counters of three members, and values in several layouts."""

import torch

RATE = torch.tensor([0.0, 0.3, 0.9])


SEED = torch.tensor([5, -7, 2**31 - 1], dtype=torch.int32)


COUNTER = torch.tensor([0, 3, 1000], dtype=torch.int32)


def layouts(dtype, device="cpu"):
    """Values [batch, members, ...] that lie in memory in several ways."""
    g = torch.Generator().manual_seed(0)
    values = torch.randn(4, 3, 5, 6, generator=g, dtype=torch.float64).to(device, dtype)
    yield values
    yield values[..., 0]
    yield values[:, :, 0].permute(1, 2, 0).contiguous().permute(2, 0, 1)
    yield values.flatten(1, 2).to(memory_format=torch.contiguous_format).unflatten(1, (3, 5))
    yield values[:, :1, 0].expand(-1, 3, -1)
    yield values.transpose(0, 2).contiguous().transpose(0, 2)
