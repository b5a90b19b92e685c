"""The work of the page on vanishing gradients: the same depth with and without skip connections, on two moons."""

from collections.abc import Iterator
from typing import Any

from lamina.architectures.build import build
from lamina.data.synthetic import moons
from lamina.experiments.residual import STARTS
from lamina.experiments.trained import parts
from lamina.pages.kit._races import race
from lamina.training.recipe import Adam, Recipe

WIDTH, POINTS, STEPS = 32, 128, 250


def both(depth: int, start: str, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Train a plain and a residual network of the same depth from the same kind of start.

    >>> row = next(both(4, "sigmoid, Xavier"))
    >>> row["epoch"], sorted(row)
    (5, ['FNN', 'ResNet', 'epoch'])
    """
    split = parts(moons(POINTS, seed=seed), moons(1000, seed=1000 + seed))
    recipe = Recipe(Adam(1e-3), epochs=STEPS, batch_size=POINTS, seed=seed, check_every=5)
    options = {"inputs": 2, "outputs": 2, "seed": seed, **STARTS[start]}
    networks = {
        "FNN": build("fnn", hidden=(WIDTH,) * (depth - 1), **options),
        "ResNet": build("dense-resnet", hidden=(WIDTH,) * depth, **options),
    }
    yield from race(networks, split, recipe)
