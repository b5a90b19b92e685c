"""The slowest of many: an update ends when the last rank has ended, so noise costs more the more ranks there are.

The seconds of an update on one rank have a mean and a standard deviation, which are measured. Ranks are taken as
independent, with one of two shapes: "normal", or "exponential", a fixed time and a delay that is memoryless, which has
the heavier tail. Both have the measured mean and deviation.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from lamina._errors import above, at_least, choice, whole

Numbers = NDArray[np.float64]

SHAPES = ("exponential", "normal")
_EULER = 0.5772156649015329
_EXACT = 10_000
_STEPS, _END = 4000, 12.0


def largest(ranks: int, shape: str) -> float:
    r"""Return the expected largest of n independent draws with mean 0 and standard deviation 1.

    For exponentials it is $H_n - 1$ with the harmonic number $H_n = 1 + 1/2 + \dots + 1/n$; for normals
    $$E = \int_0^\infty \left(1 - \Phi(x)^n - \Phi(-x)^n\right) dx.$$

    Args:
        ranks: n.
        shape: "exponential" or "normal".

    >>> round(largest(2, "normal"), 6), round(largest(4, "exponential"), 6)  # 1/sqrt(pi), 1/2 + 1/3 + 1/4
    (0.56419, 1.083333)
    """
    whole("ranks", ranks, 1)
    choice("shape", shape, SHAPES)
    if shape == "exponential":
        return _harmonic(ranks) - 1
    return _integral(lambda x: 1 - _below(x, ranks) - _below(-x, ranks))


def largest_variance(ranks: int, shape: str) -> float:
    r"""Return the variance of the largest of n such draws.

    For exponentials it is $\sum_{i=1}^n 1/i^2$; for normals the second moment is
    $\int_0^\infty 2x \left(1 - \Phi(x)^n + \Phi(-x)^n\right) dx$.

    >>> round(largest_variance(2, "exponential"), 6), round(largest_variance(2, "normal"), 6)  # 5/4, 1 - 1/pi
    (1.25, 0.68169)
    """
    whole("ranks", ranks, 1)
    choice("shape", shape, SHAPES)
    if shape == "exponential":
        terms = sum(1 / i**2 for i in range(min(ranks, _EXACT), 0, -1))
        return terms + (1 / (_EXACT + 0.5) - 1 / (ranks + 0.5) if ranks > _EXACT else 0.0)
    second = _integral(lambda x: 2 * x * (1 - _below(x, ranks) + _below(-x, ranks)))
    return second - largest(ranks, shape) ** 2


def slowest(ranks: int, mean: float, deviation: float, shape: str = "exponential") -> float:
    """Return the expected seconds until the last of n ranks has ended.

    Args:
        ranks: n.
        mean: the mean seconds of one.
        deviation: their standard deviation, at most the mean.
        shape: "exponential" or "normal".

    >>> slowest(1, 0.5, 0.25), slowest(2, 0.5, 0.25)
    (0.5, 0.625)
    """
    above("mean", mean, 0)
    at_least("deviation", deviation, 0)
    return mean + deviation * largest(ranks, shape)


def draw_slowest(uniform: Numbers, ranks: int, mean: float, deviation: float, shape: str = "exponential") -> Numbers:
    r"""Turn uniform draws into how long the last of n ranks takes, by the quantile of the largest: $F^{-1}(u^{1/n})$.

    Args:
        uniform: numbers u in (0, 1).
        ranks: n.
        mean: the mean seconds of one rank.
        deviation: their standard deviation.
        shape: "exponential" or "normal".

    >>> draw_slowest(np.array([0.25]), 2, 1.0, 1.0, "exponential")  # the median of one, -log(1 - 1/2)
    array([0.69314718])
    """
    choice("shape", shape, SHAPES)
    tail = -np.expm1(np.log(uniform) / ranks)  # 1 - u^(1/n), exact also for a million ranks
    z = -np.log(tail) - 1 if shape == "exponential" else -quantile(tail)
    return np.asarray(mean + deviation * z)


def quantile(uniform: Numbers) -> Numbers:
    """Give the normal numbers below which these shares of all lie.

    >>> quantile(np.array([0.5, 0.975])).round(3)
    array([0.  , 1.96])
    """
    return torch.special.ndtri(torch.from_numpy(uniform)).numpy()


def _harmonic(n: int) -> float:
    """Sum 1/i; of very many terms by the expansion at infinity, whose error is below 1e-18."""
    if n <= _EXACT:
        return math.fsum(1 / i for i in range(1, n + 1))
    return math.log(n) + _EULER + 1 / (2 * n) - 1 / (12 * n**2)


def _below(x: float, n: int) -> float:
    """Return the probability that n normal numbers all lie below x."""
    tail = math.erfc(x / math.sqrt(2)) / 2
    return math.exp(n * math.log1p(-tail)) if tail < 1 else 0.0


def _integral(function: Callable[[float], float]) -> float:
    """Integrate from 0 to 12 by Simpson's rule; beyond that even the largest of 10^30 numbers hardly ever lies."""
    width = _END / _STEPS
    inner = math.fsum((4 if i % 2 else 2) * function(i * width) for i in range(1, _STEPS))
    return width / 3 * (function(0.0) + inner + function(_END))
