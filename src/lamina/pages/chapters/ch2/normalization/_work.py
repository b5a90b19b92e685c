"""The work of the page on batch normalization: one deep network learns with and one without it."""

from collections.abc import Iterator
from typing import Any

from lamina.architectures.build import build
from lamina.data.synthetic import moons
from lamina.pages.kit._races import paced, race
from lamina.training.recipe import Adam, MiniBatch, Recipe


def with_and_without(
    std: float, depth: int, width: int, rate: float, adam: bool, epochs: int = 60, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Train a deep ReLU network from Gaussian weights twice, side by side: plain and with batch normalization.

    A run whose loss is no longer finite stops; the row says at which step.

    >>> row = list(with_and_without(0.1, 3, 8, 0.1, False, epochs=2))[-1]
    >>> row["epoch"], row["bad"], len(row["loss"][0])
    (2, [None, None], 2)
    """
    split = moons(300, seed=seed).split(seed=seed)
    recipe = Recipe(Adam(rate) if adam else MiniBatch(rate), epochs, batch_size=50, seed=seed)
    networks = {
        name: build("fnn", inputs=2, outputs=2, hidden=(width,) * (depth - 1), initialization="gaussian", scale=std,
                    batch_norm=name == "normalized", seed=seed)
        for name in ("plain", "normalized")
    }  # fmt: skip
    losses: list[list[float]] = [[], []]
    scores: list[list[float]] = [[], []]
    for row, due in paced(race(networks, split, recipe), 0.1):
        runs = [row[name] for name in networks]
        bad = [run.get("bad_step") for run in runs]
        for place, run in enumerate(runs):
            if bad[place] is None:
                losses[place].append(run["loss"])
                scores[place].append(run["validation_accuracy"])
        if due or row["epoch"] == epochs or None not in bad:
            yield {"epoch": row["epoch"], "loss": [list(x) for x in losses], "score": [list(x) for x in scores],
                   "bad": bad}  # fmt: skip
