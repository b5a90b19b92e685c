r"""Claims about overfitting and what is done against it (§1.4 of the notes, and the end of training in §1.3).

The polynomials are fitted to ten evenly spaced points of $\sin(2\pi u)$ on [0, 1] with errors of standard deviation
1/4, as in the notes' figure; a seed is another draw of the errors. All errors carry the factor 1/(2N).
"""

import itertools
import math
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from lamina._types import Tensor
from lamina.architectures.fnn import FNN, FNNConfig
from lamina.architectures.perceptron import Perceptron, PerceptronConfig
from lamina.classical import estimation, linear_regression, polynomial
from lamina.data.synthetic import curve, linear
from lamina.experiments.result import Claim, Plot, Result, _mean_and_spread, experiment
from lamina.experiments.trained import parts, train
from lamina.functional.random import as_generator
from lamina.training.recipe import GD, Adam, Penalty, Recipe, Stopping
from lamina.training.stopping import rules

F64 = torch.float64
POINTS = 10
NOISE = 0.25


def _truth(points: Tensor) -> Tensor:
    return torch.sin(2 * torch.pi * points)


def _samples(seed: int, draws: int = 1) -> tuple[Tensor, Tensor]:
    """Return the ten points and, for each draw, their values with errors."""
    points = torch.linspace(0, 1, POINTS, dtype=F64)
    return points, _truth(points) + NOISE * torch.randn(draws, POINTS, generator=as_generator(seed), dtype=F64)


def _unseen(seed: int) -> tuple[Tensor, Tensor]:
    """Return 200 other points and their values with errors."""
    data = curve(200, noise=NOISE, seed=10_000 + seed)
    return data.inputs[:, 0], data.targets


@experiment("N1.54", "N1.55")
def degrees(seeds: range = range(50), highest: int = 9) -> Result:
    """Fit polynomials of all degrees up to 9 to ten points and look at the error there and on 200 unseen points.

    Notes: N1.54, N1.55 (§1.4, Fig. 6).

    Args:
        seeds: draws of the errors.
        highest: the highest degree.

    >>> degrees(seeds=2).column("training error")[9] < 1e-15
    True
    """
    training, unseen = [], []
    for seed in seeds:
        (points, (values,)), test = _samples(seed), _unseen(seed)
        fits = [polynomial.fit(points, values, degree) for degree in range(highest + 1)]
        training.append([fit.error for fit in fits])
        unseen.append([polynomial.error(fit, *test) for fit in fits])
    rows = [
        (degree, *_mean_and_spread(seen), *_mean_and_spread(new))
        for degree, (seen, new) in enumerate(zip(zip(*training, strict=True), zip(*unseen, strict=True), strict=True))
    ]
    return Result(
        f"polynomials on ten points, mean over {len(seeds)} seeds",
        ("degree", "training error", "training spread", "unseen error", "unseen spread"),
        rows,
        Claim(
            "for every seed the training error falls with the degree",
            all(after <= before + 1e-12 for seen in training for before, after in itertools.pairwise(seen)),
        ),
        *Claim.averages(
            "degree {} misses even its own points, underfitting: the training error",
            {degree: [seen[degree] for seen in training] for degree in (0, 1)},
            least=0.05,
        ),
        Claim("the highest degree hits its points exactly", max(seen[-1] for seen in training) < 1e-15),
        Claim.often(
            "the error on unseen points is U-shaped: smaller at degree 3 than at 1 and at the highest",
            [new[3] < min(new[1], new[-1]) for new in unseen],
        ),
        Claim.on_average(
            "the degree with the smallest error on unseen points",
            [min(range(len(new)), key=lambda degree: new[degree]) for new in unseen],
            least=2.0,
            most=6.0,
        ),
        Claim.on_average(
            "the highest degree overfits: log2 of its error on unseen points, divided by that of degree 3,",
            [math.log2(new[-1] / new[3]) for new in unseen],
            least=0.5,
        ),
        plot=Plot("degree", ("training error", "unseen error"), y_label="error"),
    )


