"""The work of the page on gradient descent: races and a line search."""

import time
from collections.abc import Iterator
from typing import Any

import torch

from lamina.classical.linear_regression import gradient as linear_gradient
from lamina.classical.linear_regression import squared_error
from lamina.functional.optimizers import OPTIMIZERS, Params, iterates, sample_indices
from lamina.functional.random import as_generator
from lamina.inspection.surfaces import Surface
from lamina.pages.chapters.ch1._shared import F64, regression_data
from lamina.training.line_search import armijo


def line_search_path(surface: Surface, first: float, steps: int) -> tuple[list[list[float]], list[float], list[float]]:
    """Descend by Armijo's line search, each search beginning with twice the last accepted step.

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
