"""The work of the page on residual blocks: stacks of them learn the digits side by side."""

from collections.abc import Iterator
from typing import Any

from lamina.data.load import digits
from lamina.data.preprocess import Preprocess
from lamina.experiments.residual import KINDS, stacked_blocks
from lamina.pages.work.ch4 import race
from lamina.training.fit import make_step
from lamina.training.recipe import Adam, Recipe
from lamina.training.runtime import Runtime

EPOCHS, BATCH, STEPS = 6, 64, 114


def stacks(depth: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Train plain, original and pre-activation blocks of dense layers of the same depth on the embedded digits.

    Args:
        depth: the number of layers with weights, an even one.
        seed: of weights and order.

    >>> row = next(stacks(4))
    >>> sorted(row), row["plain"]["step"]
    (['epoch', 'original', 'plain', 'preactivation'], 19)
    """
    split = digits().split()
    recipe = Recipe(Adam(1e-3), epochs=EPOCHS, batch_size=BATCH, seed=seed)
    prepare, runtime = Preprocess.fit(split.train, 64), Runtime(step="eager")
    networks = {kind: stacked_blocks(kind, depth, seed=seed) for kind in KINDS}
    steps = {kind: make_step(network, split, prepare, recipe, runtime) for kind, network in networks.items()}
    yield from race(steps, EPOCHS)
