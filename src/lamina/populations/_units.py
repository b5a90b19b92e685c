"""Stacked rules of dense layers, normalization over a batch, dropout and words, and of what has weights of its own.

Each rule computes K modules at once: its first argument is the module with the members along a new first axis of every
parameter and buffer, its inputs and outputs are laid out [batch, members, ...] (one member: shared by all).
"""

from typing import Any

import torch
from torch import nn

from lamina._types import Tensor
from lamina.architectures._dense import as_vectors
from lamina.architectures.fnn import FNN
from lamina.architectures.ode import NeuralODE
from lamina.functional.ode import RightHandSide, interpolate
from lamina.kernels import ordered
from lamina.layers import Detector, Dropout, Embedding
from lamina.populations import _even as even
from lamina.populations._dense import CHAINED, dense_chain, stacked_affine
from lamina.populations._masks import stacked_dropout


def spread(inputs: Tensor, members: int) -> Tensor:
    """Give every member its own view of shared values."""
    return inputs.expand(-1, members, *inputs.shape[2:]) if inputs.shape[1] == 1 else inputs


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


def drop(layer: Dropout, inputs: Tensor) -> Tensor:
    """Drop by each member's own rate, seed and counter."""
    inputs = spread(inputs, len(layer.rate))
    rate = layer.rate.to(inputs.dtype)
    outputs = stacked_dropout(inputs, rate, layer.seed, layer.counter, layer.place)
    layer.counter.add_(1)
    return outputs


def embedding(layer: Embedding, inputs: Tensor, *, reverse: bool = False) -> Tensor:
    """Look words up in K tables that lie one behind the other."""
    if reverse:
        return stacked_affine(inputs, layer.weight)
    members, vocab, _ = layer.weight.shape
    first = torch.arange(members, device=inputs.device) * vocab
    first = first.reshape(-1, *(1,) * (inputs.ndim - 2))  # [members, ...], as the words
    return nn.functional.embedding(inputs + first, layer.weight.flatten(0, 1))


def is_chain(net: FNN) -> bool:
    """Say whether feedforward networks are plain ones: affine maps and activations alone."""
    plain = not net.config.batch_norm and not any(isinstance(part, Dropout) for part in net.modules())
    return plain and all(name in CHAINED for name in net.config.activations)


def fnn(net: FNN, inputs: Tensor) -> Tensor:
    """Compute K feedforward networks; plain ones as one chain."""
    if not is_chain(net) or torch.is_autocast_enabled(inputs.device.type):
        return FNN.forward(net, inputs)
    return dense_chain(as_vectors(inputs, net.config.inputs), net.config.activations, net.weights, net.biases)


def detector(layer: Detector, inputs: Tensor) -> Tensor:
    """Apply an activation; that of one member does not feel its place."""
    if not inputs.is_cuda and ordered.ready(inputs) and layer.activation in ordered.ACTIVATIONS:
        return ordered.activated(inputs, layer.activation)
    own = even.FORMS.get(layer.activation)
    return Detector.forward(layer, inputs) if own is None else own(inputs)


def logistic(layer: nn.Sigmoid, inputs: Tensor) -> Tensor:
    """Apply the logistic function; that of one member does not feel its place."""
    return (
        ordered.activated(inputs, "sigmoid") if not inputs.is_cuda and ordered.ready(inputs) else even.sigmoid(inputs)
    )


def dynamics(net: NeuralODE) -> RightHandSide:
    """Make the right-hand side of K differential equations."""
    sigma, end = even.even(net.config.activation), net.config.duration
    weights, biases = net.weight.transpose(0, 1), net.bias.transpose(0, 1)  # knots first, as `interpolate` wants them
    return lambda t, y: sigma(stacked_affine(y, interpolate(weights, t, end), interpolate(biases, t, end)))
