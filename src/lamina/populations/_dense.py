"""K dense maps as one product.

Values are laid out [batch, members, ...]; one member on that axis means that all share them. In memory a result lies as
[members, feature, batch], so that every product of the forward and the backward pass reads whole rows and every
gradient has the layout of its parameter.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from lamina._types import Float, Tensor
from lamina.kernels import ordered
from lamina.populations import _even as even

_ACTIVATE: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu_,
    "tanh": torch.tanh_,
    "sigmoid": even.sigmoid_,
    "identity": lambda z: z,
}
_SLOPE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "relu": lambda g, y: torch.ops.aten.threshold_backward(g, y, 0),
    "tanh": torch.ops.aten.tanh_backward,
    "sigmoid": torch.ops.aten.sigmoid_backward,
    "identity": lambda g, y: g,
}
CHAINED = tuple(_ACTIVATE)
"""The activations whose derivative is a function of the value, so that a chain can overwrite what comes before."""


def _product(left: Tensor, right: Tensor, bias: Tensor | None = None, activation: str = "identity") -> Tensor:
    """Multiply K matrices by K others, or by one that all share; shift and activate."""
    if ordered.ready(left):
        return ordered.product(left, right, bias, activation)
    if right.ndim == 3:
        z = torch.bmm(left, right) if bias is None else torch.baddbmm(bias[:, :, None], left, right)
    else:  # one matrix of K times as many rows
        rows = left.reshape(-1, left.shape[2])
        z = rows @ right if bias is None else torch.addmm(bias.reshape(-1, 1), rows, right)
        z = z.view(*left.shape[:2], -1)
    return _ACTIVATE[activation](z)


def _differentiate(g: Tensor, values: Tensor, activation: str) -> tuple[Tensor, Tensor]:
    """Give the gradient before an activation, and its sums over the batch."""
    if ordered.ready(g):
        return ordered.differentiate(g, values, activation)
    g = _SLOPE[activation](g, values)
    return g, g.sum(2)


class _Chain(torch.autograd.Function):
    """Dense layers one after another, with activations in place and the backward pass written out.

    Inputs are [row, feature] where all members share them, else [member, row, feature].
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, activations: tuple[str, ...], *params: Tensor | None) -> Tensor:
        values = [inputs.mT]
        for name, w, b in zip(activations, params[::2], params[1::2], strict=True):
            assert w is not None
            values.append(_product(w, values[-1], b, name))
        ctx.activations = activations
        ctx.save_for_backward(*values, *params[::2])
        return values[-1]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        layers = len(ctx.activations)
        values, weights = ctx.saved_tensors[: layers + 1], ctx.saved_tensors[layers + 1 :]
        needed, (g,) = ctx.needs_input_grad, grads
        found: list[Tensor | None] = []
        for layer in reversed(range(layers)):
            # The sums first: on CUDA the thread of the backward pass gets its context by an ordinary kernel.
            g, sums = _differentiate(g, values[layer + 1], ctx.activations[layer])
            found += [sums if needed[2 * layer + 3] else None]
            found += [_product(g, values[layer].mT) if needed[2 * layer + 2] else None]
            if layer:
                g = _product(weights[layer].mT, g)
        return _back(g, weights[0], values[0].ndim) if needed[0] else None, None, *reversed(found)


def _shared(inputs: Tensor, weight: Tensor) -> bool:
    """Say whether all members read the same; what a stack of one reads counts as that if it is data."""
    return inputs.shape[1] == 1 and (len(weight) > 1 or not inputs.requires_grad)


def _back(g: Tensor, weight: Tensor, axes: int) -> Tensor:
    """Give the gradient of the inputs, summed over the members where they share them."""
    if axes == 3:
        return _product(weight.mT, g).mT
    return g.reshape(-1, g.shape[2]).mT @ weight.reshape(-1, weight.shape[2])


def dense_chain(
    inputs: Float[Tensor, "batch one_or_members feature"],
    activations: tuple[str, ...],
    weights: Sequence[Float[Tensor, "members _ _"]],
    biases: Sequence[Float[Tensor, "members _"] | None],
) -> Float[Tensor, "batch members out"]:
    r"""Apply dense layers with activations, $y^{[l]} = \sigma^{[l]}(W^{[l-1]} y^{[l-1]} + b^{[l-1]})$, to each member.

    Args:
        inputs: feature vectors; one on the second axis if all members read the same.
        activations: for each layer one of `CHAINED`.
        weights: the matrices of each layer.
        biases: the vectors of each layer, or None.

    >>> W = torch.tensor([[[1.0]], [[-1.0]]])
    >>> dense_chain(torch.tensor([[[3.0]]]), ("relu", "identity"), [W, W], [None, None]).tolist()
    [[[3.0], [0.0]]]
    """
    rows = inputs[:, 0] if _shared(inputs, weights[0]) else inputs.transpose(0, 1)
    params = [p for pair in zip(weights, biases, strict=True) for p in pair]
    return _Chain.apply(rows, activations, *params).permute(2, 0, 1)


def stacked_affine(
    inputs: Float[Tensor, "batch one_or_members *more feature"],
    weight: Float[Tensor, "members out feature"],
    bias: Float[Tensor, "members out"] | None = None,
) -> Float[Tensor, "batch members *more out"]:
    r"""Apply the affine map of each member to its inputs, $z_k = W_k y_k + b_k$.

    Args:
        inputs: feature vectors; one on the second axis if all members read the same.
        weight: the matrices.
        bias: the vectors, or None.

    Returns:
        The vectors of each member.

    >>> W = torch.tensor([[[1.0, 1.0]], [[2.0, 0.0]]])
    >>> stacked_affine(torch.tensor([[[3.0, 4.0]]]), W, torch.tensor([[0.0], [0.5]])).tolist()
    [[[7.0], [6.5]]]
    """
    if torch.is_autocast_enabled(inputs.device.type):
        half = torch.get_autocast_dtype(inputs.device.type)
        inputs, weight = inputs.to(half), weight.to(half)
        bias = None if bias is None else bias.to(half)
    members, out, size = weight.shape
    batch, more = inputs.shape[0], inputs.shape[2:-1]
    rows = inputs.transpose(0, 1).reshape(inputs.shape[1], -1, size)
    rows = rows[0] if _shared(inputs, weight) else rows
    result = _Chain.apply(rows, ("identity",), weight, bias)
    if not more:
        return result.permute(2, 0, 1)
    return result.view(members, out, batch, *more).movedim(1, -1).transpose(0, 1)