@experiment("N1.56", "N1.57", "N1.58")
def estimators(draws: int = 20_000, penalties: tuple[float, ...] = (0.0, 0.05, 0.5), seed: int = 0) -> Result:
    r"""Draw many data sets, estimate the weights of a linear function from each, and decompose the error.

    $$E\|\hat\theta - \theta\|^2 = \mathrm{tr}\,\mathrm{Cov}(\hat\theta) + \|\mathrm{Bias}(\hat\theta)\|^2$$
    The estimate is the minimizer of $\frac{1}{2N}\|U\theta - S\|^2 + \lambda\|\theta\|^2$ on N = 20 inputs, with
    errors of standard deviation 1; without a penalty it is least squares, which has no bias.

    Notes: N1.56, N1.57, N1.58 (§1.4).
    Corrects: E19, the notes' formulas are for one number; the estimator takes the supervisions too.

    Args:
        draws: data sets.
        penalties: the weights lambda.
        seed: which inputs and errors.

    >>> estimators(draws=100).claims[0].holds
    True
    """
    generator = as_generator(seed)
    truth = torch.tensor([1.0, -2.0, 0.5], dtype=F64)
    inputs = torch.randn(20, 3, generator=generator, dtype=F64)
    targets = (inputs @ truth)[:, None] + torch.randn(20, draws, generator=generator, dtype=F64)
    rows, products = [], []
    for penalty in penalties:
        extra = (2 * len(inputs) * penalty) ** 0.5 * torch.eye(3, dtype=F64)
        both = torch.cat([inputs, extra]), torch.cat([targets, targets.new_zeros(3, draws)])
        estimates = linear_regression.least_squares(*both)[0].T  # one data set a row
        parts = estimation.decompose(estimates, truth)
        printed = (estimates.square().mean(0) - estimates.mean(0).square()).sum().item()
        products.append(abs(printed - parts.variance))
        rows.append((penalty, parts.squared_bias, parts.variance, parts.total))
    theory = torch.linalg.inv(inputs.T @ inputs).trace().item()
    return Result(
        f"estimates of three weights from {draws} data sets of 20 points",
        ("penalty", "squared bias", "variance", "mean squared error"),
        rows,
        Claim(
            "mean squared error = variance + squared bias, for vectors",
            all(abs(row[3] - row[1] - row[2]) < 1e-10 for row in rows),
        ),
        Claim("the variance is E(x^2) - E(x)^2, summed over the components", max(products) < 1e-10),
        Claim("least squares has no bias", rows[0][1] < 10 * theory / draws),
        Claim("and the variance that theory gives", abs(rows[0][2] / theory - 1) < 0.05),
        Claim(
            "a penalty trades variance for bias", all(a[1] < b[1] and a[2] > b[2] for a, b in itertools.pairwise(rows))
        ),
        plot=Plot("penalty", ("squared bias", "variance", "mean squared error"), "bars", log_y=True, y_label="error"),
    )


@experiment("N1.59", "N1.60")
def trade_off(draws: int = 2000, highest: int = 9, seed: int = 0) -> Result:
    """Split the error of a polynomial's predictions into squared bias and variance, degree by degree.

    Predictions are compared with the true values at 50 points between 0.05 and 0.95.

    Notes: N1.59, N1.60 (§1.4, Fig. 7).
    Corrects: E19, an underfit model has no true parameters of its size, so predictions are compared.

    Args:
        draws: data sets.
        highest: the highest degree.
        seed: which errors.

    >>> trade_off(draws=200).claims[4].sentence
    'their sum is smallest at degree 3, between both'
    """
    points, values = _samples(seed, draws)
    places = torch.linspace(0.05, 0.95, 50, dtype=F64)
    rows = []
    for degree in range(highest + 1):
        weights = linear_regression.least_squares(polynomial.vandermonde(points, degree), values.T)[0]
        predictions = (polynomial.vandermonde(places, degree) @ weights).T
        parts = estimation.decompose_predictions(predictions, _truth(places))
        rows.append((degree, parts.squared_bias, parts.variance, parts.total))
    totals = [row[3] for row in rows]
    best = totals.index(min(totals))
    return Result(
        f"predictions of polynomials fitted to {draws} data sets of ten points",
        ("degree", "squared bias", "variance", "total"),
        rows,
        Claim("the variance rises with the degree", all(a[2] < b[2] for a, b in itertools.pairwise(rows))),
        Claim("the squared bias falls, up to a hundredth",
              all(b[1] < a[1] + 0.01 for a, b in itertools.pairwise(rows))),
        Claim("underfitting, degree 0: high bias, low variance", rows[0][1] > 10 * rows[0][2]),
        Claim("overfitting, the highest degree: low bias, high variance", rows[-1][2] > 10 * rows[-1][1]),
        Claim("their sum is smallest at degree 3, between both", best == 3),
        plot=Plot("degree", ("squared bias", "variance", "total"), log_y=True, y_label="error"),
    )  # fmt: skip


