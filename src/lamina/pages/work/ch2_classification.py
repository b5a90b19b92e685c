"""The work of the page on classification: a feedforward network learns handwritten digits."""

import time
from collections.abc import Iterator
from typing import Any

import torch

from lamina.architectures.build import build
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.experiments.classification import digits
from lamina.experiments.trained import make_step
from lamina.functional.activations import probabilities
from lamina.functional.metrics import confusion
from lamina.training.recipe import Adam, Recipe

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

    Args:
        hidden: the widths of the hidden layers.
        activation: theirs.
        rate: Adam's step size.
        batch_size: pictures in a step.
        epochs: passes through the training part.
        seed: of split and weights.

    >>> row = list(learn((8,), "relu", 1e-3, 64, epochs=1))[-1]
    >>> sum(map(sum, row["confusion"])), len(row["shares"]), round(sum(row["shares"][0]), 6)
    (299, 12, 1.0)
    """
    split = parts(seed)
    network = build("fnn", inputs=784, outputs=10, hidden=hidden, activation=activation, seed=seed)
    step = make_step(network, split, Recipe(Adam(rate), epochs, batch_size, seed=seed))
    prepare = Preprocess.fit(split.train, 784)
    pictures, labels = split.validation.take(torch.arange(len(split.validation)))
    inputs = prepare.apply(pictures)
    history: list[tuple[float, float, float]] = []
    sent = 0.0
    for epoch in range(epochs):
        step.begin(epoch)
        for batch in range(step.batches):
            step()
            last = epoch + 1 == epochs and batch + 1 == step.batches
            if time.monotonic() - sent < 0.15 and not last:
                continue
            network.eval()
            with torch.no_grad():
                p = probabilities(network(inputs).double())
            network.train()
            guesses = p.argmax(1)
            at = epoch + (batch + 1) / step.batches
            history.append((at, step.totals()["loss"], (guesses == labels).double().mean().item()))
            wrong = (guesses != labels).nonzero()[:, 0][:SHOWN]
            yield {
                "epoch": at,
                "history": history[-200:],
                "confusion": confusion(guesses, labels, 10).tolist(),
                "shares": p[:SHOWN].tolist(),
                "wrong": [(int(i), int(labels[i]), int(guesses[i]), float(p[i, guesses[i]])) for i in wrong],
                "parameters": sum(w.numel() for w in network.parameters()),
            }
            sent = time.monotonic()
