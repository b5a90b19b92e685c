"""Choosing hyperparameters (§1.4, §1.5 and §2.1 of the notes): by validation, in full, one at a time, or by default."""

import math
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch

from lamina.classical import polynomial
from lamina.data.load import load
from lamina.data.synthetic import blobs, curve, moons, spirals
from lamina.experiments.result import Claim, Plot, Result, differences, experiment
from lamina.experiments.trained import CPU
from lamina.functional.random import as_generator
from lamina.populations.members import by_shape
from lamina.populations.population import train_population
from lamina.studies.problem import Problem
from lamina.studies.samplers import Done, Grid, OneAtATime, Sampler
from lamina.studies.search import search
from lamina.studies.space import Space, Values, key
from lamina.training.recipe import Adam, MiniBatch, Recipe


@experiment("N1.61")
def choose_degree(seeds: range = range(40), held_out: int = 20, highest: int = 9) -> Result:
    r"""Choose the degree of a polynomial by its error on points that were held out, at the price of one fit per degree.

    Ten points of $\sin(2\pi u)$ with errors are fitted by every degree; twenty others choose; 200 more judge.

    Notes: N1.61 (§1.4).

    Args:
        seeds: draws of the errors.
        held_out: how many points choose.
        highest: the highest degree.
    """
    degrees = tuple(range(highest + 1))
    u = torch.linspace(0, 1, 10, dtype=torch.float64)
    chosen, validated, unseen, of_chosen = [], [], [], []
    for seed in seeds:
        noise = 0.25 * torch.randn(10, generator=as_generator(seed), dtype=torch.float64)
        values = torch.sin(2 * torch.pi * u) + noise
        validation, test = (
            curve(count, noise=0.25, seed=base + seed) for count, base in ((held_out, 1000), (200, 2000))
        )
        found = polynomial.choose_degree(u, values, validation.inputs[:, 0], validation.targets, degrees)
        errors = [
            polynomial.error(polynomial.fit(u, values, degree), test.inputs[:, 0], test.targets) for degree in degrees
        ]
        chosen.append(found.best.degree)
        validated.append(found.validation_errors)
        unseen.append(errors)
        of_chosen.append(errors[found.best.degree])
    means = [sum(column) / len(seeds) for column in zip(*unseen, strict=True)]
    counts = [chosen.count(degree) for degree in degrees]
    rows = [
        (degree, sum(v[degree] for v in validated) / len(seeds), means[degree], counts[degree]) for degree in degrees
    ]
    return Result(
        f"degree by validation: 10 points fitted, {held_out} choose, 200 judge; means over {len(seeds)} seeds",
        ("degree", "validation error", "unseen error", "times chosen"),
        rows,
        Claim.often("a degree from 3 to 6 is chosen", [3 <= degree <= 6 for degree in chosen], rate=0.6),
        Claim.often(
            "the highest degree, whose own error is smallest, is not chosen",
            [degree != highest for degree in chosen],
            rate=0.8,
        ),
        Claim.on_average(
            "on unseen points the chosen degree does hardly worse: its error, divided by that of degree 3,",
            [a / b[3] for a, b in zip(of_chosen, unseen, strict=True)],
            most=1.6,
        ),
        Claim.often(
            "on unseen points the chosen degree does better than the highest one",
            [a < b[-1] for a, b in zip(of_chosen, unseen, strict=True)],
            rate=0.8,
        ),
        plot=Plot("degree", ("validation error", "unseen error"), log_y=True, y_label="error"),
    )


