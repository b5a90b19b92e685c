"""The work of the page on choosing a model: grids of hyperparameters.

What trains is imported where it is used, so that a page that only wants to name its work opens quickly.
"""

from collections.abc import Iterator
from typing import Any

from lamina.data.synthetic import moons

RATES = (0.03, 0.1, 0.3, 1.0, 3.0)
"""The step sizes of the grid."""

MOMENTA = (0.0, 0.5, 0.9, 0.97)
"""The momenta of the grid."""


def grid(run: int, epochs: int, seed: int) -> Iterator[dict[str, Any]]:
    """Train networks on two moons for every pair of a step size and a momentum, one row of the grid at a time.

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

    Yields:
        The result so far, with the number of data sets done.
    """
    from lamina.experiments.search import good_defaults

    rows: list[tuple[Any, ...]] = []
    for name in names:
        found = good_defaults(names=(name,))
        rows += found.rows
        yield {"head": found.columns, "rows": list(rows), "done": len(rows), "of": len(names), "run": run}
