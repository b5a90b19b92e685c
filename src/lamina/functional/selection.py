r"""How much of a best result is luck: the best of many that are equally good looks better than they are."""

import math

import torch

from lamina._errors import at_least, between
from lamina._types import Float, Tensor


def expected_best(models: int, points: int, accuracy: float = 0.5) -> float:
    r"""Return the accuracy that the best of many equally good models shows on average.

    Each of K models is right on each of n points with probability p, independently. With F the distribution function
    of the number of right answers,
    $$\mathbb E \max_k \frac{S_k}{n} = \frac1n \sum_{s=0}^{n-1} \bigl(1 - F(s)^K\bigr), \qquad S_k \sim B(n, p)$$
    with K = `models`, n = `points`, p = `accuracy`. Networks that were trained on the same data are right on the same
    points more often than chance, so for them this is the most that luck can do.

    Notes: N1.68 (§1.5).

    Args:
        models: how many there are to select from.
        points: how many examples they are compared on.
        accuracy: how good each really is.

    >>> round(expected_best(1024, 100), 3), expected_best(1, 100)
    (0.661, 0.5)
    """
    _check(models, points)
    between("accuracy", accuracy, 0, 1)
    if models == 1 or accuracy in (0, 1):
        return float(accuracy)
    F = _distribution(points, accuracy)[:-1]
    return (1 - F**models).sum().item() / points


def accuracy_behind(best: float, models: int, points: int) -> float:
    r"""Return how good K equally good models would be if the best of them looked as good as one that was seen.

    The answer p makes it as likely as not that the best of K models reaches the share `best` of n points:
    $$P(\max_k S_k \ge n \cdot \mathrm{best}) = 1 - F_p(n \cdot \mathrm{best} - 1)^K = \tfrac12$$
    The difference of `best` and p is what the best one may owe to luck, at most.

    Notes: N1.68 (§1.5).

    Args:
        best: the accuracy of the best one on the points that it was selected by.
        models: how many there were.
        points: how many examples they were compared on.

    >>> round(accuracy_behind(0.66, 1024, 100), 2), round(accuracy_behind(0.98, 1024, 10_000), 3)
    (0.5, 0.975)
    """
    _check(models, points)
    between("best", best, 0, 1)
    right = round(best * points)
    if right == 0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        below = _distribution(points, middle)[right - 1].item()
        # The probability that at least one of K reaches it, without losing small ones: 1 - (1 - t)^K.
        reached = -math.expm1(models * math.log1p(-min(1 - below, 1 - 1e-16)))
        low, high = (low, middle) if reached > 0.5 else (middle, high)
    return (low + high) / 2


def _distribution(points: int, accuracy: float) -> Float[Tensor, " count"]:
    """Return P(S <= s) for s = 0, ..., n of a binomial distribution."""
    p = min(max(accuracy, 1e-300), 1 - 1e-16)
    s = torch.arange(points + 1, dtype=torch.float64)
    n = torch.tensor(float(points), dtype=torch.float64)
    log = torch.lgamma(n + 1) - torch.lgamma(s + 1) - torch.lgamma(n - s + 1)
    log = log + s * math.log(p) + (n - s) * math.log1p(-p)
    return log.exp().cumsum(0).clamp(max=1)


def _check(models: int, points: int) -> None:
    at_least("models", models, 1)
    at_least("points", points, 1)
