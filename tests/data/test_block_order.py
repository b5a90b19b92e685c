"""The order of a large table is a pure function of seed and epoch, shuffled in windows of blocks."""

import pickle
from itertools import pairwise

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.data.block_order import BlockOrder


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


def test_the_next_epoch_follows_until_the_last():
    counts = torch.full((10,), 50)
    first = BlockOrder(counts, 7, 100, 3, 0, epochs=2)
    second = first.following()
    assert second == BlockOrder(counts, 7, 100, 3, 1, epochs=2) and second != first
    assert second[0:500].equal(BlockOrder(counts, 7, 100, 3, 1)[0:500])
    assert second.following() is None and BlockOrder(counts, 7, 100, 3, 0).following() is None


def test_it_is_handed_to_another_process_without_what_it_worked_out():
    order = BlockOrder(torch.full((1000,), 50), 7, 50_000, 3, 0, epochs=2)
    whole = order[0:50_000]
    words = pickle.dumps(order)
    assert len(words) < 20_000
    again = pickle.loads(words)
    assert again == order and again[0:50_000].equal(whole)
