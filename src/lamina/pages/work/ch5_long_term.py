"""The work of the page on long memories: was or were, many words after cat or cats."""

from collections.abc import Iterator
from typing import Any

import torch

from lamina.architectures.recurrent import ManyToOne, ManyToOneConfig
from lamina.data.sequences import FILLERS, agreement
from lamina.experiments.together import accuracies
from lamina.functional.losses import negative_log_likelihood
from lamina.pages.work.ch5_update import update


def cats(
    cell: str, gap: int, memory_bias: float, seed: int = 0, steps: int = 600, hidden: int = 32
) -> Iterator[dict[str, Any]]:
    """Train a network to choose the verb and say every few updates how often it is right on new sentences.

    Args:
        cell: "rnn", "gru" or "lstm".
        gap: how many words stand between noun and verb.
        memory_bias: how far the memory of a gated cell starts open.
        seed: a starting point.
        steps: the number of updates.
        hidden: the size of the state.

    >>> [row["step"] for row in cats("gru", 2, 3.0, steps=11, hidden=4)]
    [0, 10, 11]
    """
    bias = memory_bias if cell != "rnn" else None
    config = ManyToOneConfig(
        3 + len(FILLERS), 2, hidden=hidden, cell=cell, embedding="one-hot", memory_bias=bias, output_bias=True
    )
    network = ManyToOne(config, seed=seed)
    optimizer = torch.optim.Adam(network.parameters(), 0.003)
    g = torch.Generator().manual_seed(seed)
    tested = agreement(500, gap, seed=g)
    for step in range(steps + 1):
        batch = agreement(64, gap, seed=g)
        loss = negative_log_likelihood(network(batch.inputs), batch.targets)
        if step % 10 == 0 or step == steps:
            with torch.no_grad():
                right = accuracies(network(tested.inputs)[:, None], tested.targets).item()
            yield {"step": step, "loss": loss.item(), "accuracy": right}
            if right == 1.0 and loss.item() < 0.01:
                return
        update(network, loss, optimizer)
