"""Bring a convolutional network to channels-last, the memory layout that fast convolutions want."""

import torch
from torch import nn

_SHORT = (torch.float32, torch.bfloat16, torch.float16)


def _prefers_channels_last(model: nn.Module) -> bool:
    """Say whether a network trains faster with the channels of a pixel side by side.

    True for networks with two-dimensional convolutions in float32 or shorter numbers: on CUDA the tensor cores read
    this layout and the fused normalizations need it; on the CPU it is a little faster for LeNet-5 and ResNets. The
    libraries have no such convolutions for float64.
    """
    kernels = [module.weight for module in model.modules() if isinstance(module, nn.Conv2d)]
    return bool(kernels) and all(kernel.dtype in _SHORT for kernel in kernels)


def to_channels_last(model: nn.Module) -> nn.Module:
    """Bring the kernels of a network to channels-last where that is faster; names and values stay.

    Nothing need be done to the inputs: a convolution whose kernel is channels-last brings its input to that layout and
    hands it on. Parameters keep their identity, so that an optimizer made before still holds them.

    Args:
        model: any network; one without convolutions, or in float64, stays as it is.

    >>> to_channels_last(nn.Conv2d(3, 8, 3)).weight.is_contiguous(memory_format=torch.channels_last)
    True
    """
    if _prefers_channels_last(model):
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return model
