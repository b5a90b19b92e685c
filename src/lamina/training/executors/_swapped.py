"""Layers that compute by kernels of ours while a network is trained."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import nn

from lamina.layers._fused import follows_operations

Forwards = list[tuple[nn.Module, Callable[..., Any]]]
"""Modules, and what computes in place of their `forward`."""


class Swapped(AbstractContextManager[None]):
    """While it is entered, some modules of a network compute by other functions.

    Args:
        forwards: of which modules, and by which functions.
    """

    def __init__(self, forwards: Forwards) -> None:
        self._forwards = forwards

    def __enter__(self) -> None:
        for module, forward in self._forwards:
            vars(module)["forward"] = forward

    def __exit__(self, *error: Any) -> None:
        for module, _ in self._forwards:
            vars(module).pop("forward", None)


def followed() -> bool:
    """Say whether somebody follows operations or what they keep; a checkpoint computes them again without the swap."""
    hooked = torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
    return hooked or torch._C._len_torch_dispatch_stack() > 0 or follows_operations()


def plain(parts: Iterable[nn.Module]) -> bool:
    """Say whether modules compute as their classes do, and not by a function that somebody gave to one of them.

    >>> pooling = nn.MaxPool2d(2)
    >>> pooling.forward = lambda inputs: inputs
    >>> plain([nn.ReLU()]), plain([nn.ReLU(), pooling])
    (True, False)
    """
    return not any("forward" in vars(part) for part in parts)
