"""The work of the page on AlexNet: dense layers that learn few pictures by heart, with and without dropout."""

from collections.abc import Iterator
from typing import Any

import torch

from lamina.architectures.build import build
from lamina.data.preprocess import Preprocess
from lamina.experiments.dropout import few_digits
from lamina.experiments.trained import parts
from lamina.functional.metrics import accuracy
from lamina.pages.kit._races import race
from lamina.training.recipe import Adam, Recipe

COUNT, WIDTH, BATCH = 200, 256, 50
"""Digits to train with, units of each of two hidden layers, digits in a batch."""


def dropout_race(rate: float, wrong: float, seed: int, epochs: int = 60) -> Iterator[dict[str, Any]]:
    """Train the same dense network without and with dropout, on the same few digits, some of them mislabeled.

    >>> row = next(dropout_race(0.5, 0.2, 0, epochs=1))
    >>> sorted(row)
    ['epoch', 'epochs', 'seen', 'unseen']
    """
    seen, other = few_digits(COUNT, wrong, seed)
    networks = {
        f"dropout {p}": build("fnn", inputs=64, outputs=10, hidden=(WIDTH, WIDTH), dropout=p, seed=seed)
        for p in (0.0, rate)
    }
    inputs, labels = Preprocess.fit(seen, 64).apply(seen.inputs), seen.targets
    for row in race(networks, parts(seen, other), Recipe(Adam(1e-3), epochs, BATCH, seed=seed)):
        with torch.no_grad():
            guesses = [network.eval()(inputs).argmax(1) for network in networks.values()]
        yield {
            "epoch": row["epoch"],
            "epochs": epochs,
            "seen": [accuracy(guess, labels) for guess in guesses],
            "unseen": [row[name]["validation_accuracy"] for name in networks],
        }
