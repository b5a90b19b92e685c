"""Dropout of K networks as one call of compiled code, forward and backward; see `dropout.cu`."""

import ctypes
from typing import Any

import torch

from lamina._types import Tensor
from lamina.kernels import _nvrtc as nvrtc
from lamina.kernels import native

THREADS, BLOCKS = 256, 4096


class _Axes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_longlong * 3) for name in ("size", "stride", "place", "who")]


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
    definitions = (("DOUBLE", int(inputs.dtype == torch.float64)),)
    tensors = flat, outputs, rate.contiguous(), seed, counter
    if inputs.is_cuda:
        kernel = nvrtc.library("dropout.cu", ("drop",), inputs.device, definitions)["drop"]
        blocks = max(1, min(BLOCKS, -(-flat.numel() // THREADS)))
        kernel.launch(blocks, THREADS, (*tensors, _axes(flat), stream))
    else:
        function = native.library("dropout.cu", definitions).drop
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


def fits(inputs: Tensor) -> bool:
    """Say whether there is compiled code for these values.

    >>> fits(torch.ones(1, 2, 4, dtype=torch.float16))
    False
    """
    compiled = inputs.dtype in (torch.float32, torch.float64) and (inputs.is_cuda or native.works())
    return compiled and inputs.numel() > 0


def dropped(inputs: Tensor, rate: Tensor, seed: Tensor, counter: Tensor, stream: int) -> Tensor:
    """Drop units of each member by its own rate, seed and counter.

    Args:
        inputs: values [batch, members, ...] that fit.
        rate: [members].
        seed: [members].
        counter: [members].
        stream: the place of the layer.
    """
    # The counter goes on before the backward pass needs it.
    outputs: Tensor = _Masked.apply(inputs, rate, seed, counter.clone(), stream)
    return outputs
