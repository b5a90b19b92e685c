r"""Gathers the batches of an order from the blocks of a large table, some thousand rows at a time.

At most two windows of prepared rows are held: the one that is used, and as much of the next as has been read. Blocks
are asked for as far ahead as that allows: a block that no batch which is still to be gathered needs gives its place to
one that a later batch needs. A block is read once per epoch. Which indices are asked for decides which blocks are read,
and nothing else.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Protocol

import torch

from lamina._system import give_back
from lamina._types import Tensor
from lamina.data.large import LargePart
from lamina.data.source import _Preparing

STRETCH = 2**14  # rows whose batches are gathered at once
WORKERS = 2  # blocks that are decoded at the same time
_CACHED = 2**20  # bytes that are prepared at once: what lies between is not written to memory
_AT_ONCE = 4  # stretches that are planned when one is gathered: planning a whole window would keep the loop waiting


@dataclass(frozen=True)
class Blocks:
    """The prepared rows of a part of a large table, block by block.

    Args:
        part: what to read.
        preparing: a fitted `Preprocess`.
        window: how many rows are shuffled among each other.
        workers: how many blocks are decoded at the same time.
    """

    part: LargePart
    preparing: _Preparing
    window: int
    workers: int

    @property
    def row_bytes(self) -> int:
        """The bytes of a prepared row with its target, at most."""
        return 4 * self.preparing.kept[0] + 4 * max(2, self.part.spec.outputs)

    @property
    def limit(self) -> int:
        """The bytes of the blocks that are held, at most."""
        return 2 * max(self.window, int(self.part.counts.max())) * self.row_bytes

    @property
    def stretch(self) -> int:
        """How many rows are gathered at once, about: as many batches as begin among them."""
        return min(STRETCH, max(1, self.window // 8))

    def size(self, block: int) -> int:
        """Give the bytes of a block."""
        return int(self.part.counts[block]) * self.row_bytes

    def prepared(self, number: int) -> tuple[Tensor, Tensor]:
        """Read and prepare the rows of a block."""
        inputs, targets = self.part.read(number)
        at_once = max(1, _CACHED // (8 * max(1, inputs.shape[1])))
        parts = [self.preparing.keep(part) for part in inputs.split(at_once)]
        return torch.cat(parts), self.preparing.targets(targets)


@dataclass(frozen=True)
class Gathered:
    """Consecutive batches.

    Args:
        sizes: how long each is.
        inputs: their rows together.
        targets: the targets of these.
        read: how many blocks were read for them.
        held: the bytes of blocks that were held, at most.
        lent: whether the rows are overwritten when the next ones are asked for.
    """

    sizes: list[int]
    inputs: Tensor
    targets: Tensor
    read: int
    held: int
    lent: bool = False

    def pinned(self) -> "Gathered":
        """Give them in memory that a GPU copies from without being waited for."""
        return replace(self, inputs=self.inputs.pin_memory(), targets=self.targets.pin_memory(), lent=False)


class Reader(Protocol):
    """Who gathers batches ahead of their use."""

    def begin(self, order: Sequence[Tensor]) -> None:
        """Read the batches of an order, and those of the orders that follow it."""
        ...

    def next(self) -> Gathered:
        """Give the next batches of the order."""
        ...

    def done(self) -> None:
        """Hear that the last batch of the last order was taken."""
        ...

    def close(self) -> None:
        """End, and forget what was read."""
        ...


@dataclass(frozen=True)
class _Stretch:
    """Consecutive batches: their indices together, how long each is, and the blocks that hold them."""

    indices: Tensor
    sizes: list[int]
    homes: Tensor
    blocks: list[int]


class Gathering:
    """Gathers the batches of an order, and of those that follow it, while threads decode blocks for what comes.

    Args:
        rows: of which table.
        order: the indices of each batch; what its `following` gives, if it has that, is read after it.
    """

    def __init__(self, rows: Blocks, order: Sequence[Tensor]) -> None:
        self._source, self._batches = rows, _endless(order)
        self._blocks: dict[int, Future[tuple[Tensor, Tensor]]] = {}
        self._last: dict[int, int] = {}  # the number of the last stretch that is known to need a block
        self._planned: deque[tuple[_Stretch, int]] = deque()
        self._next: _Stretch | None = None
        self._made = self._number = self._trimmed = self._peak = 0
        self._decoding = ThreadPoolExecutor(rows.workers, thread_name_prefix="lamina-decode")

    @property
    def held(self) -> int:
        """The bytes of prepared rows that are read or being read."""
        return sum(map(self._source.size, self._blocks))

    def close(self) -> None:
        """Stop the threads and forget what they read; who gathers at this moment hears that it is cancelled."""
        self._batches = iter(())
        self._decoding.shutdown(wait=True, cancel_futures=True)
        for block in list(self._blocks.values()):  # a thread that waits for a block that nobody will decode
            block.cancel()

    def _coming(self) -> _Stretch | None:
        """Look at the next batches of the order; those of two epochs are not mixed."""
        batches: list[Tensor] = []
        rows = 0
        while rows < self._source.stretch and (found := list(islice(self._batches, 1))):
            if found[0] is None:
                if batches:
                    break
                continue
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
            needed = sum(map(self._source.size, new))
            if new and self.held + needed > self._source.limit:
                self._forget(self.held + needed - self._source.limit)
                if self._planned and self.held + needed > self._source.limit:
                    return
            for block in new:
                self._blocks[block] = self._decoding.submit(self._source.prepared, block)
            self._last |= dict.fromkeys(self._next.blocks, self._number)
            self._number += 1
            self._planned.append((self._next, len(new)))
            self._next = None
            self._peak = max(self._peak, self.held)

    def _forget(self, bytes_: int) -> None:
        """Let go of blocks that no planned stretch needs, those first that were needed longest ago."""
        free = [block for block in self._blocks if self._last[block] < self._made]
        needed = set(self._next.blocks) if self._next else set()
        for block in sorted(free, key=lambda block: self._last[block]):
            if bytes_ > 0 and block not in needed:
                bytes_ -= self._source.size(block)
                del self._blocks[block]
        if self._number - self._trimmed > 32:
            self._trimmed = self._number
            give_back()

    def next(self) -> Gathered | None:
        """Gather the next batches; None after the last ones."""
        self._plan()
        if not self._planned:
            return None
        stretch, read = self._planned.popleft()
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
        made = [torch.cat(parts).index_select(0, back) for parts in (inputs, targets)]
        return Gathered(stretch.sizes, made[0], made[1], read, self._peak)


def _endless(order: Any) -> Iterator[Tensor | None]:
    """Give the batches of an order and of those that follow it, with None at the end of each."""
    while order is not None:
        yield from chain(order, [None])
        order = order.following() if hasattr(order, "following") else None


class InThread:
    """Gathers in a thread of this process.

    Args:
        rows: of which table.
        ahead: how many stretches of batches may wait.
        pin: whether they go to a GPU.
    """

    def __init__(self, rows: Blocks, ahead: int, pin: bool) -> None:
        self._rows, self._ahead, self._pin = rows, ahead, pin
        self._gathering: Gathering | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: deque[Future[Gathered | None]] = deque()

    def begin(self, order: Sequence[Tensor]) -> None:
        """Read the batches of an order, and those of the orders that follow it."""
        self.close()
        self._gathering = Gathering(self._rows, order)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="lamina-gather")
        self._waiting.extend(self._pool.submit(self._make, self._gathering) for _ in range(self._ahead))

    def _make(self, gathering: Gathering) -> Gathered | None:
        made = gathering.next()
        return made.pinned() if made and self._pin else made

    def next(self) -> Gathered:
        """Give the next batches of the order."""
        made = self._waiting.popleft().result()
        assert made is not None and self._pool is not None and self._gathering is not None
        self._waiting.append(self._pool.submit(self._make, self._gathering))
        return made

    def done(self) -> None:
        """End the threads: nothing is left to be read."""
        self.close()

    def close(self) -> None:
        """Stop the threads and forget what they read."""
        if self._pool is None or self._gathering is None:
            return
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._gathering.close()
        self._pool.shutdown(wait=True)
        self._waiting.clear()
        self._gathering = self._pool = None
