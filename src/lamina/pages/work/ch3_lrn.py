"""The work of the page on AlexNet: dense layers that learn few pictures by heart, with and without dropout."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from lamina._types import Tensor
from lamina.architectures.build import build
from lamina.data.dataset import ArrayDataset
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.functional.losses import negative_log_likelihood
from lamina.functional.random import as_generator

COUNT, WIDTH, BATCH = 200, 256, 50
"""Digits to train with, units of each of two hidden layers, digits in a batch."""


def dropout_race(rate: float, wrong: float, seed: int, epochs: int = 60) -> Iterator[dict[str, Any]]:
    """Train the same dense network without and with dropout, on the same few digits, some of them mislabeled.

    Args:
        rate: with what probability a hidden unit is dropped.
        wrong: the share of training labels that are replaced by random ones.
        seed: of pictures, labels and weights.
        epochs: passes through the training part.

    >>> row = next(dropout_race(0.5, 0.2, 0, epochs=1))
    >>> sorted(row)
    ['epoch', 'epochs', 'seen', 'unseen']
    """
    torch.set_num_threads(1)
    (u, s), (other, labels) = _digits(wrong, as_generator(seed))
    networks = [build("fnn", inputs=64, outputs=10, hidden=(WIDTH, WIDTH), dropout=p, seed=seed) for p in (0.0, rate)]
    optimizers = [torch.optim.Adam(network.parameters(), lr=1e-3) for network in networks]
    orders = as_generator(seed + 1)
    for epoch in range(1, epochs + 1):
        order = torch.randperm(len(u), generator=orders)
        for network, optimizer in zip(networks, optimizers, strict=True):
            for part in order.split(BATCH):
                optimizer.zero_grad()
                negative_log_likelihood(network.train()(u[part]), s[part]).backward()
                optimizer.step()
        seen, unseen = ([_share(net, *data) for net in networks] for data in ((u, s), (other, labels)))
        yield {"epoch": epoch, "epochs": epochs, "seen": seen, "unseen": unseen}


def _digits(wrong: float, generator: torch.Generator) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Split the embedded digits into few to train with and all others, prepared, and spoil some labels of the few."""
    full = load("digits")
    assert isinstance(full, ArrayDataset)
    order = torch.randperm(len(full), generator=generator)
    few, rest = order[:COUNT], order[COUNT:]
    prepare = Preprocess.fit(ArrayDataset(full.inputs[few], full.targets[few], full.spec), 64)
    labels = full.targets[few].clone()
    spoiled = torch.rand(COUNT, generator=generator) < wrong
    labels[spoiled] = torch.randint(10, (int(spoiled.sum()),), generator=generator)
    return (prepare.apply(full.inputs[few]), labels), (prepare.apply(full.inputs[rest]), full.targets[rest])


@torch.no_grad()
def _share(network: nn.Module, inputs: Tensor, labels: Tensor) -> float:
    """Return the share of right answers."""
    return float((network.eval()(inputs).argmax(1) == labels).float().mean())
