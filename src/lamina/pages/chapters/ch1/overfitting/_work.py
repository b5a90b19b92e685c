"""The work of the page on overfitting: a noisy sine, and a network that learns it by heart.

What trains is imported where it is used, so that a page that only wants to name its work opens quickly.
"""

from collections.abc import Iterator
from typing import Any

import torch

from lamina._types import Tensor
from lamina.data.synthetic import curve
from lamina.functional.random import as_generator
from lamina.pages.chapters.ch1._shared import F64


def noisy_sine(points: Tensor, noise: float, seed: int) -> Tensor:
    """Give the values of one period of a sine at some points, with normal errors of a standard deviation.

    >>> noisy_sine(torch.tensor([0.0, 0.25], dtype=F64), 0.0, 0).tolist()
    [0.0, 1.0]
    """
    errors = torch.randn(points.shape, generator=as_generator(seed), dtype=points.dtype)
    return torch.sin(2 * torch.pi * points) + noise * errors


def overfit(points: int, width: int, steps: int, seed: int, check_every: int = 10) -> Iterator[dict[str, Any]]:
    """Train a network with many weights on few points of a noisy sine and look at it every few steps.

    Yields:
        The step, the loss on training and on 300 unseen points, and the curve that the network draws.

    >>> row = next(overfit(10, 4, 10, 0))
    >>> row["step"], sorted(row), len(row["curve"])
    (10, ['curve', 'step', 'training', 'validation'], 121)
    """
    from lamina.architectures.fnn import FNN, FNNConfig
    from lamina.data.preprocess import Preprocess
    from lamina.experiments.trained import EAGER, parts
    from lamina.pages.kit._races import checked
    from lamina.training.recipe import Adam, Recipe
    from lamina.training.train import train

    network = FNN(FNNConfig(1, 1, hidden=(width, width), activation="tanh"), seed=seed)
    split = parts(curve(points, seed=2 * seed), curve(300, seed=2 * seed + 1))
    recipe = Recipe(Adam(1e-2), steps // check_every * check_every, batch_size=points, check_every=check_every)
    prepare = Preprocess.fit(split.train)
    places = prepare.apply(torch.linspace(0, 1, 121, dtype=F64)[:, None])
    for event in train(network, split, recipe, runtime=EAGER):
        row = checked(event)
        with torch.no_grad():
            drawn = prepare.untargets(network(places))[:, 0]
        yield {"step": row["step"], "training": row["loss"], "validation": row["validation_loss"],
               "curve": drawn.tolist()}  # fmt: skip
