"""The largest of windows of 2 x 2 by our kernel while a small network is trained on a CPU; see `kernels.pooling`."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.functional import max_pool2d
from torch.overrides import TorchFunctionMode

from lamina.kernels import native, pooling
from lamina.layers._fused import follows_operations
from lamina.training.executors._small import few_channels


class Pooling(TorchFunctionMode):
    """While it is entered, `max_pool2d` runs by our kernel where that fits; the results are the same bits."""

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Look at each function of torch that is called."""
        if func is max_pool2d and not followed() and _by_two(*args, **kwargs or {}):
            return pooling.largest(args[0])
        return func(*args, **kwargs or {})


def followed() -> bool:
    """Say whether somebody follows operations or what they keep; a checkpoint computes them again without this mode."""
    hooked = torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
    return hooked or torch._C._len_torch_dispatch_stack() > 0 or follows_operations()


def pools(model: nn.Module) -> bool:
    """Say whether a network on the CPU has poolings that are faster by our kernel.

    It reads maps whose rows lie one after the other. Torch's pooling, an old loop over windows, is faster on maps that
    are channels-last; its convolutions are not where channels are few.

    >>> pools(nn.Sequential(nn.Conv2d(1, 6, 5), nn.MaxPool2d(2))) == native.works()
    True
    >>> pools(nn.Sequential(nn.Conv2d(64, 64, 3), nn.MaxPool2d(2))), pools(nn.Conv2d(1, 6, 5))
    (False, False)
    """
    tensors = list(model.parameters())
    here = all(p.device.type == "cpu" and p.dtype in pooling.DTYPES for p in tensors)
    found = [part for part in model.modules() if type(part) is nn.MaxPool2d]
    twos = any(_by_two(torch.zeros(()), **_options(part), fit=False) for part in found)
    return here and twos and few_channels(model) and native.works()


def _options(part: nn.MaxPool2d) -> dict[str, Any]:
    names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
    return {name: getattr(part, name) for name in names}


def _by_two(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    fit: bool = True,
) -> bool:
    """Say whether windows of 2 x 2 lie side by side, and the maps fit; the arguments are those of `max_pool2d`."""
    plain = not ceil_mode and not return_indices and padding in (0, (0, 0)) and dilation in (1, (1, 1))
    side = kernel_size in (2, (2, 2)) and stride in (None, 2, (2, 2))
    return plain and side and (not fit or pooling.fits(input))
