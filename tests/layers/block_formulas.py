"""Inputs and a written-out batch normalization for the tests of residual blocks."""

import torch
from torch import nn


def maps(generator, channels=4, size=6):
    return torch.randn(5, channels, size, size, generator=generator, dtype=torch.float64)


def scramble(block, generator):
    """Give every normalization its own scale and shift, so that a wrong order cannot hide."""
    for part in block.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            part.weight.data.copy_(torch.rand(part.weight.shape, generator=generator) + 0.5)
            part.bias.data.copy_(torch.randn(part.bias.shape, generator=generator))
    return block.double()


def norm(part, y):
    """Batch normalization over the batch and the picture, written out."""
    mean, variance = y.mean((0, 2, 3), keepdim=True), y.var((0, 2, 3), correction=0, keepdim=True)
    scale, shift = part.weight[:, None, None], part.bias[:, None, None]
    return scale * (y - mean) / (variance + 1e-5).sqrt() + shift
