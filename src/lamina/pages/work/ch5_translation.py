"""The work of the page on translation: a dozen sentences learned by heart, with what the network says meanwhile."""

from collections.abc import Iterator
from typing import Any

import torch

from lamina.architectures.seq2seq import EncoderDecoder, EncoderDecoderConfig, teacher_inputs
from lamina.data.text import IGNORE
from lamina.data.vocabulary import END, PAD, START, Vocabulary
from lamina.experiments.together import cross_entropies
from lamina.experiments.translation_toy import PAIRS, VARIANTS
from lamina.pages.work.ch5_update import update

LONGEST = 12
"""Words of an answer at most."""


def by_heart(network: str, seed: int = 0, steps: int = 300, hidden: int = 48) -> Iterator[dict[str, Any]]:
    """Learn the twelve pairs of sentences and translate all of them every few updates.

    Args:
        network: one of `experiments.translation_toy.VARIANTS`.
        seed: a starting point.
        steps: the number of updates.
        hidden: the size of the states.

    >>> rows = list(by_heart("gru", steps=11, hidden=8))
    >>> [row["step"] for row in rows], len(rows[0]["said"])
    ([0, 10, 11], 12)
    """
    english, german = (Vocabulary.fit(texts) for texts in zip(*PAIRS, strict=True))
    everything = torch.arange(len(PAIRS))
    source = english.encode_all((a for a, _ in PAIRS), end=True).padded(everything)
    targets = german.encode_all((b for _, b in PAIRS), end=True).padded(everything)
    asked = torch.where(targets == PAD, IGNORE, targets)
    config = EncoderDecoderConfig(
        len(english),
        len(german),
        hidden=hidden,
        embedding=24,
        padding=PAD,
        **VARIANTS[network],  # type: ignore[arg-type]
    )
    model = EncoderDecoder(config, seed=seed)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for step in range(steps + 1):
        loss = cross_entropies(model(source, teacher_inputs(targets, START))[:, None], asked)[0]
        if step % 10 == 0 or step == steps:
            written = model.generate(source, START, END, LONGEST)
            said = [german.decode(row, display=True) + ("" if (row == END).any() else " …") for row in written]
            right = sum(said_row == b for said_row, (_, b) in zip(said, PAIRS, strict=True))
            yield {"step": step, "loss": loss.item(), "said": said, "right": right}
        update(model, loss, optimizer)
