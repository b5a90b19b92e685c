"""The work of the page on translation: a dozen sentences learned by heart, with what the network says meanwhile."""

from collections.abc import Iterator
from typing import Any

import torch

from lamina.data.text.vocabulary import END, START
from lamina.experiments.together import cross_entropies
from lamina.experiments.trained import EAGER, parts
from lamina.experiments.translation_toy import PAIRS, toy_batch, toy_set, translator
from lamina.training.recipe import Adam, Clip, Recipe
from lamina.training.train import train

LONGEST = 12
"""Words of an answer at most."""


def by_heart(network: str, seed: int = 0, steps: int = 300, hidden: int = 48) -> Iterator[dict[str, Any]]:
    """Learn the twelve pairs of sentences and translate all of them every few updates.

    >>> rows = list(by_heart("gru", steps=11, hidden=8))
    >>> [row["step"] for row in rows], len(rows[0]["said"])
    ([0, 10, 11], 12)
    """
    data, prepare = toy_set()
    source, heard, asked = toy_batch(data, prepare)
    model = translator(network, prepare, hidden, seed)

    @torch.no_grad()
    def look(step: int) -> dict[str, Any]:
        loss = cross_entropies(model(source, heard)[:, None], asked).item()
        written = model.generate(source, START, END, LONGEST)
        ends = ["" if (row == END).any() else " …" for row in written]
        said = [text + end for text, end in zip(prepare.write(written), ends, strict=True)]
        right = sum(said_row == b for said_row, (_, b) in zip(said, PAIRS, strict=True))
        return {"step": step, "loss": loss, "said": said, "right": right}

    yield look(0)
    recipe = Recipe(Adam(0.01), epochs=steps, batch_size=len(PAIRS), clip=Clip(1.0), check_every=10)
    for event in train(model, parts(data), recipe, runtime=EAGER):
        yield look(event.step)