@experiment("N1.63", "N1.64")
def weight_decay(
    seeds: range = range(20), penalties: tuple[float, ...] = (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0)
) -> Result:
    r"""Fit a polynomial of degree 9 to ten points with squared penalties of several strengths, and with one of norm 1.

    Notes: N1.62, N1.63, N1.64 (§1.4).
    Corrects: E20, the squared norm makes coefficients small, but none of them zero; norm 1 does that.

    Args:
        seeds: draws of the errors.
        penalties: the weights lambda of the squared norm, 0 first.

    >>> weight_decay(seeds=1).column("zeros of 10")
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0]
    """
    rows, found, steepest = [], [], 0.0
    for norm, penalty in [*((2, penalty) for penalty in penalties), (1, 1e-2)]:
        columns = []
        for seed in seeds:
            (points, (values,)), test = _samples(seed), _unseen(seed)
            fit = polynomial.fit(points, values, 9, penalty, norm)
            zeros, largest = int((fit.weight == 0).sum()), fit.weight.abs().max().item()
            columns.append((fit.error, polynomial.error(fit, *test), largest, zeros))
            if norm == 2 and penalty > 0:
                slope = linear_regression.gradient(fit.weight, polynomial.vandermonde(points, 9), values)
                steepest = max(steepest, (slope + 2 * penalty * fit.weight).abs().max().item())
        found.append(list(zip(*columns, strict=True)))
        rows.append((norm, penalty, *(sum(column) / len(seeds) for column in found[-1])))
    squared = rows[:-1]
    errors = [row[3] for row in squared]
    best = errors.index(min(errors))
    gains, losses = ([math.log2(a / b) for a, b in zip(found[place][1], found[best][1], strict=True)]
                     for place in (0, len(squared) - 1))  # fmt: skip
    heaviest = list(zip(*(each[2] for each in found[:-1]), strict=True))
    return Result(
        f"degree 9 on ten points, mean over {len(seeds)} seeds",
        ("norm", "penalty", "training error", "unseen error", "largest weight", "zeros of 10"),
        rows,
        Claim("the closed form is where the gradient of loss + penalty vanishes", steepest < 1e-8),
        Claim.often("a suitable penalty halves the error on unseen points", [gain > 1 for gain in gains], rate=0.7),
        Claim.on_average("one that is too large underfits: log2 of its error, divided by that with a suitable one,",
                         losses, least=1.5),
        Claim.on_average("it is bad even on its own points: the training error", found[-2][0], least=0.15),
        Claim.often("the largest weight falls with the penalty",
                    [all(a > b for a, b in itertools.pairwise(each)) for each in heaviest]),
        Claim("the squared norm sets no coefficient to zero", max(row[5] for row in squared) == 0),
        Claim.on_average("the number of coefficients of ten that norm 1 sets to zero", found[-1][3], least=5.0),
        plot=Plot("penalty", ("training error", "unseen error"), "bars", by=("norm",), y_label="error"),
    )  # fmt: skip


@experiment("N1.62")
def penalty_in_training(seeds: range = range(3), strength: float = 0.05, steps: int = 300) -> Result:
    r"""Train linear regression with a penalty in several ways and compare with the closed form.

    $$(U^\top U + 2N\lambda I) W = U^\top S$$
    Eight inputs, of which three matter. The trainer's penalty of norm 1 makes a proximal step after each gradient.

    Notes: N1.62, N1.63 (§1.4).
    Corrects: E41, torch's `weight_decay` is 2 lambda. In Adam it passes through the moments, as the gradient of a
        penalty in the loss would: it ends at the same point. In AdamW it does not.

    Args:
        seeds: data sets.
        strength: the weight lambda.
        steps: updates of gradient descent on all 200 points.

    >>> penalty_in_training(seeds=1, steps=20).column("zeros of 8")
    [0, 0, 0, 0, 0, 5]
    """

    def torchs(kind: Any, rate: float, decay: float) -> Any:
        return partial(kind, lr=rate, weight_decay=decay * strength)

    ways = {
        "squared norm in the loss": Recipe(GD(0.2), penalty=Penalty(strength)),
        "torch SGD, weight_decay 2 lambda": Recipe(torchs(torch.optim.SGD, 0.2, 2)),
        "torch SGD, weight_decay lambda": Recipe(torchs(torch.optim.SGD, 0.2, 1)),
        "torch Adam, weight_decay 2 lambda": Recipe(torchs(torch.optim.Adam, 0.02, 2)),
        "torch AdamW, weight_decay 2 lambda": Recipe(torchs(torch.optim.AdamW, 0.02, 2)),
        "norm 1 in the loss": Recipe(GD(0.2), penalty=Penalty(strength, norm=1)),
    }
    rows, found = [], []
    for way, recipe in ways.items():
        distances, zeros, norms = zip(*(_regress(recipe, seed, strength, steps) for seed in seeds), strict=True)
        found.append((distances, zeros))
        rows.append((way, max(distances), sum(norms) / len(seeds), min(zeros)))
    exact, twice, once, moments, apart, sparse = found
    return Result(
        f"linear regression with a penalty of {strength:g}, {steps} steps, {len(seeds)} seeds",
        ("way", "largest distance to closed form", "norm of W", "zeros of 8"),
        rows,
        Claim("the squared norm in the loss ends at the closed form, to 1e-5, with every seed", max(exact[0]) < 1e-5),
        Claim("so does torch's weight_decay of 2 lambda in SGD, with every seed", max(twice[0]) < 1e-5),
        Claim.often("so does the same in Adam, to 1e-5 after these steps", [far < 1e-5 for far in moments[0]], 0.8),
        Claim.on_average(
            "with weight_decay lambda it ends elsewhere: the distance to the closed form", once[0], least=0.01
        ),
        Claim.on_average("in AdamW it does too: the distance", apart[0], least=0.01),
        Claim("squared norms give no zeros", not any((*exact[1], *twice[1], *moments[1]))),
        Claim.on_average(
            "the number of exact zeros with norm 1, where five inputs do not matter,", sparse[1], least=3.0
        ),
        plot=Plot("way", ("largest distance to closed form",), "bars", log_y=True),
    )


