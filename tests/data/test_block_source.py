"""The order of a large table is a pure function of seed and epoch; what is held is bounded; ranks read their share."""

import threading
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError, DataError
from lamina.data import large
from lamina.data.block_source import BlockOrder, BlockSource
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.data.source import Batches

ROWS = 3000


@pytest.fixture
def split(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "BLOCK", 100)
    draw = np.random.default_rng(0)
    frame = pl.DataFrame({"x": np.arange(ROWS) / 7, "z": draw.normal(size=ROWS), "y": draw.integers(0, 3, ROWS)})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=256)
    return load(tmp_path / "a.parquet", target="y", stream=True).split()


def of(split, **options):
    return BlockSource(split.train, Preprocess.fit(split.train), **options)


def walked(source, order, size, first=0):
    batches = Batches(order, first, size)
    source.prefetch(batches)
    return [source.batch(batch, (0, number)) for number, batch in enumerate(batches)]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(1, 20), st.integers(1, 60), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_an_order_holds_every_example_once(counts, size, window, epoch):
    order = BlockOrder(torch.tensor(counts), size, window, seed=5, epoch=epoch)
    assert len(order) == sum(counts)
    whole = order[0 : len(order)]
    assert sorted(whole.tolist()) == list(range(sum(counts)))
    again = BlockOrder(torch.tensor(counts), size, window, seed=5, epoch=epoch)
    pieces = [again[start : start + size] for start in reversed(range(0, len(order), size))]
    assert torch.cat([torch.zeros(0, dtype=torch.int64), *reversed(pieces)]).equal(whole)


def test_orders_differ_with_seed_and_epoch():
    counts = torch.full((10,), 50)
    orders = [BlockOrder(counts, 7, 100, seed, epoch)[0:500].tolist() for seed in (0, 1) for epoch in (0, 1)]
    assert len({tuple(order) for order in orders}) == 4


def test_rows_are_shuffled_within_windows_of_blocks_from_anywhere():
    order = BlockOrder(torch.full((100,), 10), 20, 200, seed=0, epoch=0)
    first = order[0:200]
    blocks = (first // 10).unique()
    assert len(blocks) == 20 and blocks.max() - blocks.min() > 60  # a window takes blocks from all over the table
    assert (order[0:20] // 10).unique().numel() > 8  # and a batch takes rows from many of them


def test_a_batch_stands_in_the_order_of_its_blocks():
    order = BlockOrder(torch.full((12,), 50), 30, 200, seed=0, epoch=0)
    turns = {}
    for block in (order[0:200] // 50).tolist():
        turns.setdefault(block, len(turns))
    for start in range(0, 180, 30):
        homes = (order[start : start + 30] // 50).tolist()
        assert sum(a != b for a, b in pairwise(homes)) == len(set(homes)) - 1


def test_a_window_of_seventy_thousand_tiny_blocks_holds_each_once():
    order = BlockOrder(torch.ones(70_000, dtype=torch.int64), 70_000, 2**20, seed=0, epoch=0)
    assert order[0:70_000].equal(order._turns)  # one batch, so its rows stand in the order of their blocks


def test_batches_are_those_of_the_indices(split):
    source, prepare = of(split, window=500), Preprocess.fit(split.train)
    order = source.order(64, 0, 0)
    inputs, targets = split.train.take(torch.arange(len(split.train)))
    for batch, (rows, wanted) in zip(Batches(order, 0, 64), walked(source, order, 64), strict=True):
        assert torch.equal(rows, prepare.apply(inputs[batch])) and torch.equal(wanted, targets[batch])
    assert source.blocks_read == len(split.train.counts)  # each of them once


def test_an_epoch_can_begin_in_the_middle(split):
    source = of(split, window=500)
    order = source.order(64, 0, 2)
    whole = walked(source, order, 64)
    rest = walked(source, source.order(64, 0, 2), 64, first=64 * 9)
    assert all(torch.equal(a[0], b[0]) for a, b in zip(whole[9:], rest, strict=True)) and len(rest) == len(whole) - 9


def test_what_is_held_is_bounded(split):
    source = of(split, window=300)
    assert source.limit == 2 * 300 * source.row_bytes
    whole = len(split.train) * source.row_bytes
    walked(source, source.order(32, 0, 0), 32)
    assert 0 < source.peak <= source.limit < whole / 3
    assert source.blocks_read == len(split.train.counts)


def test_a_rank_reads_its_slice_and_its_share_of_the_blocks(split):
    size, ranks = 600, 2
    whole = of(split, window=ROWS)
    order = whole.order(size, 0, 0)
    everything = walked(whole, order, size)
    read = []
    for rank in range(ranks):
        source = of(split, window=ROWS)
        slices = [b[rank * len(b) // ranks : (rank + 1) * len(b) // ranks] for b in Batches(order, 0, size)]
        source.prefetch(slices)
        for mine, (inputs, targets) in zip(slices, everything, strict=True):
            first = rank * len(inputs) // ranks
            rows, wanted = source.batch(mine, None)
            assert torch.equal(rows, inputs[first : first + len(rows)])
            assert torch.equal(wanted, targets[first : first + len(rows)])
        read.append(source.blocks_read)
    blocks = len(split.train.counts)
    assert max(read) < 0.7 * blocks and sum(read) < 1.3 * blocks


def test_another_batch_than_the_next_is_read_at_once(split):
    source = of(split, window=300)
    source.prefetch(Batches(source.order(32, 0, 0), 0, 32))
    places = torch.tensor([5, 1900, 7])
    rows, targets = source.batch(places, None)
    inputs, wanted = split.train.take(places)
    assert torch.equal(rows, Preprocess.fit(split.train).apply(inputs)) and torch.equal(targets, wanted)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lamina-")]


def test_an_error_comes_at_its_turn_and_ends_the_threads(split, monkeypatch):
    source, read = of(split, window=300), split.train.read

    def broken(number, inputs=True):
        if number == 20:
            raise DataError("block 20 is gone.")
        return read(number, inputs)

    monkeypatch.setattr(split.train, "read", broken)
    with pytest.raises(DataError, match="block 20 is gone"):
        walked(source, source.order(32, 0, 0), 32)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lamina-")]


def test_closing_early_ends_the_threads(split):
    source = of(split, window=300)
    order = source.order(32, 0, 0)
    source.prefetch(Batches(order, 0, 32))
    source.batch(order[0:32], None)
    source.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lamina-")]


def test_bounds(split):
    with pytest.raises(ArgumentError, match="`window` must be at least 1, got 0"):
        of(split, window=0)
    with pytest.raises(ArgumentError, match="`ahead` must be at least 1, got 0"):
        of(split).prefetch([], ahead=0)
