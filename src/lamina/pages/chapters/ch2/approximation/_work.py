"""The work of the page on universal approximation: one architecture learns a curve from several starting points."""

from collections.abc import Iterator
from typing import Any

import torch

from lamina.architectures.build import build
from lamina.data.dataset import ArrayDataset, Spec
from lamina.data.preprocess import Preprocess
from lamina.experiments.depth import wave
from lamina.experiments.trained import parts
from lamina.pages.kit._races import paced, race
from lamina.training.recipe import Adam, Recipe


def learn_wave(
    width: int, layers: int, activation: str, seeds: int = 4, steps: int = 1500, points: int = 200
) -> Iterator[dict[str, Any]]:
    """Train networks from several starting points on a wave, with all points in every step.

    >>> row = list(learn_wave(4, 1, "tanh", seeds=2, steps=3, points=20))[-1]
    >>> row["step"], len(row["curves"]), len(row["curves"][0])
    (3, 2, 121)
    """
    u = torch.linspace(0, 1, points)[:, None]
    data = ArrayDataset(u, wave(u)[:, 0], Spec("vector", "regression", (1,), 1, source="wave"))
    recipe = Recipe(Adam(0.01), epochs=steps, batch_size=points, check_every=5)
    networks = {
        f"start {seed}": build("fnn", inputs=1, outputs=1, hidden=(width,) * layers, activation=activation, seed=seed)
        for seed in range(seeds)
    }
    prepare, grid = Preprocess.fit(data), torch.linspace(0, 1, 121)[:, None]
    losses: list[list[float]] = [[] for _ in networks]
    marks: list[int] = []
    for row, due in paced(race(networks, parts(data), recipe), 0.1):
        if not due and row["epoch"] < steps:
            continue
        marks.append(row["epoch"])
        for own, name in zip(losses, networks, strict=True):
            own.append(row[name]["loss"])
        with torch.no_grad():
            curves = [prepare.untargets(net(prepare.apply(grid)))[:, 0].tolist() for net in networks.values()]
        yield {"step": marks[-1], "steps": marks[-200:], "losses": [own[-200:] for own in losses], "curves": curves}
