"""Dropout of a population as one call of compiled code, forward and backward; see `dropout.cu`."""

import ctypes
import functools
from typing import Any

import torch
from torch.func import vmap

from lamina._types import Tensor
from lamina.functional import nvrtc
from lamina.functional.random import dropout
from lamina.populations import native

THREADS, BLOCKS = 256, 4096


class _Axes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_longlong * 3) for name in ("size", "stride", "place", "who")]


@functools.cache
def _kernel(device: int, double: int) -> Any:
    return nvrtc.compile_kernels(native.source("dropout.cu"), ("drop",), {"DOUBLE": double}, 0)["drop"]


def _axes(inputs: Tensor) -> _Axes:
    """Describe [batch, members, feature] from the axis whose entries lie closest together."""
    features = inputs.shape[2]
    axes = zip(inputs.shape, inputs.stride(), (features, 0, 1), (0, 1, 0), strict=True)
    ordered = sorted(axes, key=lambda axis: (axis[1], axis[0]))
    return _Axes(*[(ctypes.c_longlong * 3)(*column) for column in zip(*ordered, strict=True)])


def _drop(inputs: Tensor, rate: Tensor, seed: Tensor, counter: Tensor, stream: int) -> Tensor:
    """Apply the mask of each member."""
    flat = inputs.flatten(2)
    outputs = torch.empty_like(flat)
    if outputs.stride() != flat.stride():  # what is spread out or overlaps lies densely afterwards
        flat = flat.contiguous()
        outputs = torch.empty_like(flat)
    double = int(inputs.dtype == torch.float64)
    tensors = flat, outputs, rate.contiguous(), seed, counter
    if inputs.is_cuda:
        kernel = _kernel(inputs.device.index or 0, double)
        blocks = max(1, min(BLOCKS, -(-flat.numel() // THREADS)))
        kernel.launch(blocks, THREADS, (*tensors, _axes(flat), stream), cooperative=False)
    else:
        function = native.library("dropout.cu", (("DOUBLE", double),)).drop
        function.restype = None
        function(*[native.pointer(t) for t in tensors], ctypes.byref(_axes(flat)), ctypes.c_int(stream))
    return outputs.view(inputs.shape)


class _Masked(torch.autograd.Function):
    """The mask is computed again in the backward pass instead of kept."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, rate: Tensor, seed: Tensor, counter: Tensor, stream: int) -> Tensor:
        ctx.save_for_backward(rate, seed, counter)
        ctx.stream = stream
        return _drop(inputs, rate, seed, counter, stream)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        rate, seed, counter = ctx.saved_tensors
        # An ordinary kernel first: it gives the thread of the backward pass its CUDA context.
        return _drop(grads[0], rate, seed, counter + 0, ctx.stream), None, None, None, None


def stacked_dropout(inputs: Tensor, rate: Tensor, seed: Tensor, counter: Tensor, stream: int) -> Tensor:
    """Drop units of each member by its own rate, seed and counter, exactly as `functional.random.dropout` does.

    >>> rate, number = torch.tensor([0.0, 0.5]), torch.zeros(2, dtype=torch.int32)
    >>> stacked_dropout(torch.ones(1, 2, 4), rate, number, number, 0)[0, 0].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    compiled = inputs.dtype in (torch.float32, torch.float64) and (inputs.is_cuda or native.works())
    if compiled and inputs.numel():
        # The counter goes on before the backward pass needs it.
        return _Masked.apply(inputs, rate, seed, counter.clone(), stream)
    outputs: Tensor = vmap(dropout, in_dims=(1, 0, 0, None, 0), out_dims=1)(inputs, rate, seed, stream, counter)
    return outputs
