"""The layers of small networks by our kernels, where those are faster than torch's; see `kernels.small_networks`."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import linear
from torch.overrides import TorchFunctionMode

from lamina.kernels.small_networks import CHANNELS, ROUNDED_WORK, Kernels, fits_convolution, fits_linear


class SmallLayers(TorchFunctionMode):
    """While it is entered, dense and convolutional layers of small size run by our kernels.

    They compute in float32 even where torch may round products to bfloat16: at these sizes that is the faster way too.

    Args:
        kernels: from `load`.
    """

    def __init__(self, kernels: Kernels) -> None:
        super().__init__()
        self.kernels = kernels

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Look at each function of torch that is called."""
        kwargs = kwargs or {}
        if func is linear and fits_linear(*args, **kwargs):
            return self.kernels.linear(*_named(args, kwargs))
        if func is torch.conv2d and fits_convolution(*args, **kwargs):
            padding = args[4] if len(args) > 4 else kwargs.get("padding", 0)
            padding = padding if isinstance(padding, int) else padding[0]
            inputs, weight, bias = _named(args[:3], kwargs)
            return self.kernels.convolution(inputs, weight, bias, padding)
        return func(*args, **kwargs)


def _named(args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    return [*args, *(kwargs.get(name) for name in ("input", "weight", "bias")[len(args) :])]


def few_channels(model: torch.nn.Module) -> bool:
    """Say whether all convolutions of a network have so few channels that ours are the faster ones on CUDA.

    >>> few_channels(torch.nn.Conv2d(1, 6, 5)), few_channels(torch.nn.Conv2d(3, 64, 3))
    (True, False)
    """
    layers = [module for module in model.modules() if isinstance(module, torch.nn.Conv2d)]
    return all(max(layer.in_channels, layer.out_channels) <= CHANNELS for layer in layers)


def small(model: torch.nn.Module, rows: int) -> bool:
    """Say whether all dense and convolutional layers of a network run by our kernels, whatever the precision.

    Args:
        model: a network.
        rows: how many examples a batch has.

    >>> small(torch.nn.Linear(784, 128), 128), small(torch.nn.Linear(784, 128), 1024)
    (True, False)
    """
    dense = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    return few_channels(model) and all(rows * layer.weight.numel() <= ROUNDED_WORK for layer in dense)
