"""Sequences are more than bags of words: a task in which only the order counts (§5 of the notes)."""

from functools import partial

import torch
from torch import nn

from lamina._types import Tensor
from lamina.architectures.fnn import FNN, FNNConfig
from lamina.architectures.recurrent import ManyToOne, ManyToOneConfig
from lamina.data.sequences import order_only
from lamina.experiments.result import Claim, Plot, Result, experiment
from lamina.experiments.together import Check, Draw, accuracies, cross_entropies, draws, train_members
from lamina.functional.encoding import one_hot

SYMBOLS = 10
"""A, B and eight others."""


@experiment("N5.01")
def order_counts(seeds: range = range(5), length: int = 10, steps: int = 1000, hidden: int = 32) -> Result:
    r"""Ask a feedforward network that counts words, and recurrent ones that read them, whether A comes before B.

    Every test sequence has a partner with A and B exchanged. Both have the same counts and other answers, so that a
    function of the counts is right for exactly one of the two, however it was trained. Adam with learning rate 0.003
    on new batches of 64; accuracy is that of 1000 new sequences.

    Notes: N5.01 (§5).

    Args:
        seeds: starting points.
        length: how many words a sequence has.
        steps: updates at most; a run ends when all its members are right.
        hidden: the width of the hidden layer and of the states.
    """
    g = torch.Generator().manual_seed(length + seeds.start)
    rows, scores = [], {}
    for name in ("counts", "rnn", "gru", "lstm"):
        members = [_member(name, hidden, seed) for seed in seeds]
        new, draw = (draws(order_only, count, length, SYMBOLS - 2, seed=g) for count in (1000, 64))
        if name == "counts":
            new, draw = partial(_counts, new), partial(_counts, draw)
        check = Check(new, accuracies, goal=0.995)
        trial = train_members(members, draw, cross_entropies, steps=steps, learning_rate=3e-3, check=check)
        updates, last = trial.scores[-1]
        scores[name] = last
        rows.append((name, sum(last) / len(seeds), min(last), max(last), updates))
    return Result(
        f"A before B among {length} words, n_h = {hidden}, at most {steps} Adam steps, {len(seeds)} seeds",
        ("network", "accuracy", "least", "largest", "steps"),
        rows,
        Claim("who counts words is right in exactly half of all cases", all(x == 0.5 for x in rows[0][1:4])),
        Claim.often(
            "recurrent networks of every kind solve it, with more than 98 % of right answers",
            [score > 0.98 for name, last in scores.items() if name != "counts" for score in last],
        ),
        plot=Plot("network", ("accuracy",), "bars"),
    )


def _member(name: str, hidden: int, seed: int) -> nn.Module:
    """Make a network that reads counts, or words with a cell."""
    if name == "counts":
        return FNN(FNNConfig(SYMBOLS, 2, hidden=hidden), seed=seed)
    return ManyToOne(ManyToOneConfig(SYMBOLS, 2, hidden=hidden, cell=name, embedding="one-hot"), seed=seed)


def _counts(words: Draw) -> tuple[Tensor, Tensor]:
    """Count the words of sequences."""
    read, labels = words()
    return one_hot(read, SYMBOLS).sum(1), labels
