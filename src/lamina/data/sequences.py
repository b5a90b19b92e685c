r"""Made-up sequences that show what a recurrent network can and cannot do (§5 of the notes), each from a seed.

Tokens are int64 [count, time] and mean the words of `spec.symbols`; series are float [count, time, feature]. Labels
are one per sequence ("classification") or one per step ("tagging", IGNORE where no answer is asked for).
"""

import math
from dataclasses import replace
from typing import Any

import torch

from lamina._errors import above, at_least
from lamina._types import Seed, Tensor
from lamina.data.dataset import ArrayDataset, Spec, _fingerprints
from lamina.data.series import SeriesDataset, _as_series
from lamina.data.text.texts import IGNORE
from lamina.functional.random import as_generator

FILLERS = ("which", "we", "saw", "often", "near", "a", "small", "old", "garden", "again")
"""The words between cat and verb in `agreement`."""


def agreement(count: int = 3000, gap: int = 10, seed: Seed = 0) -> ArrayDataset:
    """Draw beginnings of sentences whose verb, was or were, depends on the second word: "the cat(s) ...".

    Notes: N5.24 (§5.2, Ex. 5.2).

    Args:
        count: the number of sentences, half of them with "cats".
        gap: how many words stand between the noun and its verb.
        seed: which draw.

    >>> data = agreement(2, gap=3)
    >>> [" ".join(data.spec.symbols[i] for i in row) for row in data.inputs.tolist()]
    ['the cat again often which', 'the cats often again old']
    >>> [data.spec.classes[i] for i in data.targets]
    ['was', 'were']
    """
    at_least("count", count, 1)
    at_least("gap", gap, 1)
    g = as_generator(seed)
    labels = torch.randperm(count, generator=g) % 2
    words = torch.randint(3, 3 + len(FILLERS), (count, gap), generator=g)
    inputs = torch.cat([torch.zeros(count, 1, dtype=torch.int64), 1 + labels[:, None], words], 1)
    symbols = ("the", "cat", "cats", *FILLERS)
    return _dataset(inputs, labels, "agreement", ("was", "were"), symbols, target="verb")


def adding(count: int = 6000, length: int = 50, seed: Seed = 0) -> ArrayDataset:
    r"""Draw the adding problem: at each step a number and a mark; the sum of the two marked numbers is wanted.

    $$s = v^{<i>} + v^{<j>}, \qquad u^{<t>} = (v^{<t>}, m^{<t>}), \quad v^{<t>} \sim \mathcal U(0, 1)$$
    with the mark m = 1 at one step i of the first half and one step j of the second, else 0. Who always says 1 has
    the mean squared error 1/6.

    Notes: N5.42 (§5).

    Args:
        count: the number of sequences.
        length: the number of steps.
        seed: which draw.

    >>> data = adding(4, length=6)
    >>> torch.allclose((data.inputs[..., 0] * data.inputs[..., 1]).sum(1), data.targets)
    True
    """
    at_least("count", count, 1)
    at_least("length", length, 2)
    g = as_generator(seed)
    numbers = torch.rand(count, length, generator=g)
    half = length // 2
    first = torch.randint(half, (count, 1), generator=g)
    second = torch.randint(half, length, (count, 1), generator=g)
    marks = torch.zeros(count, length).scatter(1, torch.cat([first, second], 1), 1.0)
    spec = Spec("series", "regression", (length, 2), 1, features=("number", "mark"), target="sum", source="adding")
    return ArrayDataset(torch.stack([numbers, marks], 2), (numbers * marks).sum(1), spec)


def copying(count: int = 6000, delay: int = 20, memory: int = 5, symbols: int = 8, seed: Seed = 0) -> ArrayDataset:
    r"""Draw the copy problem: read some symbols, wait, and after a sign write them in the same order.

    Inputs are `memory` symbols, `delay` - 1 blanks, the sign and `memory` blanks; at all steps but the last `memory`
    the answer is a blank. Who remembers nothing has the mean cross entropy memory ln(symbols) / (delay + 2 memory).

    Notes: N5.42 (§5).

    Args:
        count: the number of sequences.
        delay: how many steps lie between reading and writing.
        memory: how many symbols are to be kept in mind.
        symbols: how many different symbols there are.
        seed: which draw.

    >>> data = copying(1, delay=3, memory=2, symbols=4)
    >>> ["".join(data.spec.symbols[i] for i in row) for row in (*data.inputs.tolist(), *data.targets.tolist())]
    ['ad__>__', '_____ad']
    """
    at_least("count", count, 1)
    at_least("delay", delay, 1)
    at_least("memory", memory, 1)
    at_least("symbols", symbols, 2)
    g = as_generator(seed)
    kept = torch.randint(1, symbols + 1, (count, memory), generator=g)
    blanks = torch.zeros(count, delay - 1 + memory, dtype=torch.int64)
    sign = torch.full((count, 1), symbols + 1)
    inputs = torch.cat([kept, blanks[:, : delay - 1], sign, blanks[:, delay - 1 :]], 1)
    targets = torch.cat([torch.zeros(count, delay + memory, dtype=torch.int64), kept], 1)
    names = ("_", *_letters(symbols))
    return _dataset(inputs, targets, "copy", names, (*names, ">"))


