"""The work of the page on classification: a feedforward network learns handwritten digits."""

from collections.abc import Iterator
from typing import Any

import torch

from lamina.architectures.build import build
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.experiments.classification import digits
from lamina.experiments.trained import EAGER
from lamina.functional.activations import probabilities
from lamina.functional.metrics import confusion
from lamina.pages.kit._races import paced
from lamina.training.loop import Progress
from lamina.training.recipe import Adam, Recipe
from lamina.training.train import train

SHOWN = 12
"""How many pictures of the validation part are shown with their probabilities."""


def parts(seed: int = 0) -> Split:
    """Give the embedded digits, divided.

    >>> len(parts().validation)
    299
    """
    return digits("digits", seed)[1]


def learn(
    hidden: tuple[int, ...], activation: str, rate: float, batch_size: int, epochs: int = 15, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Train 784-...-10 on the embedded digits, enlarged to 28 x 28; judge it on the validation part.

    >>> row = list(learn((8,), "relu", 1e-3, 64, epochs=1))[-1]
    >>> sum(map(sum, row["confusion"])), len(row["shares"]), round(sum(row["shares"][0]), 6)
    (299, 12, 1.0)
    """
    split = parts(seed)
    network = build("fnn", inputs=784, outputs=10, hidden=hidden, activation=activation, seed=seed)
    prepare = Preprocess.fit(split.train, 784)
    pictures, labels = split.validation.take(torch.arange(len(split.validation)))
    inputs, at, batches = prepare.apply(pictures), Progress(), -(-len(split.train) // batch_size)
    recipe = Recipe(Adam(rate), epochs, batch_size, seed=seed)
    history: list[tuple[float, float, float]] = []
    for event, due in paced(train(network, split, recipe, every=1, runtime=EAGER, at=at), 0.15):
        if not due and event.epoch < epochs:
            continue
        network.eval()
        with torch.no_grad():
            p = probabilities(network(inputs).double())
        network.train()
        guesses = p.argmax(1)
        epoch = event.epoch + event.batch / batches
        history.append((epoch, at.totals()["loss"], (guesses == labels).double().mean().item()))
        wrong = (guesses != labels).nonzero()[:, 0][:SHOWN]
        yield {
            "epoch": epoch,
            "history": history[-200:],
            "confusion": confusion(guesses, labels, 10).tolist(),
            "shares": p[:SHOWN].tolist(),
            "wrong": [(int(i), int(labels[i]), int(guesses[i]), float(p[i, guesses[i]])) for i in wrong],
            "parameters": sum(w.numel() for w in network.parameters()),
        }
