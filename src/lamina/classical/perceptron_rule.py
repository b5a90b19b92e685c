r"""The perceptron rule and the logical functions a single neuron can represent (§1.6 of the notes).

Inputs and targets are truth values, true = 1 and false = 0, but the rule works for any inputs with targets 0 and 1.
"""

from dataclasses import dataclass
from itertools import product

import torch

from lamina._errors import ArgumentError, ShapeError, above, at_least
from lamina._types import Float, Int, Tensor
from lamina.classical._checks import finite, same_length
from lamina.functional.activations import heaviside
from lamina.functional.dense import neuron

TRUTH_TABLE_INPUTS = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
"""The four inputs of a logical function in the order of the notes' tables."""


@dataclass(frozen=True)
class PerceptronFit:
    """A neuron that was taught by examples.

    Notes: N1.74 (§1.6).

    Args:
        weight: the weights W.
        bias: the bias b.
        errors: the number of wrong examples before the first epoch and after each.
        converged: whether no example was wrong in the end.
    """

    weight: Float[Tensor, " feature"]
    bias: Float[Tensor, ""]
    errors: Int[Tensor, " epoch"]
    converged: bool

    def predict(self, inputs: Float[Tensor, "batch feature"]) -> Float[Tensor, " batch"]:
        """Return 1 where W u + b >= 0, else 0."""
        return neuron(inputs, self.weight, self.bias, heaviside)


def learn(
    inputs: Float[Tensor, "batch feature"],
    targets: Float[Tensor, " batch"],
    *,
    learning_rate: float = 1.0,
    epochs: int = 100,
    weight: Float[Tensor, " feature"] | None = None,
    bias: float = 0.0,
) -> PerceptronFit:
    r"""Teach a neuron with Heaviside activation by the perceptron rule.

    $$y = H(W^\top u^{(i)} + b), \qquad W \leftarrow W + \tau (S(u^{(i)}) - y)\, u^{(i)}, \qquad
      b \leftarrow b + \tau (S(u^{(i)}) - y)$$
    for the examples in turn, epoch after epoch, until none is wrong. If some line (plane, ...) separates the two
    classes this happens after finitely many corrections; otherwise, as for XOR, never. No gradient is involved: the
    derivative of H is zero.

    Notes: N1.74, N1.80 (§1.6).

    Args:
        inputs: the examples u, one per row.
        targets: their supervision S, 0 or 1.
        learning_rate: the size tau of a correction.
        epochs: the most passes through the examples.
        weight: the initial weights; zeros when None.
        bias: the first bias.

    >>> fit = learn(torch.tensor(TRUTH_TABLE_INPUTS), torch.tensor([0.0, 1.0, 1.0, 1.0]))
    >>> fit.predict(torch.tensor(TRUTH_TABLE_INPUTS)).tolist()
    [0.0, 1.0, 1.0, 1.0]
    """
    same_length("inputs", inputs, "targets", targets)
    finite("inputs", inputs)
    if not ((targets == 0) | (targets == 1)).all():
        raise ArgumentError(f"`targets` must be 0 or 1, got {sorted(set(targets.tolist()))}: translate the labels.")
    above("learning_rate", learning_rate, 0)
    at_least("epochs", epochs, 1)
    W = torch.zeros_like(inputs[0]) if weight is None else weight
    if W.shape != inputs.shape[1:]:
        raise ShapeError(f"`weight` must have the shape ({inputs.shape[1]},) of an example, got {tuple(W.shape)}.")
    b = inputs.new_tensor(bias)
    errors = [_count_errors(W, b, inputs, targets)]
    for _ in range(epochs):
        if errors[-1] == 0:
            break
        for u, S in zip(inputs, targets, strict=True):
            correction = learning_rate * (S - neuron(u, W, b, heaviside))
            W, b = W + correction * u, b + correction
        errors.append(_count_errors(W, b, inputs, targets))
    return PerceptronFit(W, b, torch.tensor(errors), errors[-1] == 0)


def reachable_truth_tables(bound: float = 2.0, spacing: float = 0.25) -> frozenset[tuple[int, ...]]:
    r"""Find the logical functions of two inputs that a neuron with Heaviside activation represents.

    All $W_1, W_2, b$ on a grid over [-`bound`, `bound`] are tried. A function with $b < 0$, $W_1 + b \ge 0$ and
    $W_2 + b \ge 0$ has $W_1 + W_2 + b \ge -b > 0$: XOR is out of reach for every weight, and so is its negation.

    Notes: N1.74, N1.78 (§1.6).

    Args:
        bound: the largest absolute value on the grid.
        spacing: the distance of its values.

    Returns:
        The tables, each as its four values in the order of `TRUTH_TABLE_INPUTS`.

    >>> tables = reachable_truth_tables()
    >>> len(tables), (0, 1, 1, 1) in tables, (0, 1, 1, 0) in tables
    (14, True, False)
    """
    above("bound", bound, 0)
    above("spacing", spacing, 0)
    grid = torch.arange(-bound, bound + spacing / 2, spacing, dtype=torch.float64)
    parameters = torch.cartesian_prod(grid, grid, grid)
    inputs = torch.tensor(TRUTH_TABLE_INPUTS, dtype=torch.float64)
    outputs = heaviside(parameters[:, :2] @ inputs.T + parameters[:, 2:])
    return frozenset(tuple(row) for row in outputs.int().unique(dim=0).tolist())


def all_truth_tables() -> tuple[tuple[int, ...], ...]:
    """List the sixteen logical functions of two inputs.

    >>> len(all_truth_tables())
    16
    """
    return tuple(product((0, 1), repeat=4))


def _count_errors(W: Tensor, b: Tensor, inputs: Tensor, targets: Tensor) -> int:
    return int((neuron(inputs, W, b, heaviside) != targets).sum())
