"""Batches are gathered from blocks whatever the batches are, in bounded memory, over any number of epochs."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.data.block_order import BlockOrder
from lamina.data.dataset import Spec
from lamina.data.gathering import Blocks, Gathering, InThread
from lamina.data.large import LargePart
from lamina.data.source import Batches


class Part(LargePart):
    """Rows that are their own numbers."""

    spec = Spec("table", "regression", (1,), 1)

    def __init__(self, counts):
        self.counts = torch.tensor(counts)
        self.starts = torch.cat([torch.zeros(1, dtype=torch.int64), self.counts.cumsum(0)])
        self.read_blocks = []

    def block_of(self, indices):
        return torch.searchsorted(self.starts, indices, right=True) - 1

    def read(self, number, inputs=True):
        self.read_blocks.append(number)
        rows = torch.arange(self.starts[number], self.starts[number + 1])
        return rows[:, None].float(), rows


class Plain:
    """Prepares nothing."""

    kept, kept_dtype, spec = (1,), torch.float32, Part.spec

    def keep(self, inputs):
        return inputs

    def finisher(self, device):
        return self.keep

    targets = keep


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=12),
    st.integers(1, 20),
    st.sampled_from([1, 7, 60, 100]),
    st.integers(1, 3),
)
@settings(max_examples=40, deadline=None)
def test_every_epoch_gives_every_row_in_the_order_and_reads_each_block_once(counts, size, window, epochs):
    part = Part(counts)
    gathering = Gathering(
        Blocks(part, Plain(), window, 2), Batches(BlockOrder(part.counts, size, window, 0, 0, epochs), 0, size)
    )
    found, wanted, read, held = [], [], 0, 0
    for epoch in range(epochs):
        order = BlockOrder(part.counts, size, window, 0, epoch)
        wanted += [order[start : start + size].tolist() for start in range(0, sum(counts), size)]
    while made := gathering.next():
        found += [part.tolist() for part in made.targets.split(made.sizes)]
        assert made.inputs[:, 0].long().equal(made.targets)
        read, held = read + made.read, made.held
    gathering.close()
    assert found == wanted and read == len(part.read_blocks) <= epochs * len(counts)
    assert held <= gathering._source.limit or window < 60  # less than a few batches and two blocks


def test_a_thread_gathers_the_same():
    part, batches = Part([5, 7, 9]), [torch.tensor([3, 20]), torch.tensor([11, 0, 6])]
    rows = Blocks(part, Plain(), 4, 1)
    thread = InThread(rows, 2, False)
    thread.begin(batches)
    assert [thread.next().targets.tolist() for _ in range(2)] == [[3, 20], [11, 0, 6]]
    thread.begin(batches)
    assert thread.next().targets.tolist() == [3, 20]
    thread.close()
    assert np.unique(part.read_blocks).tolist() == [0, 1, 2]
