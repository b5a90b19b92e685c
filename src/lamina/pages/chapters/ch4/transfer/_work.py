"""The work of the page on transfer learning: one network starts from trained weights, the other from random ones."""

from collections.abc import Iterator
from typing import Any

from torch import nn

from lamina.architectures.adapt import adapt
from lamina.architectures.build import build
from lamina.data.splits import Split
from lamina.experiments.transfer import classes_of
from lamina.pages.chapters.ch4.transfer._own_pictures import read_archive
from lamina.pages.kit._races import race
from lamina.pages.kit._shipped import shipped
from lamina.training.freezing import ALL_BUT_LAST, freeze
from lamina.training.recipe import Adam, Recipe

BEFORE, AFTER, BATCH = 15, 25, 16
"""Epochs of the first and of the second training, and the size of a batch of the second."""


def digits_twice(
    count: int, activation: str = "sigmoid", frozen: bool = False, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Teach LeNet-5 the digits 0 to 5, then 6 to 9 from few pictures, beside a network that starts afresh.

    >>> row = next(digits_twice(64))
    >>> sorted(row), row["first task"]["step"]
    (['epoch', 'first task'], 13)
    """
    before, after = classes_of("digits", range(6), 800, seed), classes_of("digits", range(6, 10), count, seed)
    options: dict[str, Any] = {"inputs": before.train.spec.inputs, "activation": activation}
    known = build("lenet5", outputs=6, seed=seed, **options)
    recipe = Recipe(Adam(3e-3), epochs=BEFORE, batch_size=64, seed=seed)
    yield from race({"first task": known}, before, recipe)
    fresh = build("lenet5", outputs=4, seed=seed + 1000, **options)
    yield from _compare(adapt(known, classes=4, seed=seed), fresh, after, frozen, seed)


def own_pictures(archive: bytes, frozen: bool = False, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Teach the shipped ResNet18 of the digits a visitor's pictures, beside a network that starts afresh."""
    data = read_archive(archive)
    channels, classes = data.spec.inputs[0], data.spec.outputs
    known, record = shipped("resnet18-digits")
    sizes: dict[str, Any] = {"inputs": (channels, *data.spec.inputs[1:]), "outputs": classes}
    width = record.architecture["config"]["width"]
    fresh = build("resnet18", stem="cifar", width=width, seed=seed + 1000, **sizes)
    moved = adapt(known, channels=channels, classes=classes, seed=seed)
    yield from _compare(moved, fresh, data.split(seed=seed), frozen, seed)


def _compare(moved: nn.Module, fresh: nn.Module, split: Split, frozen: bool, seed: int) -> Iterator[dict[str, Any]]:
    recipe = Recipe(Adam(3e-3), epochs=AFTER, batch_size=min(BATCH, len(split.train)), seed=seed)
    networks = {"with transfer": freeze(moved, ALL_BUT_LAST) if frozen else moved, "from scratch": fresh}
    yield from race(networks, split, recipe)
