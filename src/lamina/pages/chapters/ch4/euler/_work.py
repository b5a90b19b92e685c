"""The work of the page on networks as flows: two-dimensional states that learn to pull two moons apart."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from lamina._errors import choice
from lamina._types import Float, Tensor
from lamina.architectures.build import build
from lamina.architectures.dense_resnet import DenseResNet
from lamina.architectures.ode import NeuralODE
from lamina.data.preprocess import Preprocess
from lamina.data.synthetic import moons
from lamina.experiments.trained import EAGER, parts
from lamina.functional.ode import trajectory
from lamina.training.loop import Progress
from lamina.training.recipe import Adam, Recipe
from lamina.training.train import train

DURATION, EPOCHS, POINTS, SHOWN = 4.0, 300, 200, 60
KINDS = ("ResNet, equal steps", "ResNet, learned steps", "neural ODE, Euler", "neural ODE, Runge-Kutta")
"""Networks whose state has two numbers, so that it can be drawn."""


def network(kind: str, depth: int, seed: int = 0) -> nn.Module:
    """Make a network of one kind for points in the plane with two labels.

    >>> network("ResNet, learned steps", 4).step_sizes.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    choice("kind", kind, KINDS)
    options: dict[str, Any] = {"inputs": 2, "outputs": 2, "activation": "tanh", "seed": seed}
    tau = DURATION / depth
    if kind == KINDS[0]:
        return build("dense-resnet", hidden=(2,) * depth, step_size=tau, **options)
    if kind == KINDS[1]:
        return build("dense-resnet", hidden=(2,) * depth, step_size="learned", initial_step_size=tau, **options)
    method = "euler" if kind == KINDS[2] else "rk4"
    return build("neural-ode", steps=depth, method=method, knots=4, duration=DURATION, **options)


@torch.no_grad()
def paths(model: nn.Module, inputs: Float[Tensor, "batch 2"]) -> Float[Tensor, "time batch 2"]:
    """Return the states of all layers, the input first.

    >>> paths(network("neural ODE, Euler", 3), torch.zeros(5, 2)).shape
    torch.Size([4, 5, 2])
    """
    if isinstance(model, DenseResNet):
        return torch.stack(model.features(inputs))
    assert isinstance(model, NeuralODE)
    start, config = model.initial_state(inputs), model.config
    return trajectory(model.right_hand_side, start, config.steps, 0.0, config.duration, config.method)


def flow(kind: str, depth: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Train on two moons and show where the points go.

    >>> row = next(flow("ResNet, learned steps", 3))
    >>> len(row["steps"]), len(row["paths"]), len(row["paths"][0])
    (3, 60, 4)
    """
    points = moons(POINTS, seed=seed)
    model = network(kind, depth, seed)
    recipe = Recipe(Adam(0.02), epochs=EPOCHS, batch_size=POINTS, seed=seed, check_every=5)
    split, at = parts(points, moons(500, seed=1 + seed)), Progress()
    inputs, labels = Preprocess.fit(points).apply(points.inputs[:SHOWN]), points.targets[:SHOWN].tolist()
    losses: list[tuple[int, float]] = []
    for event in train(model, split, recipe, every=1, runtime=EAGER, at=at):
        if event.row is None:
            losses.append((event.step, at.totals()["loss"]))
            continue
        yield {
            "step": event.step,
            "losses": losses,
            "accuracy": event.row["validation_accuracy"],
            "steps": model.step_sizes.tolist() if isinstance(model, DenseResNet) else [DURATION / depth] * depth,
            "paths": paths(model, inputs).transpose(0, 1).round(decimals=3).tolist(),
            "labels": labels,
        }
