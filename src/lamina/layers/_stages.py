"""A convolution, the activation and the pooling behind it, as the kernels that compute them together want it."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import nn

from lamina._types import Tensor
from lamina.kernels.convolution import Form
from lamina.kernels.ordered import ACTIVATIONS
from lamina.layers.detector import Detector

_OF_TORCH: dict[type[nn.Module], str] = {nn.ReLU: "relu", nn.Sigmoid: "sigmoid", nn.Tanh: "tanh"}


def stage(layer: nn.Conv2d, behind: Sequence[nn.Module], inputs: Tensor, wanted: bool) -> tuple[Form | None, int]:
    """Give the form of a convolution with what follows it, and how many layers that is; None where no kernel fits.

    Args:
        layer: the convolution, of one network or K.
        behind: the layers that follow it.
        inputs: its inputs, [..., channel, height, width].
        wanted: whether their gradient is.

    >>> behind = [nn.Tanh(), nn.AvgPool2d(2), nn.Flatten()]
    >>> form, used = stage(nn.Conv2d(1, 6, 5), behind, torch.zeros(1, 1, 8, 8), False)
    >>> used if form else 2, form.maps if form else (2, 2)
    (2, (2, 2))
    """
    square = layer.kernel_size[0] == layer.kernel_size[1] and layer.stride[0] == layer.stride[1]
    plain = layer.groups == 1 and layer.dilation == (1, 1) and square and isinstance(layer.padding, tuple)
    if not plain or layer.padding[0] != layer.padding[1] or layer.padding_mode != "zeros":
        return None, 0
    if torch.is_autocast_enabled(inputs.device.type):
        return None, 0
    activation, pool, largest, used = "identity", 1, False, 0
    if behind and (name := _activation(behind[0])) in ACTIVATIONS:
        activation, used = name, 1
    if len(behind) > used and (side := _window(behind[used])):
        pool, largest, used = side, type(behind[used]) is nn.MaxPool2d, used + 1
    channels, height, width = inputs.shape[-3:]
    rows, columns = layer.kernel_size
    form = Form(
        channels,
        height,
        width,
        layer.out_channels,
        rows,
        columns,
        layer.stride[0],
        int(layer.padding[0]),
        activation,
        pool,
        largest,
        wanted,
        not torch.backends.cudnn.allow_tf32,
    )
    return (form, used) if form.fits(inputs) else (None, 0)


def _activation(layer: nn.Module) -> str:
    return layer.activation if type(layer) is Detector else _OF_TORCH.get(type(layer), "")


def _window(layer: nn.Module) -> int:
    """Give the side of square windows that lie side by side; 0 for any other pooling."""
    if type(layer) not in (nn.AvgPool2d, nn.MaxPool2d):  # who derives from them computes something else
        return 0
    layer = cast(nn.AvgPool2d | nn.MaxPool2d, layer)
    size, stride, padding = layer.kernel_size, layer.stride, layer.padding
    odd = getattr(layer, "divisor_override", None) or getattr(layer, "dilation", 1) != 1
    odd = odd or layer.ceil_mode or getattr(layer, "return_indices", False)
    return size if isinstance(size, int) and size == stride and padding == 0 and not odd else 0
