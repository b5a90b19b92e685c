r"""Batches of a large table: blocks in a random order, shuffled in windows, and read ahead in the background.

*Order.* The order of an epoch is a pure function of seed and epoch. The blocks are permuted, consecutive ones make a
window of about a million rows, and the rows of a window are permuted. So an example meets any other of its window, and
windows are made anew in every epoch; two rows of one block are in the same window in every epoch. Within a batch the
rows stand in the order of their blocks, so that a rank that takes a contiguous slice of every batch reads only its
share of the blocks.

*Memory.* At most two windows of prepared rows are held: the one that is used, and as much of the next as has been read.
A block is read once per epoch. Which indices are asked for decides which blocks are read, and nothing else.
"""

import hashlib
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, islice

import torch

from lamina._errors import at_least
from lamina._system import give_back
from lamina._types import Int, Tensor
from lamina.data.augment import Augment
from lamina.data.large import LargePart
from lamina.data.source import Key, Source, _Preparing

WINDOW = 2**20  # rows that are shuffled among each other ...
WINDOW_BYTES = 2**28  # ... unless they are wide
_STRETCH = 2**14  # rows whose batches are gathered at once
_WORKERS = 2  # blocks that are decoded at the same time
_AT_ONCE = 4  # stretches that are planned when one is gathered: planning a whole window would keep the loop waiting


class BlockOrder:
    """The examples of an epoch in their order, worked out window by window when they are asked for.

    Args:
        counts: how many examples each block has.
        batch_size: how many make a batch.
        window: how many are shuffled among each other.
        seed: which experiment.
        epoch: which epoch.

    >>> order = BlockOrder(torch.tensor([2, 3, 2]), batch_size=2, window=4, seed=0, epoch=1)
    >>> len(order), sorted(order[0:7].tolist())
    (7, [0, 1, 2, 3, 4, 5, 6])
    """

    def __init__(self, counts: Int[Tensor, " block"], batch_size: int, window: int, seed: int, epoch: int) -> None:
        self._counts, self._batch, self._seed, self._epoch = counts, batch_size, seed, epoch
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


