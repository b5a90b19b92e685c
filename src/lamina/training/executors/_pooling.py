"""The largest of windows of 2 x 2 by our kernel while a small network is trained on a CPU; see `kernels.pooling`."""

from functools import partial
from typing import Any

import torch
from torch import nn

from lamina.kernels import native, pooling
from lamina.training.executors._small import few_channels
from lamina.training.executors._swapped import Forwards, followed, plain


def pooled(model: nn.Module) -> Forwards:
    """List the poolings of a network on the CPU that are faster by our kernel; the results are the same bits.

    It reads maps whose rows lie one after the other. Torch's pooling, an old loop over windows, is faster on maps that
    are channels-last; its convolutions are not where channels are few.

    >>> len(pooled(nn.Sequential(nn.Conv2d(1, 6, 5), nn.MaxPool2d(2)))) == native.works()
    True
    >>> pooled(nn.Sequential(nn.Conv2d(64, 64, 3), nn.MaxPool2d(2))), pooled(nn.Conv2d(1, 6, 5))
    ([], [])
    """
    here = all(p.device.type == "cpu" and p.dtype in pooling.DTYPES for p in model.parameters())
    found = [part for part in model.modules() if type(part) is nn.MaxPool2d and _by_two(part) and plain([part])]
    wanted = bool(found) and here and few_channels(model) and native.works()
    return [(part, partial(_largest, part)) for part in found] if wanted else []


def _by_two(part: nn.MaxPool2d) -> bool:
    """Say whether windows of 2 x 2 lie side by side."""
    whole = not part.ceil_mode and not part.return_indices and part.padding in (0, (0, 0))
    side = part.kernel_size in (2, (2, 2)) and part.stride in (2, (2, 2))
    return whole and side and part.dilation in (1, (1, 1))


def _largest(part: nn.MaxPool2d, inputs: Any) -> torch.Tensor:
    """Compute in place of a pooling, by its own `forward` where our kernel does not fit."""
    fits = isinstance(inputs, torch.Tensor) and pooling.fits(inputs) and not followed()
    return pooling.largest(inputs) if fits else nn.MaxPool2d.forward(part, inputs)
