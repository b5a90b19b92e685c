"""The work of the pages of chapter 1: experiments, races, a network that overfits, grids of hyperparameters.

What trains is imported where it is used, so that a page that only wants to name its work opens quickly.
"""

import time
from collections.abc import Iterator
from typing import Any

import torch

from lamina._types import Tensor
from lamina.classical.linear_regression import fit, hessian, squared_error
from lamina.classical.linear_regression import gradient as linear_gradient
from lamina.data.synthetic import curve, linear, moons
from lamina.experiments import registry
from lamina.functional.optimizers import OPTIMIZERS, Params, iterates, sample_indices
from lamina.functional.random import as_generator
from lamina.inspection.surfaces import Surface
from lamina.training.line_search import armijo

F64 = torch.float64
RATES = (0.03, 0.1, 0.3, 1.0, 3.0)
"""Step sizes of the grid."""
MOMENTA = (0.0, 0.5, 0.9, 0.97)
"""Momenta of the grid."""


def experiment(key: str, run: int, **options: Any) -> Iterator[dict[str, Any]]:
    """Run the experiment of a row of the catalogue.

    Args:
        key: the row, such as "N1.38".
        run: which measurement it is; another number measures again.
        options: those of the experiment.

    >>> row = next(experiment("N1.66", 1))
    >>> row["result"].rows[0]
    (600, 400, 100, 100, True)
    """
    yield {"result": registry()[key](**options), "run": run}


