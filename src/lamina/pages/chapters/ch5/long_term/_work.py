"""The work of the page on long memories: was or were, many words after cat or cats."""

from collections.abc import Iterator
from typing import Any

import torch

from lamina.architectures.recurrent import ManyToOne, ManyToOneConfig
from lamina.data.sequences import FILLERS, agreement
from lamina.experiments.trained import EAGER, parts
from lamina.functional.losses import negative_log_likelihood
from lamina.functional.metrics import accuracy
from lamina.training.recipe import Adam, Clip, Recipe
from lamina.training.train import train


def cats(
    cell: str, gap: int, memory_bias: float, seed: int = 0, steps: int = 600, hidden: int = 32
) -> Iterator[dict[str, Any]]:
    """Train a network to choose the verb and say every few updates how often it is right on new sentences.

    >>> [row["step"] for row in cats("gru", 2, 3.0, steps=11, hidden=4)]
    [0, 10, 11]
    """
    bias = memory_bias if cell != "rnn" else None
    config = ManyToOneConfig(
        3 + len(FILLERS), 2, hidden=hidden, cell=cell, embedding="one-hot", memory_bias=bias, output_bias=True
    )
    network = ManyToOne(config, seed=seed)
    g = torch.Generator().manual_seed(seed)
    tested, sentences = agreement(500, gap, seed=g), agreement(64 * steps, gap, seed=g)

    @torch.no_grad()
    def look(step: int) -> dict[str, Any]:
        outputs = network(tested.inputs)
        loss = negative_log_likelihood(outputs, tested.targets).item()
        return {"step": step, "loss": loss, "accuracy": accuracy(outputs.argmax(1), tested.targets)}

    yield look(0)
    recipe = Recipe(Adam(0.003), epochs=1, batch_size=64, clip=Clip(1.0))
    for event in train(network, parts(sentences), recipe, every=10, runtime=EAGER):
        if event.row is not None and steps % 10 == 0:
            return  # the last update was seen already
        row = look(event.step)
        yield row
        if row["accuracy"] == 1.0 and row["loss"] < 0.01:
            return
