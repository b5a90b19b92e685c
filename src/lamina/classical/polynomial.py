r"""Polynomial regression (§1.4 of the notes): degrees, overfitting, weight decay.

$$p(u, W) = \sum_{j=0}^r W_j u^j$$
is linear in W, so that a fit is linear regression on the powers of u. All errors carry the factor 1/(2N).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from lamina._errors import ArgumentError, ShapeError, at_least, choice
from lamina._types import Float, Tensor
from lamina.classical._checks import finite, same_length
from lamina.classical.linear_regression import gradient, hessian, least_squares, squared_error
from lamina.functional.optimizers import soft_threshold


@dataclass(frozen=True)
class PolynomialFit:
    """A fitted polynomial.

    Notes: N1.52 (§1.4, Ex. 1.5).

    Args:
        weight: the coefficients W_0, ..., W_r.
        error: 1/(2N) ||U W - S||^2 on the points of the fit, without the penalty.
        iterations: steps of the proximal gradient method; 0 for the closed forms.
        converged: whether the method met its tolerance; always true for the closed forms.
    """

    weight: Float[Tensor, " coefficient"]
    error: float
    iterations: int
    converged: bool

    @property
    def degree(self) -> int:
        """The degree r; there are r + 1 coefficients."""
        return len(self.weight) - 1

    def predict(self, points: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        """Evaluate the polynomial."""
        return evaluate(points, self.weight)


@dataclass(frozen=True)
class DegreeSearch:
    """The outcome of comparing fits of several degrees on points that none of them has seen.

    Notes: N1.61 (§1.4).

    Args:
        best: the fit of smallest validation error; the lowest degree among equal ones.
        degrees: the degrees tried.
        training_errors: the error of each fit on its own points.
        validation_errors: the error of each fit on the validation points.
    """

    best: PolynomialFit
    degrees: tuple[int, ...]
    training_errors: tuple[float, ...]
    validation_errors: tuple[float, ...]


def vandermonde(points: Float[Tensor, " batch"], degree: int) -> Float[Tensor, "batch coefficient"]:
    r"""Give the powers of each point, one point per row.

    $$U_{ij} = (u^{(i)})^j, \qquad i = 1, \dots, N, \quad j = 0, \dots, r$$

    Notes: N1.52, N1.53 (§1.4, Ex. 1.5).
    Corrects: E18, there are N rows.

    >>> vandermonde(torch.tensor([2.0, 3.0]), 2).tolist()
    [[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]]
    """
    at_least("degree", degree, 0)
    return points[:, None] ** torch.arange(degree + 1, device=points.device)


def evaluate(points: Float[Tensor, " batch"], weight: Float[Tensor, " coefficient"]) -> Float[Tensor, " batch"]:
    r"""Compute $p(u, W)$, linear in W but not in u.

    Notes: N1.52 (§1.4, Ex. 1.5).

    >>> evaluate(torch.tensor([2.0]), torch.tensor([1.0, 0.0, 3.0])).tolist()
    [13.0]
    """
    return vandermonde(points, len(weight) - 1) @ weight


def error(fit: PolynomialFit, points: Float[Tensor, " batch"], targets: Float[Tensor, " batch"]) -> float:
    """Compute 1/(2N) ||U W - S||^2 on any points; on unseen ones it tells overfitting from a good fit.

    Notes: N1.54, N1.55 (§1.4, Fig. 6).

    >>> line = PolynomialFit(torch.tensor([0.0, 1.0]), 0.0, 0, True)
    >>> error(line, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    1.0
    """
    _check(points, targets)
    return float(squared_error(fit.weight, vandermonde(points, fit.degree), targets))


def fit(
    points: Float[Tensor, " batch"],
    targets: Float[Tensor, " batch"],
    degree: int,
    penalty: float = 0.0,
    norm: int = 2,
    *,
    max_iterations: int = 100_000,
    tolerance: float = 1e-10,
) -> PolynomialFit:
    r"""Fit a polynomial by least squares with a penalty on the size of its coefficients.

    $$\min_W \tfrac{1}{2N} \|U W - S\|^2 + \lambda \|W\|_2^2 \quad (\text{norm 2}), \qquad
      \min_W \tfrac{1}{2N} \|U W - S\|^2 + \lambda \|W\|_1 \quad (\text{norm 1})$$
    with U the powers of `points`, S = `targets`, lambda = `penalty`. Norm 2 has the closed form
    $(U^\top U + 2 N \lambda I) W = U^\top S$, solved as least squares with the rows $\sqrt{2 N \lambda}\, I$ added
    below U, which does not square its condition number. Norm 1 is solved by the accelerated proximal gradient method.

    Notes: N1.53, N1.62, N1.63, N1.64 (Ex. 1.5, §1.4).
    Corrects: E20, the squared norm makes coefficients small but not zero; norm 1 sets some to exactly zero.
    Corrects: E41, the factor 2N belongs to the 1/(2N) loss.
    Differs: torch's `weight_decay` of SGD is 2 lambda.

    Args:
        points: the N places u; use float64 above degree 3.
        targets: the values there.
        degree: the degree r.
        penalty: the weight lambda of the norm.
        norm: 2 or 1.
        max_iterations: the most steps for norm 1.
        tolerance: norm 1 stops when a step changes no coefficient by more than this, per unit of step size.

    Returns:
        The fit. More coefficients than points are allowed: then, without a penalty, it is the one of least norm.

    >>> u = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
    >>> fit(u, 1 + 2 * u + 3 * u**2, degree=2).weight.round(decimals=6).tolist()
    [1.0, 2.0, 3.0]
    """
    _check(points, targets)
    return fit_powers(vandermonde(points, degree), targets, penalty, norm, max_iterations, tolerance)


def fit_powers(
    powers: Float[Tensor, "batch coefficient"],
    targets: Float[Tensor, " batch"],
    penalty: float = 0.0,
    norm: int = 2,
    max_iterations: int = 100_000,
    tolerance: float = 1e-10,
) -> PolynomialFit:
    """Solve the problem of `fit` for given columns U, such as the powers of several numbers beside each other.

    >>> fit_powers(torch.eye(2, dtype=torch.float64), torch.tensor([1.0, 3.0], dtype=torch.float64)).weight.tolist()
    [1.0, 3.0]
    """
    at_least("penalty", penalty, 0)
    choice("norm", norm, (1, 2))
    at_least("max_iterations", max_iterations, 1)
    U, iterations, converged = powers, 0, True
    if penalty == 0:
        W = least_squares(U, targets)[0]
    elif norm == 2:
        root = (2 * len(U) * penalty) ** 0.5
        rows = root * torch.eye(U.shape[1], dtype=U.dtype, device=U.device)
        W = least_squares(torch.cat([U, rows]), torch.cat([targets, targets.new_zeros(U.shape[1])]))[0]
    else:
        W, iterations, converged = _proximal_gradient(U, targets, penalty, max_iterations, tolerance)
    return PolynomialFit(W, float(squared_error(W, U, targets)), iterations, converged)


def choose_degree(
    points: Float[Tensor, " batch"],
    targets: Float[Tensor, " batch"],
    validation_points: Float[Tensor, " validation"],
    validation_targets: Float[Tensor, " validation"],
    degrees: Sequence[int] = tuple(range(10)),
) -> DegreeSearch:
    """Fit one polynomial for each degree and keep the one of smallest validation error.

    Notes: N1.55, N1.61 (§1.4).

    Args:
        points: the places to fit on.
        targets: the values there.
        validation_points: other places, used for the comparison only.
        validation_targets: the values there.
        degrees: the degrees to try; each costs one fit.

    >>> u, v = torch.linspace(0, 1, 9, dtype=torch.float64), torch.linspace(0.05, 0.95, 5, dtype=torch.float64)
    >>> choose_degree(u, u**2, v, v**2, degrees=(0, 1, 2)).best.degree
    2
    """
    if not degrees:
        raise ArgumentError("`degrees` must name at least 1 degree, got none.")
    fits = [fit(points, targets, degree) for degree in degrees]
    errors = tuple(error(f, validation_points, validation_targets) for f in fits)
    best = min(range(len(fits)), key=lambda i: (errors[i], degrees[i]))
    return DegreeSearch(fits[best], tuple(degrees), tuple(f.error for f in fits), errors)


def _proximal_gradient(
    U: Tensor, S: Tensor, penalty: float, max_iterations: int, tolerance: float
) -> tuple[Tensor, int, bool]:
    """Minimize with momentum that is dropped whenever it points uphill (FISTA with restarts)."""
    H, c = hessian(U), -gradient(torch.zeros_like(U[0]), U, S)
    size = torch.linalg.eigvalsh(H)[-1]
    W = Z = torch.zeros_like(c)
    momentum = 1.0
    for iteration in range(1, max_iterations + 1):
        new = soft_threshold(Z - (H @ Z - c) / size, penalty / size)
        if (Z - new) @ (new - W) > 0:
            momentum = 1.0
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        Z = new + (momentum - 1) / following * (new - W)
        W, momentum = new, following
        moved = soft_threshold(W - (H @ W - c) / size, penalty / size)
        if (moved - W).abs().max() * size <= tolerance:
            return W, iteration, True
    return W, max_iterations, False


def _check(points: Tensor, targets: Tensor) -> None:
    same_length("points", points, "targets", targets)
    if points.ndim != 1 or targets.ndim != 1:
        raise ShapeError(
            f"`points` and `targets` must have 1 axis each, got {points.ndim} and {targets.ndim}: "
            "a polynomial takes one number and gives one."
        )
    finite("points", points)
    finite("targets", targets)
