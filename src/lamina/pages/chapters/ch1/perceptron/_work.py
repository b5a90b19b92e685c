"""The work of the page on the perceptron."""

from collections.abc import Iterator
from typing import Any

from lamina.experiments.activations import activation_cost


def costs(numbers: int, run: int) -> Iterator[dict[str, Any]]:
    """Measure what the activations cost on this machine.

    >>> [row[0] for row in next(costs(10, 1))["rows"]]
    ['heaviside', 'relu', 'leaky_relu', 'sigmoid', 'tanh']
    """
    found = activation_cost(numbers=numbers, repeats=9)
    yield {"head": found.columns, "rows": found.rows, "run": run}
