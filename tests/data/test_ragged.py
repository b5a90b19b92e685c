"""Rows of different lengths: padding by hand and against torch's own."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence

from lamina._errors import DataError
from lamina.data.ragged import Ragged, lengths_of


@given(st.lists(st.lists(st.integers(1, 99), max_size=9), min_size=1, max_size=12), st.data())
@settings(max_examples=80, deadline=None)
def test_padding_equals_torch(rows, data):
    ragged = Ragged.of(rows, fill=0)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=6))
    padded = ragged.padded(torch.tensor(chosen))
    tensors = [torch.tensor(rows[i], dtype=torch.int64) for i in chosen]
    assert padded.equal(pad_sequence(tensors, batch_first=True)) and padded.dtype == torch.int64
    assert lengths_of(padded).tolist() == [len(rows[i]) for i in chosen]
    assert [ragged.row(i).tolist() for i in range(len(rows))] == rows
    assert ragged.longest == max(map(len, rows)) and len(ragged) == len(rows)


def test_widths_and_types():
    ragged = Ragged.of([[5, 6, 7], [8]], fill=-1, dtype=torch.int32)
    assert ragged.padded(torch.tensor([0, 1]), width=2).tolist() == [[5, 6], [8, -1]]
    assert ragged.padded(torch.tensor([1]), width=4).tolist() == [[8, -1, -1, -1]]
    assert ragged.padded(torch.tensor([1])).dtype == torch.int32
    assert ragged.padded(torch.zeros(0, dtype=torch.int64)).shape == (0, 0)
    empty = Ragged.of([[], []], fill=0)
    assert empty.padded(torch.tensor([0, 1]), width=2).tolist() == [[0, 0], [0, 0]] and empty.longest == 0
    assert Ragged.of([], fill=0).longest == 0 and len(Ragged.of([], fill=0)) == 0


def test_one_long_row_costs_its_own_length_only():
    ragged = Ragged.of([range(1, 10_001), *([[7]] * 1000)], fill=0)
    assert len(ragged.values) == 11_000 and ragged.padded(torch.arange(1, 1001)).shape == (1000, 1)


def test_lengths_must_add_up():
    with pytest.raises(DataError, match=r"`lengths` must add up to the number of values \(3\), got 2"):
        Ragged.by_lengths(torch.arange(3), torch.tensor([1, 1]), 0)


@pytest.mark.cuda
def test_the_same_on_a_gpu():
    ragged = Ragged.of([[5, 6, 7], [8], []], fill=0)
    there = ragged.to("cuda")
    indices = torch.tensor([2, 0])
    assert there.padded(indices.cuda(), width=3).cpu().equal(ragged.padded(indices, width=3))
    assert there.padded(indices).device.type == "cuda" and there.lengths.equal(ragged.lengths)
