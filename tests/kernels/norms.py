"""Batch norm and ReLU as one operation and as two, and what an update of each gives."""

import torch
from torch import nn

from lamina.kernels import norm

F64 = torch.float64


def batch_norm_relu(inputs, weight, bias, running=None, momentum=0.1, eps=1e-5, **options):
    return norm.batch_norm_relu(inputs, (weight, bias, running, momentum, eps), **options)


def batch_norm_relu_and_skip(inputs, weight, bias, running=None, momentum=0.1, eps=1e-5):
    return norm.batch_norm_relu_and_skip(inputs, (weight, bias, running, momentum, eps))


def readable(inputs, weight, bias, running=None, momentum=0.1, eps=1e-5, *, residual=None, relu=True):
    mean, variance = (None, None) if running is None else running[:2]
    if running is not None:
        running[2].add_(1)
    y = nn.functional.batch_norm(inputs, mean, variance, weight, bias, True, momentum, eps)
    y = y if residual is None else residual + y
    return torch.relu(y) if relu else y


def draw(generator, *shape, dtype=F64):
    maps = torch.randn(shape, generator=generator, dtype=F64).to(dtype)
    return maps.contiguous(memory_format=torch.channels_last) if len(shape) == 4 else maps


def running(channels, dtype=F64):
    return torch.full((channels,), 0.5, dtype=dtype), torch.full((channels,), 2.0, dtype=dtype), torch.tensor(3)


def outcome(function, tensors, statistics, d, **options):
    """Run forward and backward on copies; return outputs, gradients and moved statistics."""
    leaves = {name: t.clone().requires_grad_() for name, t in tensors.items()}
    outputs = function(leaves["inputs"], leaves["weight"], leaves["bias"], statistics, 0.3, 1e-4, **options)
    outputs.backward(d)
    return [outputs.detach(), *(leaf.grad for leaf in leaves.values()), *statistics]


def close(ours, theirs, tolerance):
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.to(other.dtype), other, rtol=tolerance, atol=tolerance)
