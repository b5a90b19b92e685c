r"""Made-up data whose truth is known (§1 and §2 of the notes): each set is a pure function of its arguments and a seed.

The notes ship no data; these are what their examples need.
"""

import math

import torch

from lamina._errors import above, at_least, between, choice
from lamina._types import Float, Num, Seed, Tensor
from lamina.data.dataset import ArrayDataset, Spec
from lamina.functional.random import as_generator

GATES = {"or": (0, 1, 1, 1), "and": (0, 0, 0, 1), "xor": (0, 1, 1, 0)}
"""The outputs for the inputs 00, 10, 01, 11, in the notes' order."""

WORDS = (
    *("free", "winner", "prize", "offer", "cash", "click", "urgent", "credit", "guarantee", "limited"),
    *("meeting", "project", "report", "lunch", "thanks", "schedule", "attached", "question", "team", "notes"),
)
"""The words counted by `spam`: ten that are frequent in spam, ten that are frequent elsewhere."""

_FREQUENT, _RARE = 1.0, 0.4  # mean counts of a word in the messages it is typical of, and in the others


def truth_table(gate: str) -> ArrayDataset:
    """Give the truth table of a logical function, 1 for true, in the notes' order 00, 10, 01, 11.

    Notes: N1.73, N1.77, N1.82 (§1, §1.6, Tables 1 and 2).

    Args:
        gate: "or", "and" or "xor".

    Returns:
        Four rows; the set is complete, so that a split does not divide it.

    >>> truth_table("xor").inputs.tolist(), truth_table("xor").targets.tolist()
    ([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 1, 1, 0])
    """
    choice("gate", gate, tuple(GATES))
    inputs = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    spec = Spec("vector", "classification", (2,), 2, features=("y1", "y2"), target=gate, source=gate, complete=True)
    return ArrayDataset(inputs, torch.tensor(GATES[gate]), spec)


def linear(
    count: int = 600, weight: tuple[float, ...] = (2.0, -1.0), bias: float = 0.5, noise: float = 0.1, seed: Seed = 0
) -> ArrayDataset:
    r"""Draw points of a noisy linear function.

    $$s = W \cdot u + b + \varepsilon, \quad u \sim \mathcal U(-1, 1)^d, \ \varepsilon \sim \mathcal N(0, \sigma^2)$$
    with the standard deviation sigma = `noise`.

    Notes: N1.82 (§1).

    Args:
        count: the number N of points.
        weight: the true W; its length is the number d of inputs.
        bias: the true b.
        noise: the standard deviation of the error.
        seed: which draw.

    >>> linear(3, weight=(1.0,), noise=0.0).targets.shape
    torch.Size([3])
    """
    at_least("count", count, 1)
    at_least("noise", noise, 0)
    g = as_generator(seed)
    u = 2 * torch.rand(count, len(weight), generator=g, dtype=torch.float64) - 1
    error = noise * torch.randn(count, generator=g, dtype=torch.float64)
    spec = Spec("vector", "regression", (len(weight),), 1, source="linear")
    return ArrayDataset(u, u @ torch.tensor(weight, dtype=torch.float64) + bias + error, spec)


def curve(count: int = 600, noise: float = 0.25, seed: Seed = 0) -> ArrayDataset:
    r"""Draw points of a noisy sine, the curve that polynomials of several degrees are fitted to.

    $$s = \sin(2 \pi u) + \varepsilon, \qquad u \sim \mathcal U(0, 1), \quad \varepsilon \sim \mathcal N(0, \sigma^2)$$
    with the standard deviation sigma = `noise`.

    Notes: N1.54, N1.82 (§1, §1.4, Fig. 6).

    Args:
        count: the number of points.
        noise: the standard deviation of the error.
        seed: which draw.

    >>> data = curve(5, noise=0.0)
    >>> torch.allclose(data.targets, torch.sin(2 * torch.pi * data.inputs[:, 0]))
    True
    """
    at_least("count", count, 1)
    at_least("noise", noise, 0)
    g = as_generator(seed)
    u = torch.rand(count, 1, generator=g, dtype=torch.float64)
    s = torch.sin(2 * torch.pi * u[:, 0]) + noise * torch.randn(count, generator=g, dtype=torch.float64)
    return ArrayDataset(u, s, Spec("vector", "regression", (1,), 1, features=("u",), target="s", source="curve"))


