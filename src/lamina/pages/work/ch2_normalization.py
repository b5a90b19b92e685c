"""The work of the page on batch normalization: one deep network learns with and one without it."""

import time
from collections.abc import Iterator
from typing import Any

from lamina.architectures.build import build
from lamina.data.synthetic import moons
from lamina.experiments.trained import make_step
from lamina.training.recipe import Adam, MiniBatch, Recipe


def with_and_without(
    std: float, depth: int, width: int, rate: float, adam: bool, epochs: int = 60, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Train a deep ReLU network from Gaussian weights twice, side by side: plain and with batch normalization.

    A run whose loss is no longer finite stops; the row says at which step.

    Args:
        std: the standard deviation of the first weights.
        depth: the number of layers.
        width: units of each hidden layer.
        rate: the learning rate.
        adam: Adam, or plain mini batches.
        epochs: passes through the training part.
        seed: of data and weights.

    >>> row = list(with_and_without(0.1, 3, 8, 0.1, False, epochs=2))[-1]
    >>> row["epoch"], row["bad"], len(row["loss"][0])
    (2, [None, None], 2)
    """
    split = moons(300, seed=seed).split(seed=seed)
    recipe = Recipe(Adam(rate) if adam else MiniBatch(rate), epochs, batch_size=50, seed=seed)
    runs = [
        make_step(
            build("fnn", inputs=2, outputs=2, hidden=(width,) * (depth - 1), initialization="gaussian", scale=std,
                  batch_norm=normalized, seed=seed),
            split,
            recipe,
        )
        for normalized in (False, True)
    ]  # fmt: skip
    losses: list[list[float]] = [[], []]
    scores: list[list[float]] = [[], []]
    bad: list[int | None] = [None, None]
    sent = 0.0
    for epoch in range(epochs):
        for place, step in enumerate(runs):
            if bad[place] is not None:
                continue
            step.begin(epoch)
            for _ in range(step.batches):
                step()
            bad[place] = step.first_bad_step()
            if bad[place] is None:
                losses[place].append(step.totals()["loss"])
                scores[place].append(step.evaluate()["validation_accuracy"])
        if time.monotonic() - sent >= 0.1 or epoch + 1 == epochs:
            yield {
                "epoch": epoch + 1,
                "loss": [list(x) for x in losses],
                "score": [list(x) for x in scores],
                "bad": bad,
            }
            sent = time.monotonic()
