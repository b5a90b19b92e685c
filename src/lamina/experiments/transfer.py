"""Transfer learning (§4.3 of the notes): what it saves, and that it works for every architecture."""

import os
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from lamina.architectures.adapt import adapt, changed_tensors
from lamina.architectures.build import build
from lamina.data.dataset import ArrayDataset, Subset
from lamina.data.load import load
from lamina.data.splits import Split
from lamina.experiments.result import Claim, Plot, Result, experiment
from lamina.experiments.trained import parts, train
from lamina.functional.random import as_generator
from lamina.training.recipe import Adam, Recipe


def classes_of(name: str, labels: range, count: int, seed: int) -> Split:
    """Take `count` pictures of some classes to train with, and up to 500 others for validation.

    >>> split = classes_of("digits", range(6, 10), 200, seed=0)
    >>> len(split.train), len(split.validation), split.train.spec.classes
    (200, 500, ('6', '7', '8', '9'))
    """
    data = load(name)
    assert isinstance(data, ArrayDataset)
    order = torch.randperm(len(data), generator=as_generator(seed))
    order = order[torch.isin(data.targets[order], torch.tensor(labels))][: count + 500]
    spec = replace(data.spec, outputs=len(labels), classes=tuple(data.spec.classes[label] for label in labels))
    chosen = ArrayDataset(data.inputs[order], data.targets[order] - labels[0], spec)
    first, second = torch.arange(len(chosen)).tensor_split([count])
    return parts(Subset(chosen, first), Subset(chosen, second))


@experiment("N4.40")
def transfer_steps(
    seeds: range = range(3), level: float = 0.8, epochs: tuple[int, int] = (25, 25), real: bool | None = None
) -> Result:
    r"""Learn some classes with LeNet-5 from few pictures, from scratch and from a network that knows other classes.

    The embedded digits 0 to 5 from 800 pictures first, then 6 to 9 from 200; the last layer is new, everything is
    trained. With LAMINA_DATA set and `real`, all of MNIST's classes from 6000 pictures and then clothes
    (Fashion-MNIST) from 600. Steps are counted until `level` is reached on 500 other pictures, looked at once an epoch.

    Notes: N4.40 (§4.3).

    Args:
        seeds: pictures and initial weights.
        level: the accuracy that counts as learned.
        epochs: passes through the first and at most through the second set.
        real: whether to use MNIST and Fashion-MNIST; None decides by LAMINA_DATA.
    """
    real = bool(os.environ.get("LAMINA_DATA")) if real is None else real
    first, second = (("mnist", range(10), 6000), ("fashion-mnist", range(10), 600)) if real else (
        ("digits", range(6), 800), ("digits", range(6, 10), 200))  # fmt: skip
    rows = []
    for seed in seeds:
        before, after = (classes_of(*what, seed) for what in (first, second))
        options: dict[str, Any] = {"inputs": before.train.spec.inputs, "activation": "sigmoid"}
        known = build("lenet5", outputs=len(first[1]), seed=seed, **options)
        train(known, before, Recipe(Adam(3e-3), epochs=epochs[0], batch_size=64, seed=seed))
        moved = adapt(known, classes=len(second[1]), seed=seed)
        fresh = build("lenet5", outputs=len(second[1]), seed=seed + 1000, **options)
        recipe = Recipe(Adam(3e-3), epochs=epochs[1], batch_size=second[2] // 12, seed=seed)
        steps = [_steps(network, after, recipe, level) for network in (moved, fresh)]
        rows.append((seed, *steps, steps[0] / steps[1]))
    return Result(
        f"steps to {level:.0%} with {second[2]} pictures of {second[0]}, after {first[2]} of {first[0]}",
        ("seed", "transfer", "from scratch", "share"),
        rows,
        Claim.often("transfer takes fewer steps", [row[1] < row[2] for row in rows]),
        Claim.on_average(
            "the number of steps with transfer, divided by that from scratch,", [row[3] for row in rows], most=0.75
        ),
        plot=Plot("seed", ("transfer", "from scratch"), "bars", y_label="steps"),
    )


def _steps(network: nn.Module, split: Split, recipe: Recipe, level: float) -> int:
    """Return after how many steps the accuracy on the validation part was first at `level`."""
    rows = train(network, split, recipe, watch=True).rows
    return next((int(row["step"]) for row in rows if row["validation_accuracy"] >= level), int(rows[-1]["step"]) + 1)


NETWORKS: dict[str, dict[str, Any]] = {
    "fnn": {"inputs": 64, "hidden": (32, 32)},
    "lenet5": {"inputs": (1, 28, 28)},
    "dense-resnet": {"inputs": 64, "hidden": (32, 32)},
    "cifar-resnet": {"inputs": (3, 32, 32), "depth": 8},
    "resnet18": {},
}
"""Architectures that are adapted to other labels, with their options."""


@experiment("N4.41")
def any_architecture(classes: int = 4) -> Result:
    r"""Adapt different architectures with 10 labels to other labels with one function, and see what it changes.

    Notes: N4.41 (§4.3).

    Args:
        classes: the new number of labels.
    """
    rows: list[tuple[Any, ...]] = []
    for name, options in NETWORKS.items():
        known = build(name, outputs=10, **options)
        moved = adapt(known, classes=classes, seed=1)
        tensors = known.state_dict()
        changed = changed_tensors(known, moved)
        total = sum(tensor.numel() for tensor in tensors.values())
        new = sum(moved.state_dict()[tensor].numel() for tensor in changed)
        rows.append((name, len(tensors), len(changed), ", ".join(changed), new / total))
    return Result(
        f"networks for 10 labels, adapted to {classes}",
        ("architecture", "tensors", "new", "which", "share of all numbers"),
        rows,
        Claim("only the last layer is new: its weight and its bias", all(row[2] == 2 for row in rows)),
        Claim("almost everything is kept: less than 5 % is new", all(row[4] < 0.05 for row in rows)),
        plot=Plot("architecture", ("share of all numbers",), "bars", log_y=True),
    )  # fmt: skip
