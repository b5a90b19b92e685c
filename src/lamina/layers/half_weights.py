"""Cast all weights of a network to bfloat16 at once, for training under `torch.autocast`.

Autocast casts each weight when its layer runs and each gradient on the way back: two kernels a layer, 2,000 for
ResNet-1001, all of them far too small for a GPU. Here two calls of a multi-tensor copy do it. Values and gradients are
autocast's.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Any

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from lamina._types import Tensor

_CAST = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)
_ALIGNMENT = 64


class HalfWeights(AbstractContextManager[None]):
    """While it is entered, dense and convolutional layers of a network have bfloat16 copies of their parameters.

    Gradients reach the float32 parameters themselves. Enter it around the forward pass, inside `torch.autocast`:

    >>> layer = nn.Linear(2, 1)
    >>> with torch.autocast("cpu", torch.bfloat16), HalfWeights(layer):
    ...     layer(torch.ones(3, 2)).sum().backward()
    >>> layer.weight.dtype, layer.weight.grad.tolist()
    (torch.float32, [[3.0, 3.0]])

    Args:
        model: the network; its layers are looked up once.
    """

    def __init__(self, model: nn.Module) -> None:
        self.places = [
            (layer._parameters, name, parameter)
            for layer in model.modules()
            if type(layer) in _CAST
            for name, parameter in layer._parameters.items()
            if parameter is not None and parameter.dtype == torch.float32
        ]

    def __enter__(self) -> None:
        if not self.places:
            return
        # A parameter that two layers share is cast once.
        shared = {id(parameter): parameter for _, _, parameter in self.places}
        halves = dict(zip(shared, _CastTogether.apply(*shared.values()), strict=True))
        for parameters, name, parameter in self.places:
            parameters[name] = halves[id(parameter)]

    def __exit__(self, *_: object) -> None:
        for parameters, name, parameter in self.places:
            parameters[name] = parameter


class _CastTogether(torch.autograd.Function):
    """Copies of many tensors in bfloat16; their gradients come back in float32."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.like = tensors
        halves = _copies(tensors, tensors, torch.bfloat16)
        ctx.mark_non_differentiable(*(h for h, t in zip(halves, tensors, strict=True) if not t.requires_grad))
        return tuple(halves)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        given = [(g, like) for g, like in zip(gradients, ctx.like, strict=True) if g is not None]
        full = iter(_copies([g for g, _ in given], [like for _, like in given], torch.float32) if given else ())
        return tuple(None if g is None else next(full) for g in gradients)


def _copies(tensors: Sequence[Tensor], like: Sequence[Tensor], dtype: torch.dtype) -> list[Tensor]:
    """Copy tensors into one piece of memory, each with the strides of another of its shape."""
    ends = list(accumulate(-(-t.numel() // _ALIGNMENT) * _ALIGNMENT for t in tensors))
    flat = torch.empty(ends[-1], dtype=dtype, device=tensors[0].device)
    starts = [0, *ends[:-1]]
    # One-dimensional views: the fast path wants equal strides, and axes of size 1 may have any.
    rows = [flat.narrow(0, start, t.numel()) for start, t in zip(starts, tensors, strict=True)]
    torch._foreach_copy_(rows, [_row(t, other) for t, other in zip(tensors, like, strict=True)])
    return [flat.as_strided(t.shape, t.stride(), start) for start, t in zip(starts, like, strict=True)]


def _row(tensor: Tensor, like: Tensor) -> Tensor:
    """View a tensor in the order of its memory, which must be that of `like`."""
    sizes = zip(tensor.shape, tensor.stride(), like.stride(), strict=True)
    if any(size > 1 and mine != wanted for size, mine, wanted in sizes):
        tensor = torch.empty_like(like, dtype=tensor.dtype).copy_(tensor)
    return tensor.as_strided((tensor.numel(),), (1,))
