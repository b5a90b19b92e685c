r"""Batches of a large table in the order of `BlockOrder`, read ahead by a thread, or by a process of its own.

A thread shares the interpreter's lock with the loop that it feeds, which costs the loop a tenth of its speed. A process
does not, but takes some seconds to start. So a part whose prepared rows take at least a gigabyte gets a process, and a
smaller one a thread. Both give the same batches; where no process can be started, or when it dies, a thread goes on.
"""

import warnings
from collections.abc import Sequence
from typing import cast

import torch

from lamina._errors import DataWarning, at_least
from lamina._types import Int, Tensor
from lamina.data.augment import Augment
from lamina.data.block_order import BlockOrder
from lamina.data.gathering import WORKERS, Blocks, Gathered, InThread, Reader
from lamina.data.large import LargePart
from lamina.data.reader import EndedError, InProcess
from lamina.data.source import Batches, Key, Source, _Preparing

WINDOW = 2**20  # rows that are shuffled among each other ...
WINDOW_BYTES = 2**28  # ... unless they are wide
APART = 2**30  # bytes of prepared rows from which on a process reads them
AHEAD = 8  # stretches of batches that may wait


class BlockSource(Source):
    """Batches of a part of a large table, prepared, on a device.

    Args:
        part: what to read.
        preparing: a fitted `Preprocess`.
        device: where batches are wanted.
        augment: random changes of training examples.
        window: how many rows are shuffled among each other; by default a million, or as many as 256 MiB hold.
        apart: whether a process of its own reads; by default if the prepared rows take at least a gigabyte.
    """

    blocks = True

    def __init__(
        self,
        part: LargePart,
        preparing: _Preparing,
        device: torch.device | str = "cpu",
        augment: Augment | None = None,
        window: int | None = None,
        apart: bool | None = None,
    ) -> None:
        super().__init__(part, preparing, device, -1, augment)
        rows = Blocks(part, preparing, 1, WORKERS)
        self.window = min(WINDOW, WINDOW_BYTES // rows.row_bytes) if window is None else window
        at_least("window", self.window, 1)
        self.rows = Blocks(part, preparing, self.window, WORKERS)
        self.apart = len(part) * rows.row_bytes >= APART if apart is None else apart
        self.limit, self.peak, self.blocks_read = self.rows.limit, 0, 0
        self._reader: Reader | None = None
        self._order: Sequence[Tensor] = []
        self._coming: Sequence[Tensor] | None = None
        self._number = self._place = self._row = 0
        self._gathered: Gathered | None = None

    def order(self, batch_size: int, seed: int, epoch: int, epochs: int | None = None) -> BlockOrder:
        """Give the order of an epoch."""
        return BlockOrder(self.rows.part.counts, batch_size, self.window, seed, epoch, epochs)

    def prefetch(
        self, order: Sequence[Int[Tensor, " _"]], keys: Sequence[Key | None] | None = None, ahead: int = AHEAD
    ) -> None:
        """Begin to read batches that will be asked for in this order.

        If it is the order that follows the one before, as its `following` says, it is being read already.

        Args:
            order: the indices of each batch, or of a slice of it; looked at a window ahead.
            keys: not needed, since rows are changed when they are asked for.
            ahead: how many stretches of batches may wait.
        """
        at_least("ahead", ahead, 1)
        done = self._number == len(self._order)  # else what is read next belongs to the order that was left
        if self._reader is None or self._coming is None or not done or order != self._coming:
            self._begin(order, ahead)
        self._turn(order)

    def batch(self, indices: Int[Tensor, " batch"], key: Key | None = None) -> tuple[Tensor, Tensor]:
        """Give prepared inputs and targets: those that are read ahead, or any others, and then nobody reads ahead."""
        if self._number < len(self._order) and self._order[self._number].equal(indices.cpu()):
            return self.following(self._order, self._number, key)
        self.close()
        return super().batch(indices, key)

    def following(self, order: Sequence[Tensor], number: int, key: Key | None = None) -> tuple[Tensor, Tensor]:
        """Give a batch of an order that is read ahead, from this batch on if that has not begun.

        Args:
            order: what `prefetch` was given.
            number: of the batch.
            key: (seed, step) of a training update; None for evaluation.
        """
        if order is not self._order or number != self._number or self._reader is None:
            self.prefetch(order[number:])
            self._order, self._number = order, number
        try:
            kept, targets = self._next()
        except BaseException:  # Ctrl-C too: nobody may outlive the loop that it feeds
            self.close()
            raise
        kept, targets = (part.to(self.device, non_blocking=True) for part in (kept, targets))
        return self._finished(kept, targets, key)

    def close(self) -> None:
        """Stop reading ahead."""
        super().close()
        if self._reader is not None:
            self._reader.close()
        self._reader = self._coming = None
        self._turn([])

    def _turn(self, order: Sequence[Tensor]) -> None:
        """Stand before the first batch of an order."""
        self._order, self._number, self._gathered = order, 0, None
        self._coming = order.following() if isinstance(order, Batches) else None

    def _begin(self, order: Sequence[Tensor], ahead: int) -> None:
        """Let somebody read an order."""
        rows = self.rows.stretch + max(0, _longest(order) - 1)
        self.limit = self.rows.limit + ahead * rows * self.rows.row_bytes
        if self.apart and isinstance(order, Batches):
            try:
                if not isinstance(self._reader, InProcess) or self._reader.room != (rows, ahead):
                    self.close()
                    self._reader = InProcess(self.rows, rows, ahead, self.device.type == "cuda")
                self._reader.begin(order)
                return
            except EndedError as error:
                self._goes_on(error)
        self.close()
        self._reader = InThread(self.rows, ahead, self.device.type == "cuda")
        self._reader.begin(order)

    def _goes_on(self, error: EndedError) -> None:
        """Say that a thread reads from now on."""
        self.apart = False
        warnings.warn(f"{error}: a thread reads the rows from here on, which is slower.", DataWarning, stacklevel=2)

    def _next(self) -> tuple[Tensor, Tensor]:
        """Give the next batch of what is read ahead."""
        if self._gathered is None or self._place == len(self._gathered.sizes):
            self._gathered, self._place, self._row = self._taken(), 0, 0
        gathered, first = self._gathered, self._row
        self._row += gathered.sizes[self._place]
        self._place, self._number = self._place + 1, self._number + 1
        batch = gathered.inputs[first : self._row], gathered.targets[first : self._row]
        if self._number == len(self._order) and self._coming is None and self._reader is not None:
            self._reader.done()
        return cast(tuple[Tensor, Tensor], tuple(part.clone() for part in batch)) if gathered.lent else batch

    def _taken(self) -> Gathered:
        """Take the next batches from whoever reads ahead."""
        assert self._reader is not None
        try:
            made = self._reader.next()
        except EndedError as error:
            order, number, coming = self._order, self._number, self._coming
            self._goes_on(error)
            self._begin(order[number:], AHEAD)
            self._order, self._number, self._coming = order, number, coming
            return self._taken()
        self.blocks_read += made.read
        self.peak = max(self.peak, made.held + self.limit - self.rows.limit)
        return made


def _longest(order: Sequence[Tensor]) -> int:
    return order.size if isinstance(order, Batches) else max(map(len, order), default=0)