def _regress(recipe: Recipe, seed: int, strength: float, steps: int) -> tuple[float, int, float]:
    """Return the distance to the closed form of the squared norm, the number of exact zeros, and the norm."""
    data = linear(200, weight=(2.0, -1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0), bias=0.0, noise=0.5, seed=seed)
    network = Perceptron(PerceptronConfig(8, activation="identity", bias=False), seed=seed)
    recipe = replace(recipe, epochs=steps, batch_size=len(data), seed=seed)
    source = train(network, parts(data), recipe).prepare.source(data)
    inputs, targets = (part.double() for part in source.batch(torch.arange(len(data))))
    gram = inputs.T @ inputs + 2 * len(data) * strength * torch.eye(8, dtype=F64)
    closed = torch.linalg.solve(gram, inputs.T @ targets.reshape(-1))
    weight = network.affine.weight.detach()[0].double()
    return (weight - closed).norm().item(), int((weight == 0).sum()), weight.norm().item()


@experiment("N1.44")
def early_stopping(seeds: range = range(5), steps: int = 800, points: int = 20) -> Result:
    """Train a network with far more weights than points and watch the error on unseen points.

    Two hidden layers of 64 tanh units on `points` points of a noisy sine, Adam with step size 0.01 on all of them; 500
    unseen points are looked at every ten steps. The last two columns say where a run would stop that has ten
    looks without improvement, and the error of the weights that it keeps.

    Notes: N1.44 (§1.3).

    Args:
        seeds: how many times, each with its own points and initial weights.
        steps: updates of the full run.
        points: training points.

    >>> early_stopping(seeds=1, steps=20).column("stop")
    [20]
    """
    rows = []
    (rule,) = rules(Stopping(patience=10))
    recipe = Recipe(Adam(1e-2), epochs=steps, batch_size=points, check_every=10)
    for seed in seeds:
        network = FNN(FNNConfig(1, 1, hidden=(64, 64), activation="tanh"), seed=seed)
        split = parts(curve(points, seed=2 * seed), curve(500, seed=2 * seed + 1))
        looks = train(network, split, recipe, watch=True).rows
        errors = [look["validation_loss"] for look in looks]
        best = errors.index(min(errors))
        end = next((k for k in range(1, len(looks)) if rule(looks[:k]) is not None), len(looks))
        then, last = looks[best], looks[-1]
        stop, kept = looks[end - 1]["step"], min(errors[:end])
        rows.append((seed, then["step"], errors[best], errors[-1], then["loss"], last["loss"], stop, kept))
    return Result(
        f"{points} points, {steps} steps; errors are halved mean squares, targets standardized",
        ("seed", "best step", "unseen then", "unseen at end", "training then", "training at end", "stop", "kept"),
        rows,
        Claim.often("the training error falls to the end", [row[5] < row[4] for row in rows]),
        Claim.often("the error on unseen points is smallest well before", [row[1] < 0.75 * steps for row in rows], 0.8),
        Claim.often("that error has risen by a tenth or more at the end", [row[3] > 1.1 * row[2] for row in rows], 0.8),
        Claim.often("stopping early ends sooner", [row[6] < steps for row in rows]),
        Claim.often("it keeps weights that are better than the last ones", [row[7] < row[3] for row in rows]),
        plot=Plot("seed", ("unseen then", "unseen at end"), "bars", y_label="error on unseen points"),
    )