@experiment("N1.66")
def split_sizes(sizes: tuple[int, ...] = (600, 601, 605, 150, 7)) -> Result:
    """Split data 4:1:1 and count; validation and test get their sixth rounded down, training the rest.

    Notes: N1.66 (§1.5).

    Args:
        sizes: numbers of examples.

    >>> split_sizes((600,)).rows
    ((600, 400, 100, 100, True),)
    """
    rows = []
    for size in sizes:
        parts = curve(size).split(seed=0)
        seen = torch.cat([parts.train.take(torch.arange(len(parts.train)))[0],
                          parts.validation.take(torch.arange(len(parts.validation)))[0],
                          parts.open_test().take(torch.arange(len(parts.test)))[0]])  # fmt: skip
        whole = torch.equal(seen.flatten().sort().values, curve(size).inputs.flatten().sort().values)
        rows.append((size, len(parts.train), len(parts.validation), len(parts.test), whole))
    return Result(
        "training, validation and test part at 4:1:1",
        ("examples", "training", "validation", "test", "disjoint and complete"),
        rows,
        Claim("every example is in exactly one part", all(row[4] and sum(row[1:4]) == row[0] for row in rows)),
        Claim("a sixth, rounded down, validates and a sixth tests",
              all(row[2] == row[3] == row[0] // 6 for row in rows)),
    )  # fmt: skip


@experiment("N1.67")
def select_then_test(seeds: range = range(4), count: int = 180, epochs: int = 8) -> Result:
    """Train every configuration on training data, choose by validation, and open the test data once, at the end.

    Notes: N1.67 (§1.5).

    Args:
        seeds: data sets with their own splits.
        count: how many examples each has.
        epochs: of each training.
    """
    space = {"learning_rate": [3e-3, 1e-2, 3e-2, 1e-1], "penalty": [0.0, 1e-3, 1e-2], "dropout": [0.0, 0.3]}
    rows, lowest, openings = [], True, []
    for seed in seeds:
        split = moons(count, noise=0.35, seed=seed).split(seed=seed)
        with tempfile.TemporaryDirectory() as place:
            study = search("fnn", split, space, recipe=Recipe(Adam(), epochs, 32), options={"hidden": 16},
                           metric="loss", folder=f"{place}/s", runtime=CPU)  # fmt: skip
        values = [result.outcome.value for result in study.results]
        known = [value for value in values if value is not None]
        lowest &= study.best.outcome.value == min(known)
        openings.append(split.openings)
        metrics = study.test["metrics"] if study.test else {}
        rows.append((seed, len(values), sum(known) / len(known), min(known), metrics["loss"], split.openings))
    return Result(
        f"the best of {rows[0][1]} configurations by validation loss, {count} examples split 4:1:1",
        ("seed", "configurations", "mean validation", "chosen validation", "chosen test", "test openings"),
        rows,
        Claim("the configuration with the lowest validation error is chosen", lowest),
        Claim("the test data are opened exactly once", set(openings) == {1}),
        Claim.often("what was used to choose flatters: the chosen one has a larger loss on the test data",
                    [row[4] > row[3] for row in rows], rate=0.4),
        plot=Plot("seed", ("mean validation", "chosen validation", "chosen test"), "bars", y_label="accuracy"),
    )  # fmt: skip


@experiment("N1.69")
def grid_of_five(values: int = 4) -> Result:
    """Try all 4^5 = 1024 combinations of five hyperparameters, as one stack of 1024 networks.

    A row gives, for one value of one hyperparameter, the best and the mean validation loss over all others.

    Notes: N1.69 (§1.5).

    Args:
        values: how many values each hyperparameter has; fewer for a quick look.
    """
    every: dict[str, list[Any]] = {
        "learning_rate": [1e-3, 3e-3, 1e-2, 3e-2],
        "beta1": [0.0, 0.5, 0.9, 0.99],
        "penalty": [0.0, 1e-4, 1e-3, 1e-2],
        "dropout": [0.0, 0.1, 0.2, 0.4],
        "scale": [0.5, 1.0, 1.5, 2.0],
    }
    space = {name: each[-values:] for name, each in every.items()}
    problem = Problem.make("fnn", moons(240, noise=0.2).split(), recipe=Recipe(Adam(), 4, 40), options={"hidden": 8})
    grid = Grid().propose(Space.of(space), ())
    losses = validation_losses(problem, grid)
    shapes = {problem.members(each)[0].shape for each in grid}
    best = min(range(len(grid)), key=lambda place: losses[place])
    rows = []
    for name, choices in space.items():
        for value in choices:
            there = [loss for each, loss in zip(grid, losses, strict=True) if each[name] == value]
            rows.append((name, value, len(there), min(there), sum(there) / len(there), grid[best][name] == value))
    size = values**5
    return Result(
        f"all {size} combinations of five hyperparameters with {values} values each: validation losses",
        ("hyperparameter", "value", "combinations", "best", "mean", "in the best"),
        rows,
        Claim(f"five hyperparameters with {values} values are {size} combinations",
              len({key(each) for each in grid}) == size),
        Claim("all of them have one shape, so that they train as one stack", len(shapes) == 1),
        Claim("every one of them was trained", all(map(math.isfinite, losses))),
        Claim("the choice matters: the worst has twice the loss of the best", max(losses) > 2 * min(losses)),
    )  # fmt: skip


@experiment("N1.70")
def one_at_a_time(seeds: range = range(6), epochs: int = 10) -> Result:
    r"""Change one hyperparameter at a time where they do not interact, where they do, and in training.

    A bowl $\sum_i (x_i - 3)^2$ over five hyperparameters has no interaction. A valley $10 (a - b)^2 + 8 - a - b$ falls
    along its diagonal only, and no single change goes downhill. Learning rate and momentum interact in the same way:
    the larger the momentum, the smaller the best learning rate.

    Notes: N1.70 (§1.5).

    Args:
        seeds: data sets and initial weights for training.
        epochs: of each training.
    """
    five = Space.of({name: [1, 2, 3, 4] for name in "abcde"})
    two = Space.of({name: [1, 2, 3, 4] for name in "ab"})
    rates = Space.of({"learning_rate": [0.03, 0.1, 0.3, 1.0, 3.0], "momentum": [0.0, 0.9, 0.97]})

    def bowl(values: Values) -> float:
        return float(sum((value - 3) ** 2 for value in values.values()))

    def valley(values: Values) -> float:
        a, b = values["a"], values["b"]
        return float(10 * (a - b) ** 2 + 8 - a - b)

    rows = [_compare("bowl", five, bowl), _compare("valley", two, valley)]
    for seed in seeds:
        split = moons(300, noise=0.2, seed=seed).split(seed=seed)
        recipe = Recipe(MiniBatch(0.1), epochs, 50)
        problem = Problem.make("fnn", split, recipe=recipe, options={"hidden": 16, "activation": "tanh"}, seed=seed)
        grid = Grid().propose(rates, ())
        losses = dict(zip(map(key, grid), validation_losses(problem, grid), strict=True))
        rows.append(_compare(f"rate, momentum {seed}", rates, lambda values, losses=losses: losses[key(values)]))  # type: ignore[misc]
    trained = rows[2:]
    missed = [row[4] > row[3] for row in trained]
    return Result(
        "one hyperparameter at a time against the full grid",
        ("case", "grid runs", "one-at-a-time runs", "grid best", "one-at-a-time best"),
        rows,
        Claim("five names with four values: 1 + 5 * 3 = 16 runs instead of 1024", rows[0][1:3] == (1024, 16)),
        Claim("without interaction it finds the best of the grid", rows[0][3] == rows[0][4] == 0),
        Claim("where two must change together it stays where it began", rows[1][3:] == (0.0, 6.0)),
        Claim.often("it misses the best pair of learning rate and momentum", missed, rate=0.5),
        Claim("it never does better than the grid", all(row[4] >= row[3] for row in rows)),
        plot=Plot("case", ("grid best", "one-at-a-time best"), "bars", y_label="best found"),
    )  # fmt: skip


@experiment("N1.71")
def good_defaults(
    names: Sequence[str] = ("moons", "spirals", "blobs", "iris", "wine"), seeds: range = range(1)
) -> Result:
    """Vary Adam's betas and epsilon in 64 ways, then the learning rate in five, to see which of them needs tuning.

    Losses are means over the seeds.

    Notes: N1.71 (§1.5).

    Args:
        names: data sets.
        seeds: data, splits and initial weights.
    """
    constants = {"beta1": [0.0, 0.5, 0.9, 0.99], "beta2": [0.9, 0.99, 0.999, 0.9999], "eps": [1e-12, 1e-8, 1e-4, 1e-2]}
    rates = {"learning_rate": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]}
    makers: dict[str, Callable[[int], Any]] = {
        "moons": lambda seed: moons(300, noise=0.2, seed=seed),
        "spirals": lambda seed: spirals(300, seed=seed),
        "blobs": lambda seed: blobs(300, seed=seed),
    }
    rows, found = [], []
    for name in names:
        numbers = []
        for seed in seeds:
            data: Any = makers[name](seed) if name in makers else load(name)
            split = data.split(seed=seed)
            problem = Problem.make("fnn", split, recipe=Recipe(Adam(), 20, 32), options={"hidden": 32}, seed=seed)
            grid = Grid().propose(Space.of(constants), ())
            losses = validation_losses(problem, grid)
            default = losses[grid.index({"beta1": 0.9, "beta2": 0.999, "eps": 1e-8})]
            of_rates = validation_losses(problem, Grid().propose(Space.of(rates), ()))
            middle = sorted(losses)[len(losses) // 2]
            numbers.append((default, min(losses), middle, max(losses), min(of_rates), max(of_rates)))
        found += numbers
        rows.append((name, *(sum(column) / len(seeds) for column in zip(*numbers, strict=True))))
    return Result(
        "validation loss of an FNN with 32 hidden units: 64 choices of Adam's constants, and 5 of its learning rate",
        ("data", "defaults", "best of 64", "median of 64", "worst of 64", "best rate", "worst rate"),
        rows,
        Claim.on_average(
            "the loss with the defaults, divided by the median of all choices,",
            [default / middle for default, _, middle, *_ in found],
            most=1.02,
        ),
        Claim.on_average(
            "bad constants harm less than a bad learning rate: the worst loss of 64, divided by that of the rates,",
            [worst / rate for _, _, _, worst, _, rate in found],
            most=0.7,
        ),
        Claim.on_average(
            "good constants help less than a good learning rate: the best loss of rates, divided by that of 64,",
            [rate / best for _, best, _, _, rate, _ in found],
            most=0.5,
        ),
        plot=Plot("data", ("defaults", "best of 64", "median of 64", "worst of 64"), "bars", y_label="validation loss"),
    )


@experiment("N2.24")
def depth_and_width(
    seeds: range = range(3), depths: tuple[int, ...] = (2, 3, 4), widths: tuple[int, ...] = (2, 4, 8, 16, 32)
) -> Result:
    """Choose the depth and width of a network for two spirals: train all and compare them on validation data.

    Notes: N2.24 (§2.1).

    Args:
        seeds: data sets and initial weights.
        depths: numbers of layers after the input.
        widths: units of each hidden layer.
    """
    grid = Grid().propose(Space.of({"depth": list(depths), "width": list(widths)}), ())
    found = []
    for seed in seeds:
        split = spirals(400, seed=seed).split(seed=seed)
        problem = Problem.make("fnn", split, recipe=Recipe(Adam(1e-2), 30, 50), options={"hidden": 32}, seed=seed)
        found.append(validation_losses(problem, grid))
    means = [sum(column) / len(seeds) for column in zip(*found, strict=True)]
    table = {(each["depth"], each["width"]): loss for each, loss in zip(grid, means, strict=True)}
    rows = [(depth, *(table[depth, width] for width in widths)) for depth in depths]
    chosen = [grid[min(range(len(grid)), key=lambda place: losses[place])] for losses in found]
    by = {(each["depth"], each["width"]): losses for each, losses in zip(grid, zip(*found, strict=True), strict=True)}

    def less(large: tuple[int, int], small: tuple[int, int]) -> list[float]:
        return differences(by[large], by[small])

    return Result(
        f"mean validation loss on two spirals over depth and width, {len(seeds)} seeds",
        ("depth", *(f"width {width}" for width in widths)),
        rows,
        Claim.often(
            "the chosen network is not the smallest",
            [(c["depth"], c["width"]) != (depths[0], widths[0]) for c in chosen],
        ),
        *Claim.averages(
            "at the largest width a layer more helps: the loss with depth {1}, less that with {0},",
            {(a, b): less((b, widths[-1]), (a, widths[-1])) for a, b in pairwise(depths)},
            most=0.0,
        ),
        *Claim.averages(
            "at the largest depth four times the width helps: the loss with width {1}, less that with {0},",
            {(a, b): less((depths[-1], b), (depths[-1], a)) for a, b in zip(widths[1:], widths[3:], strict=False)},
            most=0.0,
        ),
        Claim.on_average(
            "depth does not replace width: the loss of the shallow wide network, less that of the deep narrow one,",
            less((depths[0], widths[-1]), (depths[-1], widths[0])),
            most=0.0,
        ),
        plot=Plot("depth", tuple(f"width {width}" for width in widths), log_y=True, y_label="validation loss"),
    )


def validation_losses(problem: Problem, grid: Sequence[Values]) -> list[float]:
    """Train configurations, those of one shape as one, and return the smallest validation loss of each.

    >>> problem = Problem.make("fnn", moons(60), recipe=Recipe(Adam(), 2), options={"hidden": 4})
    >>> losses = validation_losses(problem, [{"learning_rate": rate} for rate in (1e-6, 1e-2)])
    >>> losses[1] < losses[0]
    True
    """
    members = [problem.members(values)[0] for values in grid]
    losses = [math.inf] * len(grid)
    for places in by_shape(members):
        found = train_population([members[place] for place in places], problem.split, runtime=CPU)
        for place, result in zip(places, found, strict=True):
            if result.state == "finished":
                losses[place] = min(row["validation_loss"] for row in result.rows)
    return losses


def play(sampler: Sampler, space: Space, error: Callable[[Values], float]) -> list[Done]:
    """Let a sampler propose configurations of known error until it has enough.

    >>> len(play(OneAtATime(), Space.of({"a": [1, 2, 3], "b": [1, 2, 3]}), lambda values: values["a"] * values["b"]))
    5
    """
    done: list[Done] = []
    while proposed := sampler.propose(space, done):
        done += [Done(values, error(values)) for values in proposed]
    return done


def _compare(name: str, space: Space, error: Callable[[Values], float]) -> tuple[str, int, int, float, float]:
    grid, single = play(Grid(), space, error), play(OneAtATime(), space, error)
    return name, len(grid), len(single), min(each.error for each in grid), min(each.error for each in single)
