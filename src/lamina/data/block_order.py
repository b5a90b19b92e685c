r"""The order in which an epoch reads a large table: blocks in a random order, shuffled in windows.

The order is a pure function of seed and epoch. The blocks are permuted, consecutive ones make a window of about a
million rows, and the rows of a window are permuted. So an example meets any other of its window, and windows are made
anew in every epoch; two rows of one block are in the same window in every epoch. Within a batch the rows stand in the
order of their blocks, so that a rank that takes a contiguous slice of every batch reads only its share of the blocks.
"""

import hashlib
from bisect import bisect_right
from itertools import accumulate
from typing import Any

import torch

from lamina._types import Int, Tensor


class BlockOrder:
    """The examples of an epoch in their order, worked out window by window when they are asked for.

    Args:
        counts: how many examples each block has.
        batch_size: how many make a batch.
        window: how many are shuffled among each other.
        seed: which experiment.
        epoch: which epoch.
        epochs: how many there are, so that the next one can be read ahead; None if nobody knows.

    >>> order = BlockOrder(torch.tensor([2, 3, 2]), batch_size=2, window=4, seed=0, epoch=1)
    >>> len(order), sorted(order[0:7].tolist())
    (7, [0, 1, 2, 3, 4, 5, 6])
    """

    def __init__(
        self,
        counts: Int[Tensor, " block"],
        batch_size: int,
        window: int,
        seed: int,
        epoch: int,
        epochs: int | None = None,
    ) -> None:
        self._counts, self._batch, self._seed, self._epoch = counts, batch_size, seed, epoch
        self._asked = batch_size, window, seed, epoch, epochs
        self._starts = counts.cumsum(0) - counts
        self._turns = self._permutation(len(counts), 0)
        sizes = counts[self._turns].tolist()
        groups, rows = [0], 0
        for turn, size in enumerate(sizes):  # a window takes blocks as long as they fit, at least one
            if rows and rows + size > window:
                groups.append(turn)
                rows = 0
            rows += size
        self._groups = [*groups, len(sizes)]
        ends = [0, *accumulate(sizes)]
        self._ends = [ends[turn] for turn in self._groups]  # where each window begins, and the end
        self._known: dict[int, Tensor] = {}

    def following(self) -> "BlockOrder | None":
        """Give the order of the next epoch, if there is one."""
        size, window, seed, epoch, epochs = self._asked
        if epochs is None or epoch + 1 >= epochs:
            return None
        return BlockOrder(self._counts, size, window, seed, epoch + 1, epochs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BlockOrder) or self._asked != other._asked:
            return False
        return self._counts.equal(other._counts)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return BlockOrder, (self._counts, *self._asked)

    def _permutation(self, count: int, number: int) -> Tensor:
        """Shuffle the blocks (number 0), or the rows of a window (from 1 on)."""
        mixed = hashlib.blake2b(f"{self._seed} {self._epoch} {number}".encode(), digest_size=4).digest()
        return torch.randperm(count, generator=torch.Generator().manual_seed(int.from_bytes(mixed)))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, places: slice) -> Int[Tensor, " position"]:
        """Give the examples at consecutive places."""
        start, end, _ = places.indices(len(self))
        parts, number = [], bisect_right(self._ends, start) - 1
        while start < end:
            first, last = self._ends[number], min(end, self._ends[number + 1])
            parts.append(self._window(number)[start - first : last - first])
            start, number = last, number + 1
        return torch.cat(parts) if len(parts) > 1 else parts[0] if parts else torch.zeros(0, dtype=torch.int64)

    def _window(self, number: int) -> Tensor:
        """Give the examples of a window: shuffled, and within each batch in the order of their blocks.

        All of it is done without the interpreter's lock, so that the loop that is fed goes on meanwhile.
        """
        known = self._known.get(number)
        if known is None:
            turns = self._turns[self._groups[number] : self._groups[number + 1]]
            counts = self._counts[turns]
            few = torch.int16 if len(turns) < 2**15 else torch.int32  # which are sorted twice as fast
            homes = torch.repeat_interleave(torch.arange(len(turns), dtype=few), counts)
            shift = self._starts[turns] - (counts.cumsum(0) - counts)  # from a place in the window to a row
            chance = self._permutation(len(homes), number + 1)
            homes = homes.index_select(0, chance)
            rows = chance + shift.index_select(0, homes.to(torch.int64))
            known = self._by_block(rows, homes, self._ends[number])
            while len(self._known) > 2:  # one reads ahead of the other
                del self._known[next(iter(self._known))]
            self._known[number] = known
        return known

    def _by_block(self, rows: Tensor, homes: Tensor, first: int) -> Tensor:
        """Sort the rows of each batch by their blocks; the first batch may have begun in the window before."""
        size = self._batch
        head = min(-first % size, len(rows))
        middle = head + (len(rows) - head) // size * size
        sorted_ = homes[head:middle].reshape(-1, size).numpy().argsort(axis=1, kind="stable")  # twice as fast as torch
        order = torch.from_numpy(sorted_)
        parts = (
            rows[:head][homes[:head].argsort(stable=True)],
            rows[head:middle].reshape(-1, size).gather(1, order).reshape(-1),
            rows[middle:][homes[middle:].argsort(stable=True)],
        )
        return torch.cat(parts)
