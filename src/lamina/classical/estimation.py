r"""Bias and variance of an estimate (§1.4 of the notes), over many data sets.

An estimate $\hat\theta$ is a random variable through the data it is computed from. Expectations are means over the
first axis of `estimates`, one row for each data set: `[draw]` for one number, `[draw, ...]` for a vector.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from lamina._errors import ShapeError, at_least
from lamina._types import Float, Seed, Tensor
from lamina.classical._checks import finite
from lamina.functional.random import as_generator


@dataclass(frozen=True)
class Decomposition:
    r"""The parts of a mean squared error; `total` equals `squared_bias + variance` up to rounding.

    Notes: N1.58 (§1.4).

    Args:
        total: $E\|\hat\theta - \theta\|^2$.
        squared_bias: $\|E\hat\theta - \theta\|^2$.
        variance: $E\|\hat\theta - E\hat\theta\|^2$.
    """

    total: float
    squared_bias: float
    variance: float


def sample_estimates(
    estimator: Callable[[Tensor, Tensor], Tensor],
    sampler: Callable[[torch.Generator], tuple[Tensor, Tensor]],
    draws: int,
    seed: Seed = 0,
) -> Float[Tensor, "draw ..."]:
    r"""Draw many data sets and estimate from each.

    $$\hat\theta = g(\{u^{(i)}, S(u^{(i)})\}_{i=1}^N)$$

    Notes: N1.56 (§1.4).
    Corrects: E19, an estimator takes the supervisions too.

    Args:
        estimator: a function g of inputs and targets.
        sampler: a function that draws inputs and targets with the generator it is given.
        draws: the number of data sets.
        seed: an integer or a generator.

    >>> mean = lambda u, s: s.mean()
    >>> noise = lambda g: (torch.zeros(4), torch.randn(4, generator=g))
    >>> sample_estimates(mean, noise, draws=3).shape
    torch.Size([3])
    """
    at_least("draws", draws, 1)
    generator = as_generator(seed)
    return torch.stack([estimator(*sampler(generator)) for _ in range(draws)])


def bias(estimates: Float[Tensor, " draw *shape"], truth: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Compute $\mathrm{Bias}(\hat\theta) = E(\hat\theta) - \theta$, a vector for a vector.

    Notes: N1.57 (§1.4).

    >>> bias(torch.tensor([1.0, 3.0]), torch.tensor(1.0)).item()
    1.0
    """
    _check(estimates, truth)
    return estimates.mean(0) - truth


def variance(estimates: Float[Tensor, "draw ..."]) -> Float[Tensor, ""]:
    r"""Compute the variance, for a vector the trace of the covariance matrix.

    $$\mathrm{Var}(\hat\theta) = E(\hat\theta^2) - E(\hat\theta)^2, \qquad
      \mathrm{tr}\,\mathrm{Cov}(\hat\theta) = E\|\hat\theta\|^2 - \|E\hat\theta\|^2$$

    Notes: N1.57 (§1.4).
    Corrects: E19, the printed formula is for one number.
    Differs: torch.var divides by the number of draws less one unless told otherwise.

    >>> variance(torch.tensor([1.0, 3.0])).item(), variance(torch.tensor([[1.0, 0.0], [3.0, 0.0]])).item()
    (1.0, 1.0)
    """
    _check(estimates, estimates.new_zeros(estimates.shape[1:]))
    # Around the mean, not E(x^2) - E(x)^2, which cancels when the variance is small.
    return (estimates - estimates.mean(0)).square().mean(0).sum()


def mean_squared_error(estimates: Float[Tensor, " draw *shape"], truth: Float[Tensor, "*shape"]) -> Float[Tensor, ""]:
    r"""Compute $\mathrm{MSE}(\hat\theta) = E\|\hat\theta - \theta\|^2$.

    Notes: N1.58 (§1.4).

    >>> mean_squared_error(torch.tensor([1.0, 3.0]), torch.tensor(1.0)).item()
    2.0
    """
    _check(estimates, truth)
    return (estimates - truth).square().mean(0).sum()


def decompose(estimates: Float[Tensor, " draw *shape"], truth: Float[Tensor, "*shape"]) -> Decomposition:
    r"""Split the mean squared error of an estimate into squared bias and variance.

    $$E\|\hat\theta - \theta\|^2 = \|E\hat\theta - \theta\|^2 + \mathrm{tr}\,\mathrm{Cov}(\hat\theta)$$

    Notes: N1.57, N1.58 (§1.4).
    Corrects: E19, as above for vectors.

    Args:
        estimates: the estimates, one per row.
        truth: what they estimate.

    >>> decompose(torch.tensor([1.0, 3.0]), torch.tensor(1.0))
    Decomposition(total=2.0, squared_bias=1.0, variance=1.0)
    """
    return Decomposition(
        total=float(mean_squared_error(estimates, truth)),
        squared_bias=float(bias(estimates, truth).square().sum()),
        variance=float(variance(estimates)),
    )


def decompose_predictions(predictions: Float[Tensor, "draw point"], truth: Float[Tensor, " point"]) -> Decomposition:
    """Split the mean squared error of predictions at fixed points, as a mean over the points.

    An underfit model has no true parameters of its size to compare with, its predictions have true values: low
    variance with high bias is underfitting, low bias with high variance overfitting.

    Notes: N1.59, N1.60 (§1.4).
    Corrects: E19, bias and variance are measured on predictions.

    Args:
        predictions: the predictions at all points, one fitted model per row.
        truth: the true values without noise.

    Returns:
        The three numbers, each divided by the number of points.

    >>> decompose_predictions(torch.tensor([[1.0, 0.0], [3.0, 0.0]]), torch.tensor([1.0, 0.0]))
    Decomposition(total=1.0, squared_bias=0.5, variance=0.5)
    """
    parts = decompose(predictions, truth)
    count = truth.numel()
    return Decomposition(parts.total / count, parts.squared_bias / count, parts.variance / count)


def _check(estimates: Tensor, truth: Tensor) -> None:
    if estimates.ndim < 1 or len(estimates) == 0 or estimates.shape[1:] != truth.shape:
        raise ShapeError(
            f"`estimates` must hold at least 1 row of the shape of `truth` {tuple(truth.shape)}, "
            f"got {tuple(estimates.shape)}: the first axis counts the data sets."
        )
    finite("estimates", estimates)