def order_only(count: int = 3000, length: int = 10, symbols: int = 8, seed: Seed = 0) -> ArrayDataset:
    """Draw sequences whose label depends on the order alone: whether A comes before B.

    Every sequence has a partner of the other class with A and B exchanged, so that both classes hold the same words
    equally often: who only counts words is right in half of all cases. Partners stay in one part of a split.

    Notes: N5.01 (§5).

    Args:
        count: the number of sequences, an even one.
        length: the number of steps.
        symbols: how many other symbols there are.
        seed: which draw.

    >>> data = order_only(2, length=5)
    >>> [(" ".join(data.spec.symbols[i] for i in row), int(s)) for row, s in zip(data.inputs, data.targets)]
    [('e B f A d', 1), ('e A f B d', 0)]
    """
    at_least("count", count, 2)
    at_least("length", length, 2)
    at_least("symbols", symbols, 1)
    g, half = as_generator(seed), -(-count // 2)
    base = torch.randint(2, 2 + symbols, (half, length), generator=g)
    places = torch.rand(half, length, generator=g).argsort(1)[:, :2]
    one, other = (base.scatter(1, places, torch.tensor(pair).expand(half, 2)) for pair in ((0, 1), (1, 0)))
    inputs = torch.stack([one, other], 1).flatten(0, 1)[:count]
    labels = ((inputs == 0).long().argmax(1) > (inputs == 1).long().argmax(1)).long()
    groups = _fingerprints(one.clamp(min=1)).unique(return_inverse=True)[1]  # partners are equal when A is B
    data = _dataset(inputs, labels, "order", ("A before B", "B before A"), ("A", "B", *_letters(symbols)))
    return replace(data, groups=groups.repeat_interleave(2)[:count])


def next_input(count: int = 3000, length: int = 12, symbols: int = 4, seed: Seed = 0) -> ArrayDataset:
    """Draw the task that needs both directions: write at every step what is read at the next.

    One direction can only guess (right in 1/`symbols` of all cases); the other one has just read it. The last step
    asks nothing.

    Notes: N5.20 (§5.1).

    Args:
        count: the number of sequences.
        length: the number of steps.
        symbols: how many different symbols there are.
        seed: which draw.

    >>> data = next_input(1, length=4)
    >>> data.inputs.tolist(), data.targets.tolist()
    ([[0, 3, 1, 0]], [[3, 1, 0, -100]])
    """
    at_least("count", count, 1)
    at_least("length", length, 2)
    at_least("symbols", symbols, 2)
    inputs = torch.randint(symbols, (count, length), generator=as_generator(seed))
    targets = torch.nn.functional.pad(inputs[:, 1:], (0, 1), value=IGNORE)
    return _dataset(inputs, targets, "next-input", _letters(symbols), _letters(symbols))


def wave(
    steps: int = 3000,
    period: float = 25.0,
    noise: float = 0.1,
    window: int = 50,
    horizon: int = 1,
    each_step: bool = False,
    seed: Seed = 0,
) -> SeriesDataset:
    r"""Draw a noisy sine, whose next values are to be predicted.

    $$x^{<t>} = \sin(2 \pi t / p) + \varepsilon^{<t>}, \qquad \varepsilon^{<t>} \sim \mathcal N(0, \sigma^2)$$
    with p = `period` and sigma = `noise`. No forecast has a smaller mean squared error than sigma squared.

    Notes: N5.12 (§5).

    Args:
        steps: how many moments.
        period: after how many moments the sine repeats.
        noise: the standard deviation of the errors.
        window: how many moments are read.
        horizon: how many are predicted, or with `each_step` how far ahead every step looks.
        each_step: whether an answer is asked for at every step of the window.
        seed: which draw.

    >>> [round(x, 2) for x in wave(60, period=4, noise=0.0).values[:5, 0].tolist()]
    [0.0, 1.0, 0.0, -1.0, -0.0]
    """
    above("period", period, 0)
    at_least("noise", noise, 0)
    at_least("steps", steps, 2)
    time = torch.arange(steps, dtype=torch.float64)
    errors = noise * torch.randn(steps, generator=as_generator(seed), dtype=torch.float64)
    values = torch.sin(time * (2 * math.pi / period)) + errors
    return _as_series(values[:, None], window, horizon, each_step=each_step, features=("x",), source="wave")


def _letters(count: int) -> tuple[str, ...]:
    """Name symbols a, b, ... and s26, s27, ... when the alphabet ends."""
    return tuple(chr(ord("a") + i) if i < 26 else f"s{i}" for i in range(count))


def _dataset(
    inputs: Tensor, targets: Tensor, source: str, classes: tuple[str, ...], symbols: tuple[str, ...], target: str = ""
) -> ArrayDataset:
    """Make a dataset of tokens with one label per sequence or per step; equal sequences stay together in a split."""
    task, shape = "classification" if targets.ndim == 1 else "tagging", tuple(targets.shape[1:])
    about: dict[str, Any] = {"target": target, "source": source, "target_shape": shape, "symbols": symbols}
    spec = Spec("tokens", task, tuple(inputs.shape[1:]), len(classes), classes, **about)
    different, groups = _fingerprints(inputs).unique(return_inverse=True)
    return ArrayDataset(inputs, targets, spec, groups if len(different) < len(inputs) else None)
