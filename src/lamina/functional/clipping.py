r"""Gradient clipping (§5.2 of the notes) in its three readings, pure and for populations.

Gradients are a dictionary of tensors by name. The bound C is a number, or a vector with one entry for each member of a
population; then every gradient has the members along its first axis and each member is clipped by itself.
"""

from collections.abc import Callable
from typing import Any

import torch

from lamina._errors import ArgumentError, above, choice
from lamina._types import Float, Tensor
from lamina.functional.optimizers import Number, Params, per_member


def global_norm(grads: Params, members: bool = False) -> Float[Tensor, "..."]:
    r"""Compute the Euclidean norm of all gradients together.

    Args:
        grads: gradients by name.
        members: whether the first axis of each is a population.

    Returns:
        A scalar, or one number per member.

    >>> global_norm({"W": torch.tensor([[3.0]]), "b": torch.tensor([4.0])}).item()
    5.0
    """
    if not grads:
        raise ArgumentError("`grads` must hold at least one tensor, got none.")
    norms = [_norm(gradient, members) for gradient in grads.values()]
    return torch.linalg.vector_norm(torch.stack(norms, dim=-1), dim=-1)


def _norm(gradient: Tensor, members: bool) -> Tensor:
    if members:
        return torch.linalg.vector_norm(gradient.reshape(gradient.shape[0], -1), dim=-1)
    return torch.linalg.vector_norm(gradient)


def _has_members(bound: Number) -> bool:
    if not isinstance(bound, Tensor):
        above("bound", bound, 0)
        return False
    return bound.ndim > 0


def _rescaled(gradient: Tensor, norm: Tensor, bound: Number) -> Tensor:
    # Below the bound the factor is exactly 1; a zero gradient has the factor inf, cut to 1.
    return gradient * per_member((per_member(bound, norm) / norm).clamp(max=1), gradient)


def clip_by_global_norm(grads: Params, bound: Number) -> Params:
    r"""Scale all gradients by one factor so that their common norm is at most C; the direction is kept.

    $$g \leftarrow C \frac{g}{\lVert g \rVert} \quad \text{if } \lVert g \rVert \ge C$$
    with g all gradients together and C = `bound`.

    Notes: N5.27 (§5.2).
    Corrects: E68, the notes clip each variable, which turns the direction; this is the reading of the cited book.
    Differs: torch.nn.utils.clip_grad_norm_ divides by the norm plus 1e-6 and ends slightly below C.

    Args:
        grads: gradients by name.
        bound: C > 0, a number or one per member.

    >>> clipped = clip_by_global_norm({"W": torch.tensor([[3.0]]), "b": torch.tensor([4.0])}, 2.5)
    >>> clipped["W"].item(), clipped["b"].item()
    (1.5, 2.0)
    """
    norm = global_norm(grads, _has_members(bound))
    return {name: _rescaled(gradient, norm, bound) for name, gradient in grads.items()}


def clip_by_tensor_norm(grads: Params, bound: Number) -> Params:
    r"""Scale each gradient tensor by itself so that its norm is at most C.

    $$g_i \leftarrow C \frac{g_i}{\lVert g_i \rVert} \quad \text{if } \lVert g_i \rVert \ge C$$
    with g_i the gradient of one tensor and C = `bound`.

    Notes: N5.27 (§5.2).

    The arguments are those of `clip_by_global_norm`.

    >>> clipped = clip_by_tensor_norm({"W": torch.tensor([[3.0]]), "b": torch.tensor([4.0])}, 3.5)
    >>> clipped["W"].item(), clipped["b"].item()
    (3.0, 3.5)
    """
    members = _has_members(bound)
    return {name: _rescaled(gradient, _norm(gradient, members), bound) for name, gradient in grads.items()}


def clip_by_value(grads: Params, bound: Number) -> Params:
    r"""Cut each number of the gradients off at -C and C.

    $$g_i \leftarrow C \frac{g_i}{|g_i|} \quad \text{if } |g_i| \ge C$$
    with g_i one number and C = `bound`.

    Notes: N5.27 (§5.2).

    The arguments are those of `clip_by_global_norm`.

    >>> clip_by_value({"W": torch.tensor([3.0, -0.5])}, 1.0)["W"].tolist()
    [1.0, -0.5]
    """
    _has_members(bound)
    clipped: Params = {}
    for name, gradient in grads.items():
        C: Any = per_member(bound, gradient)  # torch's signature wants two numbers or two tensors, never either
        clipped[name] = gradient.clamp(-C, C)
    return clipped


CLIPPERS: dict[str, Callable[[Params, Number], Params]] = {
    "global": clip_by_global_norm,
    "tensor": clip_by_tensor_norm,
    "value": clip_by_value,
}
"""The three readings by name."""


def clip(grads: Params, bound: Number, by: str = "global") -> Params:
    """Clip gradients in one of the three readings.

    Notes: N5.27 (§5.2).

    Args:
        grads: gradients by name.
        bound: C > 0, a number or one per member.
        by: "global" norm, "tensor" norm or "value".

    >>> clip({"W": torch.tensor([3.0, 4.0])}, 1.0, by="value")["W"].tolist()
    [1.0, 1.0]
    """
    choice("by", by, CLIPPERS)
    return CLIPPERS[by](grads, bound)