def blobs(count: int = 600, classes: int = 4, spread: float = 0.5, features: int = 2, seed: Seed = 0) -> ArrayDataset:
    """Draw normal clouds around centers that lie evenly on a circle of radius 3 (at random when not in the plane).

    Notes: N1.82 (§1, Ex. 1.3).

    Args:
        count: the number of points, spread evenly over the classes.
        classes: the number of clouds.
        spread: the standard deviation of a cloud in each direction.
        features: the number of coordinates.
        seed: which draw.

    >>> blobs(8).targets.bincount().tolist()
    [2, 2, 2, 2]
    """
    at_least("count", count, 1)
    at_least("classes", classes, 2)
    at_least("features", features, 1)
    above("spread", spread, 0)
    g = as_generator(seed)
    angle = torch.arange(classes) * (2 * torch.pi / classes)
    centers = 3 * torch.stack([angle.cos(), angle.sin()], 1)
    if features != 2:
        centers = torch.nn.functional.normalize(torch.randn(classes, features, generator=g), dim=1) * 3
    labels = _labels(count, classes, g)
    return _points(centers[labels] + spread * torch.randn(count, features, generator=g), labels, classes, "blobs")


def moons(count: int = 600, noise: float = 0.1, seed: Seed = 0) -> ArrayDataset:
    """Draw two interleaved half circles of radius 1, the second shifted by (1, 0.5), with normal errors.

    Notes: N1.82 (§1), a set that no line separates.

    Args:
        count: the number of points.
        noise: the standard deviation of the error.
        seed: which draw.

    >>> moons(6).targets.bincount().tolist()
    [3, 3]
    """
    at_least("count", count, 1)
    at_least("noise", noise, 0)
    g = as_generator(seed)
    labels = _labels(count, 2, g)
    angle = torch.pi * torch.rand(count, generator=g)
    upper = torch.stack([angle.cos(), angle.sin()], 1)
    lower = torch.stack([1 - angle.cos(), 0.5 - angle.sin()], 1)
    u = torch.where(labels[:, None] == 0, upper, lower) + noise * torch.randn(count, 2, generator=g)
    return _points(u, labels, 2, "moons")


def spirals(
    count: int = 600, classes: int = 2, turns: float = 1.5, noise: float = 0.02, seed: Seed = 0
) -> ArrayDataset:
    """Draw interleaved spirals that start near the origin and end at radius 1.

    Notes: N1.82 (§1), a set that needs several layers.

    Args:
        count: the number of points.
        classes: the number of arms.
        turns: how often an arm goes around.
        noise: the standard deviation of the error.
        seed: which draw.

    >>> spirals(9, classes=3).targets.bincount().tolist()
    [3, 3, 3]
    """
    at_least("count", count, 1)
    at_least("classes", classes, 2)
    above("turns", turns, 0)
    at_least("noise", noise, 0)
    g = as_generator(seed)
    labels = _labels(count, classes, g)
    radius = 0.1 + 0.9 * torch.rand(count, generator=g).sqrt()
    angle = 2 * torch.pi * (turns * radius + labels / classes)
    u = radius[:, None] * torch.stack([angle.cos(), angle.sin()], 1)
    return _points(u + noise * torch.randn(count, 2, generator=g), labels, classes, "spirals")


def rings(count: int = 600, classes: int = 2, noise: float = 0.05, seed: Seed = 0) -> ArrayDataset:
    """Draw a disk inside a ring of radius 1, or inside several evenly spaced ones, with normal errors.

    Notes: N1.82 (§1), a set that no line separates but a closed curve does.

    Args:
        count: the number of points.
        classes: the disk and the rings around it; the disk fills half of the space within the first ring.
        noise: the standard deviation of the error.
        seed: which draw.

    >>> rings(10, noise=0.0).inputs.norm(dim=1).max().round(decimals=6).item()
    1.0
    """
    at_least("count", count, 1)
    at_least("classes", classes, 2)
    at_least("noise", noise, 0)
    g = as_generator(seed)
    labels = _labels(count, classes, g)
    inner = 0.5 * torch.rand(count, generator=g).sqrt() / (classes - 1)
    radius = torch.where(labels == 0, inner, labels / (classes - 1))
    angle = 2 * torch.pi * torch.rand(count, generator=g)
    u = radius[:, None] * torch.stack([angle.cos(), angle.sin()], 1)
    return _points(u + noise * torch.randn(count, 2, generator=g), labels, classes, "rings")


def quadrants(count: int = 600, noise: float = 0.05, seed: Seed = 0) -> ArrayDataset:
    """Draw points of the square [-1, 1]^2 whose label is the exclusive or of their signs, with normal errors.

    Notes: N1.82, N2.14 (§1, §2), XOR with a cloud of points at each corner.

    Args:
        count: the number of points.
        noise: the standard deviation of the error, added after the label is known.
        seed: which draw.

    >>> data = quadrants(50, noise=0.0)
    >>> bool(((data.inputs.prod(1) < 0) == data.targets.bool()).all())
    True
    """
    at_least("count", count, 1)
    at_least("noise", noise, 0)
    g = as_generator(seed)
    labels = _labels(count, 2, g)
    sign = torch.where(torch.rand(count, generator=g) < 0.5, -1.0, 1.0)
    signs = torch.stack([sign, sign * (1 - 2 * labels)], 1)
    u = signs * torch.rand(count, 2, generator=g)
    return _points(u + noise * torch.randn(count, 2, generator=g), labels, 2, "quadrants")


