"""Activations whose value at an entry does not depend on where the entry lies.

On a CPU torch computes the last few entries of a tensor, and of each thread's share of it, by another routine than the
rest; for the logistic function and GELU the two differ in the last bit. In a stack those entries belong to one member,
which would feel its place. The logistic function is torch's where the shares have no such rest; otherwise both are made
of `exp`, `erf` and `tanh`, which have no such seam.
"""

import math
from typing import Any

import torch
from torch.nn.functional import gelu as functional_gelu

from lamina._types import Elementwise, Float, Tensor
from lamina.functional.activations import Activation, get_activation

_GRAIN, _BLOCK = 32_768, 64  # entries that one thread takes at least, and a multiple of what is computed at once


def seamless(z: Tensor) -> bool:
    """Say whether torch computes all entries by one routine: on a GPU, or where every thread's share is whole.

    >>> seamless(torch.zeros(640)), seamless(torch.zeros(641))
    (True, False)
    """
    threads = min(torch.get_num_threads(), -(-z.numel() // _GRAIN)) or 1
    return z.is_cuda or z.numel() % (_BLOCK * threads) == 0


def sigmoid_(z: Tensor) -> Tensor:
    """Overwrite a tensor with its logistic function, every entry by the same routine."""
    return torch.sigmoid_(z) if seamless(z) else z.neg_().exp_().add_(1).reciprocal_()


class _Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor) -> Tensor:
        y = z.neg().exp_().add_(1).reciprocal_()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor]:
        (y,) = ctx.saved_tensors
        return (torch.ops.aten.sigmoid_backward(grads[0], y),)


def sigmoid(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Apply the logistic function, every entry by the same routine.

    >>> sigmoid(torch.tensor([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return torch.sigmoid(z) if seamless(z) else _Sigmoid.apply(z)


def gelu(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Apply GELU, every entry by the same routine: the error function has no seam.

    >>> gelu(torch.tensor([0.0])).tolist()
    [0.0]
    """
    return functional_gelu(z) if z.is_cuda else z * 0.5 * (1 + torch.erf(z * math.sqrt(0.5)))


def gelu_tanh(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Apply GELU with a hyperbolic tangent, every entry by the same routine.

    >>> gelu_tanh(torch.tensor([0.0])).tolist()
    [0.0]
    """
    if z.is_cuda:
        return functional_gelu(z, approximate="tanh")
    return z * 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))


FORMS: dict[str, Elementwise] = {"sigmoid": sigmoid, "gelu": gelu, "gelu_tanh": gelu_tanh}
"""The activations of torch with a seam, in forms without one."""


def even(activation: str | Activation) -> Elementwise:
    """Give the function of an activation, in the form that feels no place.

    >>> even("relu") is get_activation("relu").function
    True
    """
    found = get_activation(activation) if isinstance(activation, str) else activation
    return FORMS.get(found.name, found.function)