class BlockSource(Source):
    """Batches of a part of a large table, prepared, on a device.

    Args:
        part: what to read.
        preparing: a fitted `Preprocess`.
        device: where batches are wanted.
        augment: random changes of training examples.
        window: how many rows are shuffled among each other; by default a million, or as many as 256 MiB hold.
    """

    blocks = True

    def __init__(
        self,
        part: LargePart,
        preparing: _Preparing,
        device: torch.device | str = "cpu",
        augment: Augment | None = None,
        window: int | None = None,
    ) -> None:
        super().__init__(part, preparing, device, -1, augment)
        self.part = part
        self.row_bytes = 4 * preparing.kept[0] + 4 * max(2, part.spec.outputs)
        self.window = min(WINDOW, WINDOW_BYTES // self.row_bytes) if window is None else window
        at_least("window", self.window, 1)
        self.limit = 2 * max(self.window, int(part.counts.max())) * self.row_bytes
        self.peak, self.blocks_read = 0, 0

    def order(self, batch_size: int, seed: int, epoch: int) -> BlockOrder:
        """Give the order of an epoch."""
        return BlockOrder(self.part.counts, batch_size, self.window, seed, epoch)

    def prefetch(
        self, order: Sequence[Int[Tensor, " _"]], keys: Sequence[Key | None] | None = None, ahead: int = 4
    ) -> None:
        """Begin to read batches that will be asked for in this order.

        Args:
            order: the indices of each batch, or of a slice of it; looked at a window ahead.
            keys: not needed, since rows are changed when they are asked for.
            ahead: how many stretches of batches may wait.
        """
        at_least("ahead", ahead, 1)
        self.close()
        self._ahead = _Stretches(self, order, ahead)  # type: ignore[assignment]

    def prepared(self, number: int) -> tuple[Tensor, Tensor]:
        """Read and prepare the rows of a block."""
        inputs, targets = self.part.read(number)
        return self._preparing.keep(inputs), self._preparing.targets(targets)


@dataclass(frozen=True)
class _Stretch:
    """Consecutive batches: their indices together, how long each is, and the blocks that hold them."""

    indices: Tensor
    sizes: list[int]
    homes: Tensor
    blocks: list[int]


class _Stretches:
    """A thread that gathers batches, some thousand rows at a time, and others that decode the blocks for it.

    Blocks are asked for as far ahead as memory allows: a block that no batch which is still to be gathered needs gives
    its place to one that a later batch needs.
    """

    def __init__(self, source: BlockSource, order: Sequence[Tensor], ahead: int) -> None:
        self._source, self._batches, self._left = source, iter(order), len(order)
        self._rows = min(_STRETCH, max(1, source.window // 8))
        self._blocks: dict[int, Future[tuple[Tensor, Tensor]]] = {}
        self._last: dict[int, int] = {}  # the number of the last stretch that is known to need a block
        self._planned: deque[_Stretch] = deque()
        self._next: _Stretch | None = None
        self._made = self._number = self._trimmed = 0
        self._decoding = ThreadPoolExecutor(_WORKERS, thread_name_prefix="lamina-decode")
        self._gathering = ThreadPoolExecutor(1, thread_name_prefix="lamina-gather")
        self._waiting: deque[Future[list[tuple[Tensor, Tensor, Tensor]]]] = deque(
            self._gathering.submit(self._make) for _ in range(ahead)
        )
        self._ready: deque[tuple[Tensor, Tensor, Tensor]] = deque()

    @property
    def held(self) -> int:
        """The bytes of prepared rows that are read or being read."""
        return sum(self._size(block) for block in self._blocks)

    def _size(self, block: int) -> int:
        return int(self._source.part.counts[block]) * self._source.row_bytes

    def next(self, indices: Tensor, key: Key | None) -> tuple[Tensor, Tensor] | None:
        """Give the next batch if it is the one asked for, else None and nothing more."""
        try:
            while not self._ready and self._waiting:
                made = self._waiting.popleft().result()
                self._ready.extend(made)
                if made:
                    self._waiting.append(self._gathering.submit(self._make))
        except BaseException:  # Ctrl-C too: no thread may outlive the loop that it feeds
            self.close()
            raise
        if not self._ready or not self._ready[0][0].equal(indices):
            self.close()
            return None
        _, inputs, targets = self._ready.popleft()
        self._left -= 1
        if not self._left:  # that was the last one
            self.close()
        return inputs, targets

    def close(self) -> None:
        """Stop the threads and forget what they read."""
        self._batches = iter(())
        self._gathering.shutdown(wait=False, cancel_futures=True)
        self._decoding.shutdown(wait=True, cancel_futures=True)
        for block in self._blocks.values():  # a thread that waits for a block that nobody will decode
            block.cancel()
        self._gathering.shutdown(wait=True)
        self._waiting.clear()
        self._ready.clear()
        self._blocks.clear()

    def _coming(self) -> _Stretch | None:
        """Look at the next batches of the order."""
        batches: list[Tensor] = []
        rows = 0
        while rows < self._rows and (found := list(islice(self._batches, 1))):
            batches.append(found[0].cpu())
            rows += max(1, len(found[0]))
        if not batches:
            return None
        indices = torch.cat(batches)
        homes = self._source.part.block_of(indices)
        return _Stretch(indices, [len(each) for each in batches], homes, homes.unique().tolist())

    def _plan(self) -> None:
        """Ask for the blocks of coming stretches, as far as there is memory; for those of the next one always."""
        for _ in range(_AT_ONCE):
            self._next = self._next or self._coming()
            if self._next is None:
                return
            new = [block for block in self._next.blocks if block not in self._blocks]
            needed = sum(map(self._size, new))
            if new and self.held + needed > self._source.limit:
                self._forget(self.held + needed - self._source.limit)
                if self._planned and self.held + needed > self._source.limit:
                    return
            for block in new:
                self._blocks[block] = self._decoding.submit(self._source.prepared, block)
                self._source.blocks_read += 1
            self._last |= dict.fromkeys(self._next.blocks, self._number)
            self._number += 1
            self._planned.append(self._next)
            self._next = None
            self._source.peak = max(self._source.peak, self.held)

    def _forget(self, bytes_: int) -> None:
        """Let go of blocks that no planned stretch needs, those first that were needed longest ago."""
        free = [block for block in self._blocks if self._last[block] < self._made]
        needed = set(self._next.blocks) if self._next else set()
        for block in sorted(free, key=lambda block: self._last[block]):
            if bytes_ > 0 and block not in needed:
                bytes_ -= self._size(block)
                del self._blocks[block]
        if self._number - self._trimmed > 32:
            self._trimmed = self._number
            give_back()

    def _make(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Gather the batches of the next stretch: indices, inputs and targets of each."""
        self._plan()
        if not self._planned:
            return []
        stretch = self._planned.popleft()
        order, inputs, targets = stretch.homes.argsort(stable=True), [], []
        counts = torch.bincount(stretch.homes, minlength=1)[stretch.blocks].tolist()
        for block, places in zip(stretch.blocks, order.split(counts), strict=True):
            rows, wanted = self._blocks[block].result()
            within = stretch.indices[places] - self._source.part.starts[block]
            inputs.append(rows.index_select(0, within))
            targets.append(wanted.index_select(0, within))
        self._made += 1
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order))
        ready = [torch.cat(parts).index_select(0, back) for parts in (inputs, targets)]
        if self._source.device.type == "cuda":
            ready = [part.pin_memory() for part in ready]
        parts = zip(*(part.split(stretch.sizes) for part in (stretch.indices, *ready)), strict=True)
        return [(indices, rows, wanted) for indices, rows, wanted in parts]
