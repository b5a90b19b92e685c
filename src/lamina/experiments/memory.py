"""The three cells on two tasks that need a memory, adding and copying, with short and long lags (§5 of the notes)."""

import math
from functools import partial
from typing import NamedTuple

import torch
from torch import nn

from lamina._types import Tensor
from lamina.architectures.recurrent import ManyToMany, ManyToManyConfig, ManyToOne, ManyToOneConfig
from lamina.data.sequences import adding, copying
from lamina.data.text.texts import IGNORE
from lamina.experiments.result import Claim, Plot, Result, experiment, summary
from lamina.experiments.together import Draw, Measure, cross_entropies, draws, squared_errors, train_members

MEMORY, SYMBOLS = 2, 4
"""The copy problem: how many symbols are kept, of how many."""


class _Task(NamedTuple):
    """A task, its lags in increasing order, how it is trained, and how far the memory of gated cells starts open."""

    name: str
    lags: tuple[int, ...]
    steps: int
    learning_rate: float
    memory_bias: float


ADDING = _Task("adding", (10, 50), 1000, 0.01, 1.0)
COPY = _Task("copy", (5, 50), 500, 0.005, 3.0)


@experiment("N5.42")
def memory_tasks(seeds: range = range(3), tasks: tuple[_Task, ...] = (ADDING, COPY), hidden: int = 32) -> Result:
    r"""Train the three cells on the adding and the copy problem.

    The loss of adding is the mean squared error, 1/6 for the constant answer 1; that of copying is the mean cross
    entropy of the two symbols that are written after the sign, ln 4 for guessing among four, and 3/4 ln 2 = 0.52 for
    knowing which two they are but not their order. New batches of 32, gradients clipped at 1; the loss is that of 1000
    new sequences.

    Adding starts with a smaller memory bias than copying: with 3 one LSTM of three seeds had learned nothing over 50
    steps after 1000 updates.

    Notes: N5.42 (§5).
    Corrects: E67, over 50 steps an LSTM copies only when its memory starts open; adding, and the GRU, do without.

    Args:
        seeds: starting points.
        tasks: what is learned, and how long.
        hidden: the number n_h of components of a state.
    """
    rows = []
    claims = []
    for task in tasks:
        for lag in task.lags:
            ends = _losses(task, lag, seeds, hidden)
            for (cell, bias), each in ends.items():
                rows.append((task.name, lag, cell, bias, *summary(each)))
        claims += [
            Claim.often(
                f"{task.name} over {lag} steps: a {cell} with an open memory has below 70 % of the plain cell's loss",
                [a < 0.7 * b for a, b in zip(ends[cell, task.memory_bias], ends["rnn", None], strict=True)],
                rate=0.7,
            )
            for cell in ("gru", "lstm")
        ]
    return Result(
        f"losses of the three cells, n_h = {hidden}, {len(seeds)} seeds; guessing has 1/6 and ln {SYMBOLS} = "
        f"{math.log(SYMBOLS):.3f}",
        ("task", "lag", "cell", "memory bias", "loss", "spread", "least", "largest"),
        rows,
        *claims,
        plot=Plot("cell", ("loss",), "bars", by=("task", "lag", "memory bias")),
    )


def _losses(task: _Task, lag: int, seeds: range, hidden: int) -> dict[tuple[str, float | None], list[float]]:
    """Train all cells on a task with one lag; return the losses of the seeds by cell and bias."""
    found: dict[tuple[str, float | None], list[float]] = {}
    g = torch.Generator().manual_seed(lag + seeds.start)
    draw: Draw
    loss: Measure
    if task.name == "adding":
        draw, test, loss = draws(adding, 32, lag, seed=g), draws(adding, 1000, lag, seed=g)(), squared_errors
    else:
        draw, test, loss = partial(_copies, 32, lag, g), _copies(1000, lag, g), cross_entropies
    for cell in ("rnn", "gru", "lstm"):
        biases = (None,) if cell == "rnn" else (None, task.memory_bias)
        members = [_member(task.name, cell, bias, hidden, seed) for bias in biases for seed in seeds]
        trial = train_members(members, draw, loss, steps=task.steps, learning_rate=task.learning_rate)
        ends = trial.measure(loss, *test)
        for place, bias in enumerate(biases):
            found[cell, bias] = ends[place * len(seeds) : (place + 1) * len(seeds)]
    return found


def _member(task: str, cell: str, bias: float | None, hidden: int, seed: int) -> nn.Module:
    if task == "adding":
        one = ManyToOneConfig(2, 1, hidden=hidden, cell=cell, memory_bias=bias, output_bias=True)
        return ManyToOne(one, seed=seed)
    many = ManyToManyConfig(SYMBOLS + 2, SYMBOLS + 1, hidden=hidden, cell=cell, memory_bias=bias, embedding="one-hot")
    return ManyToMany(many, seed=seed)


def _copies(count: int, delay: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw the copy problem and ask for the symbols after the sign alone, not for the blanks before."""
    data = copying(count, delay, MEMORY, SYMBOLS, seed=generator)
    asked = torch.arange(data.inputs.shape[1]) >= delay + MEMORY
    return data.inputs, torch.where(asked, data.targets, IGNORE)
