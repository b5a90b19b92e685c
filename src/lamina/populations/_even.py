"""Activations whose value at an entry does not depend on where the entry lies.

On a CPU torch computes the last few entries of a tensor, and of each thread's share of it, by another routine than the
rest; for the logistic function the two differ in the last bit. In a stack those entries belong to one member, which
would feel its place. Where the shares have no such rest, torch's function is taken, else `exp`, which has no such seam.
"""

from typing import Any

import torch

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


def even(activation: str | Activation) -> Elementwise:
    """Give the function of an activation, in the form that feels no place.

    >>> even("relu") is get_activation("relu").function
    True
    """
    found = get_activation(activation) if isinstance(activation, str) else activation
    return sigmoid if found.name == "sigmoid" else found.function
