"""Stacked rules of dense layers, normalization over a batch, dropout and words.

Each rule computes K modules at once: its first argument is the module with the members along a new first axis of every
parameter and buffer, its inputs and outputs are laid out [batch, members, ...] (one member: shared by all).
"""

from typing import Any

import torch
from torch import nn

from lamina._types import Tensor
from lamina.functional.activations import relu
from lamina.functional.dense import affine
from lamina.layers import (
    DenseOriginalBlock,
    DensePreActBlock,
    Dropout,
    Embedding,
    FullAffineBatchNorm,
    RadialBasis,
    SimpleResNetLayer,
    WordDropout,
)
from lamina.populations.dense import stacked_affine
from lamina.populations.masks import stacked_dropout


def spread(inputs: Tensor, members: int) -> Tensor:
    """Give every member its own view of shared values."""
    return inputs.expand(-1, members, *inputs.shape[2:]) if inputs.shape[1] == 1 else inputs


def per_member(values: Tensor, like: Tensor) -> Tensor:
    """Shape numbers [members, ...] so that they broadcast against the last axes of [batch, members, ...]."""
    return values.reshape(len(values), *(1,) * (like.ndim - 1 - values.ndim), *values.shape[1:])


def linear(layer: nn.Linear, inputs: Tensor) -> Tensor:
    """Apply K dense layers."""
    return stacked_affine(inputs, layer.weight, layer.bias)


def flatten(layer: nn.Flatten, inputs: Tensor) -> Tensor:
    """Flatten behind batch and members."""
    start, end = (axis + 1 if axis > 0 else axis for axis in (layer.start_dim, layer.end_dim))
    return inputs.flatten(start, end)


def batch_norm(layer: nn.BatchNorm1d | nn.BatchNorm2d, inputs: Tensor) -> Tensor:
    """Normalize by each member's own statistics: K times as many channels."""
    members = len(next(t for t in (layer.running_mean, layer.weight) if t is not None))
    inputs = spread(inputs, members)
    if layer.training and layer.num_batches_tracked is not None:
        layer.num_batches_tracked.add_(1)
    flat: list[Any] = [
        None if t is None else t.view(-1) for t in (layer.running_mean, layer.running_var, layer.weight, layer.bias)
    ]
    batch = layer.training or layer.running_mean is None
    mean, variance, weight, bias = flat
    momentum, eps = layer.momentum or 0.0, layer.eps
    outputs = nn.functional.batch_norm(inputs.flatten(1, 2), mean, variance, weight, bias, batch, momentum, eps)
    return outputs.unflatten(1, (members, -1))


def dropout(layer: Dropout, inputs: Tensor) -> Tensor:
    """Drop by each member's own rate, seed and counter."""
    if not layer.training:
        return inputs
    inputs = spread(inputs, len(layer.rate))
    rate = layer.rate.to(inputs.dtype)
    outputs = stacked_dropout(inputs, rate, layer.seed, layer.counter, layer.place)
    layer.counter.add_(1)
    return outputs


def word_dropout(layer: WordDropout, inputs: Tensor) -> Tensor:
    """Drop whole vectors by each member's own rate, seed and counter."""
    return inputs * dropout(layer, inputs.new_ones((*inputs.shape[:-1], 1))) if layer.training else inputs


def embedding(layer: Embedding, indices: Tensor) -> Tensor:
    """Look words up in K tables that lie one behind the other."""
    members, vocab, _ = layer.weight.shape
    first = torch.arange(members, device=indices.device) * vocab
    return nn.functional.embedding(indices + per_member(first, indices), layer.weight.flatten(0, 1))


def full_affine_batch_norm(layer: FullAffineBatchNorm, inputs: Tensor) -> Tensor:
    """Normalize, then apply a matrix."""
    return layer.affine(layer.normalization(inputs))


def radial_basis(layer: RadialBasis, inputs: Tensor) -> Tensor:
    """Measure squared distances to each member's codes."""
    return (inputs[:, :, None, :] - layer.codes).square().sum(-1)


def simple_resnet_layer(layer: SimpleResNetLayer, inputs: Tensor) -> Tensor:
    """Add the branch of each member to its input."""
    branch = layer.dropout(layer._sigma(layer.affine(inputs)))
    if layer.outer is not None:
        branch = layer.outer(branch)
    if layer.padded:
        inputs = affine(inputs, layer.padding)
    elif layer.projection is not None:
        inputs = layer.projection(inputs)
    tau: Any = layer.step_size
    return inputs + (per_member(tau, branch) if isinstance(tau, Tensor) else tau) * branch


def dense_original_block(block: DenseOriginalBlock, y: Tensor) -> Tensor:
    """Compute ReLU(input + branch)."""
    return relu(y + block.bn2(block.dense2(relu(block.bn1(block.dense1(y))))))


def dense_preact_block(block: DensePreActBlock, y: Tensor) -> Tensor:
    """Compute input + branch."""
    return y + block.dense2(relu(block.bn2(block.dense1(relu(block.bn1(y))))))
