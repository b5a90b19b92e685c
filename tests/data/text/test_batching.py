"""Which examples make a batch, and windows of a running text."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError, DataError
from lamina.data.text.batching import _bucketed_order, sorted_order, stream_windows


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 9), st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_every_example_is_in_one_batch_and_batches_are_full(values, size, seed, epoch):
    lengths = torch.tensor(values, dtype=torch.int64)
    for batches in (_bucketed_order(lengths, size, seed, epoch), sorted_order(lengths, size)):
        assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(values)))
        assert sorted(map(len, batches))[1:] == [size] * (len(batches) - 1) if batches else not values


def test_an_order_is_a_function_of_seed_and_epoch():
    lengths = torch.randint(1, 40, (500,), generator=torch.Generator().manual_seed(0))
    orders = {
        (seed, epoch): torch.cat(_bucketed_order(lengths, 16, seed, epoch)).tolist()
        for seed in (0, 1)
        for epoch in (0, 1)
    }
    assert len({tuple(order) for order in orders.values()}) == 4
    assert torch.cat(_bucketed_order(lengths, 16, 1, 1)).tolist() == orders[1, 1]


def padding_share(lengths, batches):
    """Give the share of padding among all entries of padded batches."""
    total = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
    return 1 - int(lengths.sum()) / total


def test_alike_lengths_are_together():
    lengths = torch.randint(1, 40, (5000,), generator=torch.Generator().manual_seed(0))
    mixed = list(torch.randperm(5000, generator=torch.Generator().manual_seed(1)).split(32))
    assert padding_share(lengths, mixed) > 0.4
    assert padding_share(lengths, _bucketed_order(lengths, 32, 0, 0)) < 0.03
    assert padding_share(lengths, sorted_order(lengths, 32)) < 0.01
    widths = [int(lengths[batch].max()) for batch in _bucketed_order(lengths, 32, 0, 0)]
    assert widths != sorted(widths)  # the batches themselves are shuffled


def test_two_lengths_sort_by_the_first_then_the_second():
    lengths = torch.tensor([[2, 9], [1, 5], [2, 1], [1, 4]])
    assert torch.cat(sorted_order(lengths, 2)).tolist() == [3, 1, 2, 0]


@given(st.integers(2, 200), st.integers(1, 6), st.integers(1, 20))
@settings(max_examples=80, deadline=None)
def test_windows_continue_each_other_and_predict_the_next_token(time, batch, length):
    tokens = torch.arange(time)
    if time <= batch:
        with pytest.raises(DataError, match=f"{time} tokens are too few for {batch} pieces, which need at least"):
            stream_windows(tokens, batch, length)
        return
    windows = stream_windows(tokens, batch, length)
    inputs, targets = (torch.cat([pair[side] for pair in windows], 1) for side in (0, 1))
    assert targets.equal(inputs + 1) and inputs.shape == (batch, (time - 1) // batch)
    assert (inputs.diff(dim=1) == 1).all()  # row r of a window goes on where row r of the one before ended
    assert inputs.flatten().tolist() == list(range(batch * ((time - 1) // batch)))  # nothing twice, little left out
    assert all(u.shape == s.shape and u.shape[1] <= length for u, s in windows)
    assert all(u.shape[1] == length for u, _ in windows[:-1])


def test_one_piece_loses_no_prediction():
    windows = stream_windows(torch.arange(1001), batch=1, length=64)
    assert sum(targets.numel() for _, targets in windows) == 1000 and len(windows) == 16


def test_messages():
    with pytest.raises(ArgumentError, match="`batch_size` must be at least 1, got 0"):
        _bucketed_order(torch.tensor([1]), 0, 0, 0)
    with pytest.raises(ArgumentError, match="`batch_size` must be at least 1, got 0"):
        sorted_order(torch.tensor([1]), 0)
    with pytest.raises(ArgumentError, match="`length` must be at least 1, got 0"):
        stream_windows(torch.arange(9), 1, 0)
    with pytest.raises(ArgumentError, match="`batch` must be at least 1, got 0"):
        stream_windows(torch.arange(9), 0, 1)
