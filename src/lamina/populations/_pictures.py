"""Stacked rules of layers for pictures: K networks' maps are K times as many channels, [batch, members, channel, ...].

Where all members read the same pictures, their convolutions are one convolution with K times as many filters; else one
in groups, a group a member.
"""

import torch
from torch import nn

from lamina._types import Tensor
from lamina.kernels.convolution import Form, convolved
from lamina.layers import PartialConv2d, TrueConv2d
from lamina.layers._stages import stage
from lamina.layers.memory_format import overruns

Pair = int | tuple[int, ...] | str


def stacked_conv2d(
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """Correlate each member's maps with its kernels.

    Args:
        inputs: maps [batch, members or 1, channel, height, width].
        weight: kernels [members, filters, channel, rows, columns].
        bias: [members, filters], or None.
        stride: as in `torch.nn.functional.conv2d`, like the rest.
        padding: zeros around the maps.
        dilation: the distance of neighbors in a kernel.
        groups: in how many groups each member works.

    >>> weight = torch.tensor([1.0, 10.0]).reshape(2, 1, 1, 1, 1)
    >>> stacked_conv2d(torch.tensor([[[[[1.0, 2.0]]]]]), weight, None).flatten().tolist()
    [1.0, 2.0, 10.0, 20.0]
    """
    members = len(weight)
    if inputs.shape[1] == 1 and groups == 1:
        maps, parts = inputs[:, 0], 1
    else:
        maps, parts = inputs.expand(-1, members, -1, -1, -1).flatten(1, 2), members * groups
    kernels, shift = weight.flatten(0, 1), None if bias is None else bias.flatten()
    if maps.device.type == "cpu" and not overruns(kernels, stride, parts):  # in groups several times as fast there
        maps = maps.contiguous(memory_format=torch.channels_last)
    outputs = nn.functional.conv2d(maps, kernels, shift, stride, padding, dilation, parts)  # type: ignore[arg-type]
    return outputs.unflatten(1, (members, -1))


def sequential(net: nn.Sequential, inputs: Tensor) -> Tensor:
    """Apply layers one after another; a small convolution and what follows it are one call of compiled code."""
    parts = list(net)
    while parts:
        layer, *parts = parts
        form, used = _fused(layer, parts, inputs) if type(layer) is nn.Conv2d else (None, 0)
        if form is None:
            inputs = layer(inputs)
        else:
            inputs, parts = convolved(inputs, layer.weight, layer.bias, form), parts[used:]  # type: ignore[arg-type]
    return inputs


def _fused(layer: nn.Conv2d, behind: list[nn.Module], inputs: Tensor) -> tuple[Form | None, int]:
    """Give the form of a convolution with the activation and the pooling behind it, and how many layers these are."""
    wanted = inputs.requires_grad and torch.is_grad_enabled()
    spread = inputs.shape[1] == 1 and wanted and len(layer.weight) > 1  # their gradient would be a sum over members
    return (None, 0) if spread else stage(layer, behind, inputs, wanted)


def conv2d(layer: nn.Conv2d, inputs: Tensor) -> Tensor:
    """Apply K convolutional layers."""
    form, _ = _fused(layer, [], inputs)
    if form is not None:
        return convolved(inputs, layer.weight, layer.bias, form)
    rest = layer.stride, layer.padding, layer.dilation, layer.groups
    return stacked_conv2d(inputs, layer.weight, layer.bias, *rest)


def true_conv2d(layer: TrueConv2d, inputs: Tensor) -> Tensor:
    """Apply K true convolutions, their kernels flipped."""
    return stacked_conv2d(inputs, layer.weight.flip(-2, -1), layer.bias, layer.stride, layer.padding)


def partial_conv2d(layer: PartialConv2d, inputs: Tensor) -> Tensor:
    """Apply K convolutions with one table of connections."""
    return stacked_conv2d(inputs, layer.kernels(), layer.bias)


def each_map(layer: nn.Module, inputs: Tensor) -> Tensor:
    """Apply what works on each map by itself, such as pooling, to all maps of all members."""
    outputs: Tensor = type(layer).forward(layer, inputs.flatten(1, 2))
    return outputs.unflatten(1, (inputs.shape[1], -1))
