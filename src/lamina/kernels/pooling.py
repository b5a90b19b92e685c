"""The largest value of each window of 2 x 2 as one call of compiled code, for the CPU; see `pooling.cpp`.

Torch finds it one window after the other, together with 64-bit places of all windows. The results are the same bits.
"""

import ctypes
from typing import Any

import torch

from lamina._types import Float, Tensor
from lamina.kernels import native

Maps = Float[Tensor, "batch channel height width"]
Halved = Float[Tensor, "batch channel rows columns"]

DTYPES = (torch.float32, torch.float64)

_SHARED = 2**15
"""Numbers from which on threads share the work."""


def fits(inputs: Tensor) -> bool:
    """Say whether these maps are pooled here: on the CPU, and contiguous."""
    known = inputs.device.type == "cpu" and inputs.dtype in DTYPES and type(inputs) is Tensor
    if not known or inputs.ndim != 4 or not inputs.numel() or min(inputs.shape[2:]) < 2:
        return False
    return inputs.is_contiguous() and native.works()


def largest(inputs: Maps) -> Halved:
    """Keep the largest value of each window of 2 x 2; a row or a column that is left over counts nowhere.

    Args:
        inputs: maps that `fits`.
    """
    found: Tensor = _Largest.apply(inputs)
    return found


def _call(name: str, *tensors: Tensor) -> None:
    """Run a function of `pooling.cpp`; the first tensor are the maps."""
    maps = tensors[0]
    run = getattr(native.library("pooling.cpp", (("DOUBLE", int(maps.dtype == torch.float64)),)), name)
    run.restype = None
    threads = torch.get_num_threads() if maps.numel() >= _SHARED else 1
    sizes = map(ctypes.c_longlong, (maps.shape[0] * maps.shape[1], *maps.shape[2:], threads))
    run(*sizes, *map(native.pointer, tensors))


class _Largest(torch.autograd.Function):
    """The largest value of each window; see `largest`."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        outputs = inputs.new_empty(*inputs.shape[:2], inputs.shape[2] // 2, inputs.shape[3] // 2)
        _call("largest", inputs, outputs)
        ctx.save_for_backward(inputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, slopes: Tensor) -> Tensor:
        (inputs,) = ctx.saved_tensors
        if torch.is_grad_enabled():  # somebody wants to differentiate once more
            return _again(inputs.detach(), slopes)
        odd = inputs.shape[2] % 2 or inputs.shape[3] % 2
        found = torch.zeros_like(inputs) if odd else torch.empty_like(inputs)
        _call("spread", inputs, slopes.contiguous(), found)
        return found


def _again(inputs: Maps, slopes: Halved) -> Maps:
    """Put each slope where the largest value of its window was, by an operation that has a derivative."""
    _, places = torch.nn.functional.max_pool2d(inputs, 2, return_indices=True)
    return torch.zeros_like(inputs).flatten(2).scatter(2, places.flatten(2), slopes.flatten(2)).view_as(inputs)