def spam(count: int = 3000, share: float = 0.4, seed: Seed = 0) -> ArrayDataset:
    r"""Draw word counts of messages, a part of them spam.

    Each count is a Poisson number; its mean is 1 in the messages that the word is typical of and 0.4 in the others.
    The probability of spam is then exactly the sigmoid of a linear function of the counts; `spam_logit` gives it.

    Notes: N1.82, N2.64 (§1, §2.4).

    Args:
        count: the number of messages.
        share: the probability of spam.
        seed: which draw.

    >>> data = spam(5)
    >>> data.spec.classes, data.inputs.shape
    (('not spam', 'spam'), torch.Size([5, 20]))
    """
    at_least("count", count, 1)
    between("share", share, 0.01, 0.99)
    g = as_generator(seed)
    labels = (torch.rand(count, generator=g) < share).long()
    typical = (torch.arange(len(WORDS)) < len(WORDS) // 2) == labels[:, None].bool()
    inputs = torch.poisson(torch.where(typical, _FREQUENT, _RARE), generator=g)
    spec = Spec("vector", "classification", (len(WORDS),), 2, ("not spam", "spam"), WORDS, "spam", "spam")
    return ArrayDataset(inputs, labels, spec)


def spam_logit(inputs: Num[Tensor, "batch feature"], share: float = 0.4) -> Float[Tensor, " batch"]:
    r"""Compute the exact logit of the probability that a message of `spam` is spam.

    $$\ln\frac{p}{1-p} + \sum_j c_j \ln\frac{\lambda_j}{\mu_j} - \sum_j (\lambda_j - \mu_j)$$
    with the counts c = `inputs`, p = `share` and the means lambda in spam, mu elsewhere. No model can be better.

    Notes: N2.64 (§2.4).

    >>> spam_logit(torch.zeros(1, 20), share=0.5).item()
    0.0
    """
    half = len(WORDS) // 2
    counts = inputs.double()
    difference = counts[:, :half].sum(1) - counts[:, half:].sum(1)
    return difference * math.log(_FREQUENT / _RARE) + math.log(share / (1 - share))


def million(count: int = 1_000_000, seed: Seed = 0) -> ArrayDataset:
    """Draw a long table with ten columns of numbers, two of categories, and 1 % of one column missing.

    The label is drawn from a probability that depends on products and waves of the numbers and on the categories,
    so that a linear model is good, a network better, and none perfect.

    Args:
        count: the number of rows.
        seed: which draw.

    >>> data = million(1000)
    >>> data.spec.inputs, data.spec.levels[-1]
    ((12,), ('east', 'north', 'south', 'west'))
    """
    at_least("count", count, 1)
    g = as_generator(seed)
    levels = (("basic", "full", "none"), ("east", "north", "south", "west"))
    x = torch.randn(count, 10, generator=g)
    plan, region = (torch.randint(len(names), (count,), generator=g) for names in levels)
    shift = torch.tensor([0.5, 1.0, -1.0])[plan] * torch.tensor([1.0, 0.5, -0.5, -1.0])[region]
    logit = x[:, 0] - x[:, 1] + 2 * x[:, 2] * x[:, 3] + (3 * x[:, 4]).sin() + shift
    labels = (torch.rand(count, generator=g) < logit.sigmoid()).long()
    missing = torch.rand(count, generator=g) < 0.01
    inputs = torch.cat([x, plan[:, None], region[:, None]], 1).double()
    inputs[:, 5] = inputs[:, 5].masked_fill(missing, torch.nan)
    names = (*(f"x{i}" for i in range(10)), "plan", "region")
    spec = Spec(
        "table", "classification", (12,), 2, ("no", "yes"), names, "bought", "million", levels=((),) * 10 + levels
    )
    return ArrayDataset(inputs, labels, spec)


def _labels(count: int, classes: int, generator: torch.Generator) -> Tensor:
    """Give every class the same number of places, up to 1, in random order."""
    return torch.randperm(count, generator=generator) % classes


def _points(inputs: Tensor, labels: Tensor, classes: int, source: str) -> ArrayDataset:
    return ArrayDataset(
        inputs, labels, Spec("vector", "classification", tuple(inputs.shape[1:]), classes, source=source)
    )
