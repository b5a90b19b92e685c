r"""Linear regression (§1.1 of the notes): the perceptron with identity activation and no bias, solved exactly.

$$y^{(i)} = W^\top u^{(i)}, \qquad i = 1, \dots, N$$
The rows of `inputs` are the $u^{(i)\top}$, so that `inputs` is U (N x d) and the outputs are U W. The notes scale the
squared error in two ways, which share their minimizer: "mean" is 1/(2N), "sum" is 1/2.
"""

from dataclasses import dataclass

import torch

from lamina._errors import ArgumentError, ShapeError, choice
from lamina._types import Float, Tensor
from lamina.classical._checks import finite, same_length

SCALINGS = ("mean", "sum")
"""The factors 1/(2N) and 1/2 in front of the squared error."""


@dataclass(frozen=True)
class LinearFit:
    """The least squares solution and what is needed to judge it.

    Notes: N1.22 (§1.1, Ex. 1.2).

    Args:
        weight: the minimizer W, the one of least norm when there are several.
        loss: the loss 1/(2N) ||U W - S||^2 there.
        rank: the numerical rank of U; the minimizer is unique when it equals d.
        condition: the largest singular value of U divided by its smallest; infinite when the rank is below d.
    """

    weight: Float[Tensor, " feature *label"]
    loss: float
    rank: int
    condition: float

    def predict(self, inputs: Float[Tensor, "batch feature"]) -> Float[Tensor, " batch *label"]:
        """Return the outputs U W for the rows of `inputs`."""
        return inputs @ self.weight


def squared_error(
    weight: Float[Tensor, " feature *label"],
    inputs: Float[Tensor, "batch feature"],
    targets: Float[Tensor, " batch *label"],
    scaling: str = "mean",
) -> Float[Tensor, ""]:
    r"""Compute the loss of a weight.

    $$\mathcal L(W) = \tfrac{1}{2N} \|U W - S\|^2 \text{ ("mean")}, \qquad \tfrac12 \|U W - S\|^2 \text{ ("sum")}$$
    with W = `weight`, U = `inputs`, S = `targets`.

    Notes: N1.24, N1.25, N1.28 (§1.1, Ex. 1.2).
    Corrects: E40, the notes use both factors for one loss; loss, gradient and stable steps differ by N.
    Differs: torch.nn.MSELoss is the mean over all entries without the factor 1/2.

    Args:
        weight: the d weights, or d weights for each of several outputs.
        inputs: one example per row.
        targets: the supervision of each example.
        scaling: one of `SCALINGS`.

    >>> U, S = torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 3.0])
    >>> squared_error(torch.tensor([1.0]), U, S).item(), squared_error(torch.tensor([1.0]), U, S, "sum").item()
    (0.25, 0.5)
    """
    return 0.5 * (inputs @ weight - targets).square().sum() / _divisor(inputs, scaling)


def gradient(
    weight: Float[Tensor, " feature *label"],
    inputs: Float[Tensor, "batch feature"],
    targets: Float[Tensor, " batch *label"],
    scaling: str = "mean",
) -> Float[Tensor, " feature *label"]:
    r"""Compute the gradient of `squared_error` with respect to the weight.

    $$\nabla_W \mathcal L = U^\top U W - U^\top S \text{ ("sum"), divided by N ("mean")}$$

    Notes: N1.26 (§1.1, Ex. 1.2).

    >>> gradient(torch.tensor([1.0]), torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 3.0]), "sum").tolist()
    [-2.0]
    """
    return inputs.T @ (inputs @ weight - targets) / _divisor(inputs, scaling)


def hessian(inputs: Float[Tensor, "batch feature"], scaling: str = "mean") -> Float[Tensor, "feature feature"]:
    r"""Compute the second derivative $U^\top U$ ("sum"), divided by N ("mean"); it does not depend on the weight.

    Notes: N1.25 (§1.1, Ex. 1.2).

    >>> hessian(torch.tensor([[1.0, 0.0], [2.0, 1.0]]), "sum").tolist()
    [[5.0, 2.0], [2.0, 1.0]]
    """
    return inputs.T @ inputs / _divisor(inputs, scaling)


def stable_step(inputs: Float[Tensor, "batch feature"], scaling: str = "mean") -> Float[Tensor, ""]:
    r"""Compute the bound $2/\lambda_{max}$ below which every step size makes gradient descent converge.

    Notes: N1.28 (§1.1, Ex. 1.2).
    Corrects: E40, the bound of the "mean" loss is N times that of the "sum" loss.

    >>> stable_step(torch.tensor([[1.0], [2.0]]), "sum").item()
    0.4000000059604645
    """
    return 2 / torch.linalg.eigvalsh(hessian(inputs, scaling))[-1]


