"""The order of examples: a pure function of seed and epoch."""

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.data import block_source, large
from lamina.data.block_source import BlockSource
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.training.ranks import Ranks
from lamina.training.recipe import Recipe
from lamina.training.tasks.feed import Feed, epoch_order


@pytest.mark.notes("N1.42", "N1.45")
@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 2**31), st.integers(0, 100))
@settings(max_examples=40, deadline=None)
def test_an_epoch_is_a_permutation_and_draws_are_within_bounds(n, b, seed, epoch):
    b = min(b, n)
    assert epoch_order(n, b, "epoch", seed, epoch).sort().values.equal(torch.arange(n))
    for sampling in ("with-replacement", "without-replacement"):
        order = epoch_order(n, b, sampling, seed, epoch)
        assert len(order) == n // b * b and 0 <= order.min() and order.max() < n
    batches = epoch_order(n, b, "without-replacement", seed, epoch).split(b)
    assert all(len(batch.unique()) == b for batch in batches)


def test_seed_and_epoch_decide_and_nothing_else():
    before = torch.random.get_rng_state()
    first = epoch_order(100, 10, "epoch", 1, 2)
    assert first.equal(epoch_order(100, 10, "epoch", 1, 2))
    assert not first.equal(epoch_order(100, 10, "epoch", 1, 3)) and not first.equal(epoch_order(100, 10, "epoch", 2, 2))
    assert before.equal(torch.random.get_rng_state())
    for epoch in (2**30, 2**31 - 1):  # no epoch of one seed is an epoch of the next
        assert not epoch_order(100, 10, "epoch", 0, epoch).equal(epoch_order(100, 10, "epoch", 1, epoch - 2**30))


@pytest.mark.notes("N1.42", "N1.45")
@pytest.mark.parametrize(
    ("batch_size", "sampling"), [(2, "with-replacement"), (2, "without-replacement"), (1, "epoch")]
)
def test_every_example_is_drawn_equally_often(batch_size, sampling):
    """Of 400 epochs of 4 or 5 draws from 5 examples each gets a fifth, to four standard deviations."""
    drawn = torch.cat([epoch_order(5, batch_size, sampling, 3, epoch) for epoch in range(400)])
    counts, expected = drawn.bincount(), len(drawn) / 5
    assert len(counts) == 5
    assert (counts - expected).abs().max() < 4 * (expected * 0.8) ** 0.5


def test_single_draws_repeat_whatever_the_sampling_is_called():
    """A batch of one has nothing to repeat, so both ways of drawing give the same numbers, with repetitions."""
    orders = [epoch_order(6, 1, sampling, 1, 0) for sampling in ("with-replacement", "without-replacement")]
    assert orders[0].equal(orders[1]) and len(orders[0]) == 6
    assert any(len(epoch_order(6, 1, "without-replacement", 1, epoch).unique()) < 6 for epoch in range(5))


def test_a_batch_larger_than_the_data_is_drawn_once():
    assert len(epoch_order(3, 5, "with-replacement", 0, 0)) == 5


def test_every_seed_has_an_order_of_its_own():
    """Generators read 32 bits of a seed: seeds 0, 2, 4 once gave the same batches."""
    orders = {tuple(epoch_order(50, 10, "epoch", seed, epoch).tolist()) for seed in range(40) for epoch in range(25)}
    assert len(orders) == 1000


@pytest.mark.parametrize("apart", [False, True], ids=["thread", "process"])
def test_each_rank_has_its_own_reader_and_gets_its_part_of_every_batch(tmp_path, monkeypatch, apart):
    monkeypatch.setattr(large, "BLOCK", 100)
    monkeypatch.setattr(block_source, "WINDOW", 400)
    frame = pl.DataFrame({"x": np.random.default_rng(0).normal(size=1500), "y": np.arange(1500) % 2})
    frame.write_parquet(tmp_path / "a.parquet")
    train = load(tmp_path / "a.parquet", target="y", stream=True).split().train
    prepare = Preprocess.fit(train)
    inputs, targets = train.take(torch.arange(len(train)))
    inputs = prepare.apply(inputs)
    recipe, ranks = Recipe(batch_size=64, epochs=2), [Ranks(number, 2) for number in range(2)]
    sources = [BlockSource(train, prepare, apart=apart) for _ in ranks]
    for source, rank in zip(sources, ranks, strict=True):
        feed = Feed(source, recipe)
        feed.ranks = rank
        for epoch, begin in ((0, 5), (1, 0)):  # resumed in the middle of the first
            feed.begin(epoch, begin, 0)
            order = source.order(64, recipe.seed, epoch)
            for number in range(begin, feed.batches):
                rows, wanted, size = feed.next(number)
                whole = order[64 * number : 64 * (number + 1)]
                mine = whole[rank.part(len(whole))]
                assert size == len(whole) and torch.equal(rows, inputs[mine]) and torch.equal(wanted, targets[mine])
        assert source.apart == apart
        source.close()
