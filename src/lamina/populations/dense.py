"""K dense maps as one product.

Values are laid out [batch, members, ...]; one member on that axis means that all share them. In memory a result lies as
[members, feature, batch], so that every product of the forward and the backward pass reads whole rows and every
gradient has the layout of its parameter.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from lamina._types import Float, Tensor
from lamina.populations import even


class _Shared(torch.autograd.Function):
    """Products of K matrices with the same inputs [row, feature]: one matrix of K times as many rows."""

    @staticmethod
    def product(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        members, out, size = weight.shape
        rows = weight.reshape(members * out, size)
        if bias is None:
            return (rows @ inputs.mT).view(members, out, -1)
        return torch.addmm(bias.reshape(-1, 1), rows, inputs.mT).view(members, out, -1)

    @staticmethod
    def slope(g: Tensor, inputs: Tensor, weight: Tensor) -> Tensor:
        return (g.reshape(-1, g.shape[2]) @ inputs).view(weight.shape)

    @staticmethod
    def back(g: Tensor, weight: Tensor) -> Tensor:
        return g.reshape(-1, g.shape[2]).mT @ weight.reshape(-1, weight.shape[2])

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return _Shared.product(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _gradients(_Shared, ctx, grads[0])


class _Own(torch.autograd.Function):
    """Products of K matrices with K inputs [member, row, feature]."""

    @staticmethod
    def product(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if bias is None:
            return torch.bmm(weight, inputs.mT)
        return torch.baddbmm(bias[:, :, None], weight, inputs.mT)

    @staticmethod
    def slope(g: Tensor, inputs: Tensor, weight: Tensor) -> Tensor:
        return torch.bmm(g, inputs)

    @staticmethod
    def back(g: Tensor, weight: Tensor) -> Tensor:
        return torch.bmm(weight.mT, g).mT

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return _Own.product(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _gradients(_Own, ctx, grads[0])


def _gradients(kind: Any, ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
    """Give the gradients of inputs, weight and bias where they are needed."""
    inputs, weight = ctx.saved_tensors
    # The sum first: on CUDA the thread of the backward pass gets its context by an ordinary kernel, not by a product.
    d_bias = g.sum(2) if ctx.needs_input_grad[2] else None
    d_inputs = kind.back(g, weight) if ctx.needs_input_grad[0] else None
    d_weight = kind.slope(g, inputs, weight) if ctx.needs_input_grad[1] else None
    return d_inputs, d_weight, d_bias


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


class _Chain(torch.autograd.Function):
    """Dense layers one after another, with activations in place and the backward pass written out."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, activations: tuple[str, ...], *params: Tensor | None) -> Tensor:
        y, values = inputs, [inputs]
        for name, w, b in zip(activations, params[::2], params[1::2], strict=True):
            assert w is not None
            shared = y.ndim == 2
            y = (_Shared if shared else _Own).product(y, w, b)
            values.append(_ACTIVATE[name](y))
            y = y.mT
        ctx.activations = activations
        ctx.save_for_backward(*values, *params[::2])
        return values[-1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        layers = len(ctx.activations)
        values, weights = ctx.saved_tensors[: layers + 1], ctx.saved_tensors[layers + 1 :]
        needed, (g,) = ctx.needs_input_grad, grads
        found: list[Tensor | None] = []
        d_inputs = None
        for layer in reversed(range(layers)):
            g = _SLOPE[ctx.activations[layer]](g, values[layer + 1])
            before = values[layer].mT if layer else values[0]
            w = weights[layer]
            kind = _Shared if before.ndim == 2 else _Own
            found += [g.sum(2) if needed[2 * layer + 3] else None]
            found += [kind.slope(g, before, w) if needed[2 * layer + 2] else None]
            if layer:
                g = torch.bmm(w.mT, g)
            elif needed[0]:
                d_inputs = kind.back(g, w)
        return d_inputs, None, *reversed(found)


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
    rows = inputs[:, 0] if inputs.shape[1] == 1 else inputs.transpose(0, 1)
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
    if inputs.shape[1] == 1:
        result = _Shared.apply(inputs.reshape(-1, size), weight, bias)
    else:
        result = _Own.apply(inputs.transpose(0, 1).reshape(members, -1, size), weight, bias)
    if not more:
        return result.permute(2, 0, 1)
    return result.view(members, out, batch, *more).movedim(1, -1).transpose(0, 1)
