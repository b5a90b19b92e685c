r"""Alg. 6 of the notes one line at a time: what is computed, for which layer, with which formula (§2.5).

`backpropagation.backpropagate` does the same at once. Here every intermediate number is kept, for reading along.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from lamina._types import Tensor
from lamina.backprop.backpropagation import Matrices, Rows, Vectors, forward, output_gradient, pull_through_activation
from lamina.functional.chain_rule import affine_pullback


@dataclass(frozen=True)
class Line:
    """One line of the algorithm.

    Args:
        phase: "forward", "loss" or "backward".
        layer: which layer l it belongs to.
        name: "z", "y", "loss", "z_bar", "W_bar", "b_bar" or "y_bar"; W_bar and b_bar are those of $W^{[l-1]}$ and
            $b^{[l-1]}$, y_bar is that of $y^{[l-1]}$.
        formula: what is computed, in LaTeX.
        value: the result; one row per sample for z, y and their gradients.
    """

    phase: str
    layer: int
    name: str
    formula: str
    value: Tensor


def sweep(
    weights: Matrices, biases: Vectors, activations: Sequence[str], inputs: Rows, targets: Tensor, loss: str = "mse"
) -> list[Line]:
    r"""Run backpropagation and keep every line: forward through the layers, the loss, and backward again.

    Notes: N2.77, N2.80 (§2.5, Alg. 6).
    Corrects: E36, the gradient of the input is not formed.

    The arguments are those of `backpropagation.backpropagate`.

    Returns:
        2L lines forward, one for the loss, 4L - 1 backward.

    >>> u, S = torch.tensor([[3.0]]), torch.tensor([[5.0]])
    >>> lines = sweep([torch.tensor([[2.0]])], [torch.zeros(1)], ["identity"], u, S)
    >>> [(line.name, line.value.flatten().tolist()) for line in lines]
    [('z', [6.0]), ('y', [6.0]), ('loss', [0.5]), ('z_bar', [1.0]), ('W_bar', [3.0]), ('b_bar', [1.0])]
    """
    cache = forward(weights, biases, activations, inputs)
    y, z = cache.features, cache.pre_activations
    lines = []
    for l in range(1, len(weights) + 1):
        formula = f"z^{{[{l}]}} = W^{{[{l - 1}]}} y^{{[{l - 1}]}} + b^{{[{l - 1}]}}"
        lines.append(Line("forward", l, "z", formula, z[l - 1]))
        lines.append(Line("forward", l, "y", rf"y^{{[{l}]}} = \sigma^{{[{l}]}}(z^{{[{l}]}})", y[l]))
    last = len(weights)
    value, z_bar = output_gradient(cache, activations[-1], targets, loss)
    lines.append(Line("loss", last, "loss", rf"\mathscr{{L}}(y^{{[{last}]}}, S(u))", value))
    for l in range(last, 0, -1):
        lines.append(Line("backward", l, "z_bar", _gradient_formula(l, last, loss), z_bar))
        y_bar, W_bar, b_bar = affine_pullback(z_bar, y[l - 1], weights[l - 1])
        product = rf"\bar W^{{[{l - 1}]}} = \bar z^{{[{l}]}} (y^{{[{l - 1}]}})^\top"
        lines.append(Line("backward", l, "W_bar", product, W_bar))
        lines.append(Line("backward", l, "b_bar", rf"\bar b^{{[{l - 1}]}} = \bar z^{{[{l}]}}", b_bar))
        if l > 1:
            back = rf"\bar y^{{[{l - 1}]}} = (W^{{[{l - 1}]}})^\top \bar z^{{[{l}]}}"
            lines.append(Line("backward", l, "y_bar", back, y_bar))
            z_bar = pull_through_activation(activations[l - 2], z[l - 2], y[l - 1], y_bar)
    return lines


def autograd_values(
    weights: Matrices, biases: Vectors, activations: Sequence[str], inputs: Rows, targets: Tensor, loss: str = "mse"
) -> list[Tensor]:
    """Compute the values of the lines of `sweep` with torch's autograd instead, in the same order, to compare.

    Notes: N2.80, N2.81 (§2.5).

    >>> u, S = torch.tensor([[3.0]]), torch.tensor([[5.0]])
    >>> [v.flatten().tolist() for v in autograd_values([torch.tensor([[2.0]])], [torch.zeros(1)], ["identity"], u, S)]
    [[6.0], [6.0], [0.5], [1.0], [3.0], [1.0]]
    """
    W, b = ([t.detach().clone().requires_grad_() for t in part] for part in (weights, biases))
    cache = forward(W, b, activations, inputs)
    y, z = cache.features, cache.pre_activations
    value = output_gradient(cache, activations[-1], targets, loss)[0]
    wanted = []
    for l in range(len(W), 0, -1):
        wanted += [z[l - 1], W[l - 1], b[l - 1], *([y[l - 1]] if l > 1 else [])]
    gradients = torch.autograd.grad(value, wanted)
    forwards = [t.detach() for l in range(1, len(W) + 1) for t in (z[l - 1], y[l])]
    return [*forwards, value.detach(), *gradients]


def _gradient_formula(l: int, last: int, loss: str) -> str:
    """Write how the gradient of a pre-activation comes about."""
    if l == last and loss != "mse":
        return rf"\bar z^{{[{l}]}} = \tfrac1N (y^{{[{l}]}} - S(u))"
    source = rf"\tfrac1N (y^{{[{l}]}} - S(u))" if l == last else rf"\bar y^{{[{l}]}}"
    return rf"\bar z^{{[{l}]}} = {source} \odot (\sigma^{{[{l}]}})'(z^{{[{l}]}})"