def regression_data(count: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    """Draw points of a noisy line and give its data matrix, with a column of ones, and its targets.

    >>> regression_data(3, 0.0, 0)[0][:, 0].tolist()
    [1.0, 1.0, 1.0]
    """
    data = linear(count, weight=(1.5,), bias=0.5, noise=noise, seed=seed)
    return torch.cat([torch.ones_like(data.inputs), data.inputs], 1), data.targets


def noisy_sine(points: Tensor, noise: float, seed: int) -> Tensor:
    """Give the values of one period of a sine at some points, with normal errors of a standard deviation.

    >>> noisy_sine(torch.tensor([0.0, 0.25], dtype=F64), 0.0, 0).tolist()
    [0.0, 1.0]
    """
    errors = torch.randn(points.shape, generator=as_generator(seed), dtype=points.dtype)
    return torch.sin(2 * torch.pi * points) + noise * errors


def line_surface(inputs: Tensor, targets: Tensor) -> Surface:
    """Give the loss of a line as a surface over offset and slope, with the minimizer where it is lowest.

    Args:
        inputs: the data matrix, whose first column is ones.
        targets: the values.

    >>> surface = line_surface(*regression_data(20, 0.0, 0))
    >>> [round(place, 6) for place in surface.lowest]
    [0.5, 1.5]
    """
    curvature = torch.linalg.eigvalsh(hessian(inputs))[-1].item()
    first, second = fit(inputs, targets).weight.tolist()

    def loss(theta: Tensor) -> Tensor:
        weights = theta.reshape(-1, 2)
        values = torch.vmap(squared_error, (0, None, None))(weights, inputs, targets)
        return values.reshape(theta.shape[:-1])

    return Surface("loss of a line", loss, (-2.0, 2.5), (-2.0, 3.0), (-1.5, -1.5), (first, second), curvature)


def line_search_path(surface: Surface, first: float, steps: int) -> tuple[list[list[float]], list[float], list[float]]:
    """Descend by Armijo's line search, each search beginning with twice the last accepted step.

    Args:
        surface: what is minimized, from its start.
        first: the first trial step.
        steps: how many.

    Returns:
        The points before each step, the accepted step sizes, and the losses at the points.

    >>> from lamina.inspection.surfaces import bowl
    >>> points, sizes, losses = line_search_path(bowl(1.0), 1.0, 2)
    >>> points[1], sizes[0], losses[1]
    ([0.0, 0.0], 1.0, 0.0)
    """
    theta, trial = torch.tensor(surface.start, dtype=F64), first
    points, sizes, losses = [], list[float](), []
    for _ in range(steps):
        x = theta.clone().requires_grad_()
        value = surface.function(x)
        (slope,) = torch.autograd.grad(value, x)
        points.append(theta.tolist())
        losses.append(value.item())
        sizes.append(armijo(lambda: surface.function(theta), [theta], [slope], value.item(), trial))
        trial = 2 * sizes[-1] if sizes[-1] > 0 else trial
    return points, sizes, losses


def race(
    count: int, noise: float, batch_size: int, learning_rate: float, adam_rate: float, steps: int, seed: int,
    pause: float = 0.03,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Let gradient descent, SGD, mini batches and Adam on mini batches fit a line, step by step.

    Args:
        count: how many points.
        noise: the standard deviation of their errors.
        batch_size: of mini batches and of Adam.
        learning_rate: of the first three.
        adam_rate: of Adam.
        steps: how many.
        seed: of the data and the draws.
        pause: seconds between two rows, so that one can look.

    Yields:
        The step, and for each method where it stands, its loss over all points, and gradients computed so far.

    >>> first = next(race(8, 0.1, 4, 0.1, 0.1, 5, 0, pause=0))
    >>> first["step"], first["points"]["SGD"], first["gradients"]["mini batch"]
    (0, [-1.5, -1.5], 0)
    """
    inputs, targets = regression_data(count, noise, seed)
    ways = {"gradient descent": ("gd", count, learning_rate), "SGD": ("gd", 1, learning_rate),
            "mini batch": ("gd", batch_size, learning_rate), "Adam": ("adam", batch_size, adam_rate)}  # fmt: skip

    def path(method: str, size: int, rate: float) -> Iterator[Params]:
        draws, optimizer = as_generator(seed + 1), OPTIMIZERS[method]

        def gradient(theta: Params) -> Params:
            j = sample_indices(count, size, draws)
            return {"W": linear_gradient(theta["W"], inputs[j], targets[j])}

        return iterates(gradient, {"W": torch.full((2,), -1.5, dtype=F64)}, optimizer, optimizer.hyper(rate))

    paths = {name: path(*way) for name, way in ways.items()}
    for step in range(steps + 1):
        theta = {name: next(each) for name, each in paths.items()}
        yield {
            "step": step,
            "points": {name: params["W"].tolist() for name, params in theta.items()},
            "losses": {name: squared_error(params["W"], inputs, targets).item() for name, params in theta.items()},
            "gradients": {name: step * way[1] for name, way in ways.items()},
        }
        time.sleep(pause)


def overfit(points: int, width: int, steps: int, seed: int, check_every: int = 10) -> Iterator[dict[str, Any]]:
    """Train a network with many weights on few points of a noisy sine and look at it every few steps.

    Args:
        points: how many training points.
        width: units of each of two hidden layers.
        steps: updates.
        seed: of points and first weights.
        check_every: updates between two rows.

    Yields:
        The step, the loss on training and on 300 unseen points, and the curve that the network draws.

    >>> row = next(overfit(10, 4, 10, 0))
    >>> row["step"], sorted(row), len(row["curve"])
    (10, ['curve', 'step', 'training', 'validation'], 121)
    """
    from lamina.architectures.fnn import FNN, FNNConfig
    from lamina.data.preprocess import Preprocess
    from lamina.experiments.trained import EAGER, parts
    from lamina.pages.kit.races import checked
    from lamina.training.recipe import Adam, Recipe
    from lamina.training.train import train

    network = FNN(FNNConfig(1, 1, hidden=(width, width), activation="tanh"), seed=seed)
    split = parts(curve(points, seed=2 * seed), curve(300, seed=2 * seed + 1))
    recipe = Recipe(Adam(1e-2), steps // check_every * check_every, batch_size=points, check_every=check_every)
    prepare = Preprocess.fit(split.train)
    places = prepare.apply(torch.linspace(0, 1, 121, dtype=F64)[:, None])
    for event in train(network, split, recipe, runtime=EAGER):
        row = checked(event)
        with torch.no_grad():
            drawn = prepare.untargets(network(places))[:, 0]
        yield {"step": row["step"], "training": row["loss"], "validation": row["validation_loss"],
               "curve": drawn.tolist()}  # fmt: skip


def grid(run: int, epochs: int, seed: int) -> Iterator[dict[str, Any]]:
    """Train networks on two moons for every pair of a step size and a momentum, one row of the grid at a time.

    Args:
        run: which search it is.
        epochs: of each training.
        seed: of the data.

    Yields:
        The momentum of the row, and the smallest validation loss for each step size, None where training diverged.

    >>> row = next(grid(1, 1, 0))
    >>> row["momentum"], len(row["losses"])
    (0.0, 5)
    """
    from lamina.experiments.search import validation_losses
    from lamina.studies.problem import Problem
    from lamina.studies.samplers import Grid
    from lamina.studies.space import Space
    from lamina.training.recipe import MiniBatch, Recipe

    split = moons(300, noise=0.2, seed=seed).split(seed=seed)
    problem = Problem.make("fnn", split, recipe=Recipe(MiniBatch(0.1), epochs, 50),
                           options={"hidden": 16, "activation": "tanh"}, seed=seed)  # fmt: skip
    for momentum in MOMENTA:
        row = Grid().propose(Space.of({"momentum": [momentum], "learning_rate": list(RATES)}), ())
        losses = validation_losses(problem, row)
        yield {"momentum": momentum, "losses": [loss if loss < float("inf") else None for loss in losses], "run": run}


def defaults(run: int, names: tuple[str, ...] = ("moons", "spirals", "blobs", "iris", "wine")) -> Iterator[Any]:
    """Try 64 choices of Adam's constants and five of its step size, one data set after the other.

    Args:
        run: which measurement it is.
        names: the data sets.

    Yields:
        The result so far, with the number of data sets done.
    """
    from lamina.experiments.search import good_defaults

    rows: list[tuple[Any, ...]] = []
    for name in names:
        found = good_defaults(names=(name,))
        rows += found.rows
        yield {"head": found.columns, "rows": list(rows), "done": len(rows), "of": len(names), "run": run}