def normal_equations(
    inputs: Float[Tensor, "batch feature"], targets: Float[Tensor, " batch *label"]
) -> Float[Tensor, " feature *label"]:
    r"""Solve for the stationary point by the printed formula; `fit` is the method to use.

    $$W = (U^\top U)^{-1} U^\top S$$
    The condition number of $U^\top U$ is the square of that of U, so half of the digits are lost.

    Notes: N1.27 (§1.1, Ex. 1.2).
    Corrects: E12, the formula needs rank U = d.

    Args:
        inputs: one example per row, with linearly independent columns.
        targets: the supervision of each example.

    >>> normal_equations(torch.tensor([[1.0], [1.0]]), torch.tensor([1.0, 3.0])).tolist()
    [2.0]
    """
    _check(inputs, targets)
    U, S = inputs, targets
    rank = int(torch.linalg.matrix_rank(U))
    if rank < U.shape[1]:
        raise ArgumentError(
            f"`inputs` must have linearly independent columns ({U.shape[1]}), got rank {rank}: U^T U has no inverse, "
            "use fit, which returns the solution of least norm."
        )
    return torch.linalg.solve(U.T @ U, U.T @ S)


def fit(inputs: Float[Tensor, "batch feature"], targets: Float[Tensor, " batch *label"]) -> LinearFit:
    r"""Find the weight of least squares, and among several that of least norm.

    $$W = V \Sigma^+ Q^\top S \quad\text{with the singular value decomposition}\quad U = Q \Sigma V^\top$$

    Notes: N1.22, N1.27 (§1.1, Ex. 1.2).
    Corrects: E12, a solution exists for every U; the problem is convex, so a stationary point is a global minimum.
    Differs: torch.linalg.lstsq gives the solution of least norm on the CPU only.

    Args:
        inputs: one example per row.
        targets: the supervision of each example, one number or several.

    Returns:
        The fit; its weight has the shape (d,) or (d, outputs).

    >>> U = torch.tensor([[1.0, 1.0], [2.0, 2.0]], dtype=torch.float64)
    >>> result = fit(U, torch.tensor([2.0, 4.0], dtype=torch.float64))
    >>> result.weight.round(decimals=6).tolist(), result.rank
    ([1.0, 1.0], 1)
    """
    _check(inputs, targets)
    weight, sizes = least_squares(inputs, targets)
    rank = int((sizes > _cutoff(inputs, sizes)).sum())
    condition = float(sizes[0] / sizes[-1]) if rank == inputs.shape[1] else float("inf")
    return LinearFit(weight, float(squared_error(weight, inputs, targets)), rank, condition)


def least_squares(
    inputs: Float[Tensor, "batch feature"], targets: Float[Tensor, " batch *label"]
) -> tuple[Float[Tensor, " feature *label"], Float[Tensor, " singular"]]:
    """Solve as `fit` does, without looking at values, so that it can be mapped; also return the singular values of U.

    >>> U = torch.eye(2).expand(3, 2, 2) * torch.tensor([1.0, 2.0, 4.0])[:, None, None]
    >>> torch.vmap(least_squares)(U, torch.ones(3, 2))[0].tolist()
    [[1.0, 1.0], [0.5, 0.5], [0.25, 0.25]]
    """
    Q, sizes, Vt = torch.linalg.svd(inputs, full_matrices=False)
    kept = sizes > _cutoff(inputs, sizes)
    inverse = torch.where(kept, 1 / torch.where(kept, sizes, torch.ones_like(sizes)), torch.zeros_like(sizes))
    return Vt.T @ torch.einsum("s,s...->s...", inverse, Q.T @ targets), sizes


def _cutoff(inputs: Tensor, sizes: Tensor) -> Tensor:
    """Return the size below which a singular value counts as zero (the rule of numpy and LAPACK users)."""
    return sizes.max() * max(inputs.shape) * torch.finfo(inputs.dtype).eps


def _divisor(inputs: Tensor, scaling: str) -> int:
    choice("scaling", scaling, SCALINGS)
    return len(inputs) if scaling == "mean" else 1


def _check(inputs: Tensor, targets: Tensor) -> None:
    same_length("inputs", inputs, "targets", targets)
    if targets.ndim > 2:
        raise ShapeError(
            f"`targets` must have 1 axis or 2 (examples, outputs), got {targets.ndim}: flatten each supervision."
        )
    finite("inputs", inputs)
    finite("targets", targets)
