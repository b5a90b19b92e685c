"""Synthetic sequences: their truth, what a guesser reaches, and that copies never cross a split."""

import math
import warnings

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.data.sequences import FILLERS, adding, agreement, copying, next_input, order_only, wave
from lamina.data.text.texts import IGNORE
from lamina.functional.metrics import perplexity, token_accuracy


@pytest.mark.notes("N5.24")
@pytest.mark.parametrize("gap", [1, 5, 60])
def test_the_verb_depends_on_the_second_word_alone(gap):
    data = agreement(400, gap=gap, seed=1)
    words = [[data.spec.symbols[i] for i in row] for row in data.inputs.tolist()]
    verbs = [data.spec.classes[i] for i in data.targets.tolist()]
    assert data.inputs.shape == (400, gap + 2) and len(data.spec.symbols) == 13
    assert all(
        line[0] == "the" and {"cat": "was", "cats": "were"}[line[1]] == verb
        for line, verb in zip(words, verbs, strict=True)
    )
    assert all(set(line[2:]) <= set(FILLERS) for line in words) and verbs.count("was") == 200
    assert agreement(400, gap=gap, seed=1).inputs.equal(data.inputs) and not agreement(400, gap=gap).inputs.equal(
        data.inputs
    )


@pytest.mark.notes("N5.01")
def test_both_classes_hold_the_same_words():
    data = order_only(1000, length=8, seed=2)
    counts = torch.zeros(1000, 10, dtype=torch.int64).scatter_add(1, data.inputs, torch.ones_like(data.inputs))
    assert counts[0::2].equal(counts[1::2]) and (data.targets[0::2] + data.targets[1::2] == 1).all()
    first = [row.index(0) < row.index(1) for row in data.inputs.tolist()]
    assert [not label for label in data.targets.tolist()] == first and (counts[:, :2] == 1).all()
    split = data.split()
    for part in (split.train, split.validation):  # partners are never parted, so bags of words stay at chance
        inputs, labels = part.take(torch.arange(len(part)))
        bags = inputs.sort(1).values
        kinds, place = bags.unique(dim=0, return_inverse=True)
        ones = torch.zeros(len(kinds)).scatter_add(0, place, labels.float())
        assert (2 * ones == torch.bincount(place)).all()


@pytest.mark.notes("N5.42")
def test_the_adding_problem():
    data = adding(2000, length=20, seed=3)
    numbers, marks = data.inputs.unbind(2)
    assert (
        (marks.sum(1) == 2).all() and (marks[:, :10].sum(1) == 1).all() and set(marks.unique().tolist()) == {0.0, 1.0}
    )
    torch.testing.assert_close((numbers * marks).sum(1), data.targets)
    assert ((data.targets - 1) ** 2).mean().item() == pytest.approx(1 / 6, abs=0.02)
    assert 0 <= numbers.min() and numbers.max() < 1


@pytest.mark.notes("N5.42")
def test_the_copy_problem():
    delay, memory, symbols = 7, 4, 6
    data = copying(500, delay, memory, symbols, seed=4)
    assert (
        data.inputs.shape == data.targets.shape == (500, 15) and data.spec.outputs == 7 and len(data.spec.symbols) == 8
    )
    assert data.inputs[:, :memory].equal(data.targets[:, -memory:]) and (data.targets[:, :-memory] == 0).all()
    assert (data.inputs[:, memory : memory + delay - 1] == 0).all() and (data.inputs[:, -memory:] == 0).all()
    assert (data.inputs[:, memory + delay - 1] == symbols + 1).all() and data.spec.symbols[-1] == ">"
    logits = torch.full((500, 15, 7), -1e9)
    logits[:, :-memory, 0] = 0.0
    logits[:, -memory:, 1:] = 0.0  # blanks for certain, then a guess among the symbols
    expected = memory * math.log(symbols) / (delay + 2 * memory)
    assert math.log(perplexity(logits, data.targets, ignore=IGNORE)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.notes("N5.20")
def test_the_next_input():
    data = next_input(3000, length=9, symbols=5, seed=5)
    assert data.targets[:, :-1].equal(data.inputs[:, 1:]) and (data.targets[:, -1] == IGNORE).all()
    assert token_accuracy(data.inputs, data.targets, ignore=IGNORE) == pytest.approx(
        1 / 5, abs=0.01
    )  # guessing the past
    assert data.spec.task == "tagging" and data.spec.classes == tuple("abcde")


def test_a_wave_repeats():
    data = wave(400, period=20, noise=0.0, window=30, horizon=5)
    torch.testing.assert_close(data.values[20:], data.values[:-20], rtol=0, atol=1e-12)
    targets = data.take(torch.tensor([3]))[1]
    torch.testing.assert_close(targets[0], torch.sin(2 * torch.pi * torch.arange(33, 38, dtype=torch.float64) / 20))
    noisy = wave(20_000, noise=0.5, seed=6).values[:, 0] - wave(20_000, noise=0.0).values[:, 0]
    assert noisy.std().item() == pytest.approx(0.5, abs=0.01) and abs(noisy.mean().item()) < 0.02
    assert wave(300, each_step=True).spec.task == "structured"


@pytest.mark.parametrize("name", ["agreement", "order", "copy", "next-input"])
def test_tokens_stay_whole_numbers_and_copies_together(name):
    options = {"count": 300, "seed": 1}
    small = {"agreement": {"gap": 1}, "copy": {"memory": 1}, "next-input": {"length": 3}, "order": {"length": 3}}
    data = load(name, **options, **small[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split = data.split()
    prepare = Preprocess.fit(split.train)
    inputs, targets = prepare.source(split.validation).batch(torch.arange(5))
    stored = split.validation.take(torch.arange(5))
    assert inputs.dtype == torch.int64 and inputs.equal(stored[0]) and targets.equal(stored[1])
    assert prepare.untargets(targets.float()).equal(targets.float())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: agreement(gap=0), "`gap` must be at least 1, got 0"),
        (lambda: adding(length=1), "`length` must be at least 2, got 1"),
        (lambda: copying(symbols=1), "`symbols` must be at least 2, got 1"),
        (lambda: copying(delay=0), "`delay` must be at least 1, got 0"),
        (lambda: copying(memory=0), "`memory` must be at least 1, got 0"),
        (lambda: order_only(1), "`count` must be at least 2, got 1"),
        (lambda: next_input(length=1), "`length` must be at least 2, got 1"),
        (lambda: wave(period=0), "`period` must be greater than 0, got 0"),
        (lambda: wave(noise=-1), "`noise` must be at least 0, got -1"),
    ],
)
def test_bounds(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_more_symbols_than_letters():
    assert next_input(2, symbols=30).spec.symbols[25:28] == ("z", "s26", "s27")
