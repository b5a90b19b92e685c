"""Bring a convolutional network to channels-last, the memory layout that fast convolutions want."""

import torch
from torch import nn

from lamina._types import Tensor

_SHORT = (torch.float32, torch.bfloat16, torch.float16)

_BLOCK = 16
"""Channels that the widest CPU kernels of oneDNN take at once; those of AVX2 take 8."""


def overruns(kernel: Tensor, stride: int | tuple[int, ...] | str, groups: int = 1) -> bool:
    """Say whether torch may write past its memory in the backward pass of a convolution that is channels-last.

    oneDNN reserves too little scratch memory for the gradient of a strided 1 x 1 kernel with fewer input channels than
    its block: gradients come out wrong or the process dies, by chance and mostly with several threads (oneDNN issue
    6035, up to version 3.12 of torch 2.13 at least). Other layouts are safe.

    Args:
        kernel: on the device where it is used, [filters, channels of a group, rows, columns].
        stride: of the convolution.
        groups: of the convolution.

    >>> [overruns(torch.zeros(16, *shape), stride=2) for shape in ((8, 1, 1), (8, 3, 3), (16, 1, 1))]
    [True, False, False]
    """
    strided = stride not in (1, (1, 1))
    narrow = kernel.device.type == "cpu" and groups == 1 and kernel.shape[1] < _BLOCK
    return strided and narrow and tuple(kernel.shape[2:]) == (1, 1)


def overrunning(model: nn.Module) -> bool:
    """Say whether a network has a convolution that must not see channels-last maps."""
    return any(overruns(m.weight, m.stride, m.groups) for m in model.modules() if isinstance(m, nn.Conv2d))


def _prefers_channels_last(model: nn.Module) -> bool:
    """Say whether a network trains faster with the channels of a pixel side by side.

    True for networks with two-dimensional convolutions in float32 or shorter numbers: on CUDA the tensor cores read
    this layout and the fused normalizations need it; on the CPU it is a little faster for LeNet-5 and ResNets. The
    libraries have no such convolutions for float64, and an erroneous one for some very narrow layers; see `overruns`.
    """
    kernels = [module.weight for module in model.modules() if isinstance(module, nn.Conv2d)]
    return bool(kernels) and all(kernel.dtype in _SHORT for kernel in kernels) and not overrunning(model)


def to_channels_last(model: nn.Module) -> nn.Module:
    """Bring the kernels of a network to channels-last where that is faster; names and values stay.

    Nothing need be done to the inputs: a convolution whose kernel is channels-last brings its input to that layout and
    hands it on. Parameters keep their identity, so that an optimizer made before still holds them.

    Args:
        model: any network; one without convolutions, in float64, or with a layer that `overruns` stays as it is.

    >>> to_channels_last(nn.Conv2d(3, 8, 3)).weight.is_contiguous(memory_format=torch.channels_last)
    True
    """
    if _prefers_channels_last(model):
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return model
