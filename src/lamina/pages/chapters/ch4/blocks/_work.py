"""The work of the page on residual blocks: stacks of them learn the digits side by side."""

from collections.abc import Iterator
from typing import Any

from torch import nn

from lamina.data.load import digits
from lamina.experiments.residual import KINDS, stacked_blocks
from lamina.pages.kit._races import race
from lamina.training.recipe import Adam, Recipe

EPOCHS, BATCH, STEPS = 6, 64, 114


def stacks(depth: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Train plain, original and pre-activation blocks of dense layers of the same depth on the embedded digits.

    >>> row = next(stacks(4))
    >>> sorted(row), row["plain"]["step"]
    (['epoch', 'original', 'plain', 'preactivation'], 19)
    """
    split = digits().split()
    recipe = Recipe(Adam(1e-3), epochs=EPOCHS, batch_size=BATCH, seed=seed)
    networks = {kind: nn.Sequential(nn.Flatten(), stacked_blocks(kind, depth, seed=seed)) for kind in KINDS}
    yield from race(networks, split, recipe)
