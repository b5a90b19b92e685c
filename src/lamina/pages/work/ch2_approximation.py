"""The work of the page on universal approximation: one architecture learns a curve from several starting points."""

import time
from collections.abc import Iterator
from typing import Any

import torch

from lamina.architectures.build import build
from lamina.data.dataset import ArrayDataset, Spec
from lamina.data.preprocess import Preprocess
from lamina.experiments.depth import wave
from lamina.experiments.trained import make_step, parts
from lamina.training.recipe import Adam, Recipe


def learn_wave(
    width: int, layers: int, activation: str, seeds: int = 4, steps: int = 1500, points: int = 200
) -> Iterator[dict[str, Any]]:
    """Train networks from several starting points on a wave, with all points in every step.

    Args:
        width: units of each hidden layer.
        layers: how many hidden layers.
        activation: of the hidden units.
        seeds: how many starting points.
        steps: updates of Adam.
        points: of the wave.

    >>> row = list(learn_wave(4, 1, "tanh", seeds=2, steps=3, points=20))[-1]
    >>> row["step"], len(row["curves"]), len(row["curves"][0])
    (3, 2, 121)
    """
    u = torch.linspace(0, 1, points)[:, None]
    data = ArrayDataset(u, wave(u)[:, 0], Spec("vector", "regression", (1,), 1, source="wave"))
    recipe = Recipe(Adam(0.01), epochs=steps, batch_size=points)
    networks = [
        build("fnn", inputs=1, outputs=1, hidden=(width,) * layers, activation=activation, seed=seed)
        for seed in range(seeds)
    ]
    updates = [make_step(network, parts(data), recipe) for network in networks]
    prepare, grid = Preprocess.fit(data), torch.linspace(0, 1, 121)[:, None]
    losses: list[list[float]] = [[] for _ in networks]
    marks: list[int] = []
    sent = 0.0
    for step in range(steps):
        for update in updates:
            update.begin(step)
            update()
        if time.monotonic() - sent >= 0.1 or step + 1 == steps:
            marks.append(step + 1)
            for own, update in zip(losses, updates, strict=True):
                own.append(update.totals()["loss"])
            with torch.no_grad():
                curves = [prepare.untargets(network(prepare.apply(grid)))[:, 0].tolist() for network in networks]
            yield {"step": step + 1, "steps": marks[-200:], "losses": [own[-200:] for own in losses], "curves": curves}
            sent = time.monotonic()
