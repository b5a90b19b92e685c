"""Decoding in worker threads: batches of a known order a little ahead of their use, or everything once.

Pillow releases the interpreter lock while it decodes and resizes, so threads suffice: nothing is pickled and the pixels
are written straight into the batch. How much is held is bounded by the number of batches ahead, never by time.
"""

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import torch

from lamina._errors import at_least
from lamina._types import Int, Tensor

Decode = Callable[[int], Tensor]
"""Gives the stored example of an index; called from several threads at once."""

Progress = Callable[[int, int], None]
"""Called with how many are done and how many there are, in the thread that waits."""

_CHUNK = 2**14  # examples whose tasks are made at once
_PART = 16  # examples that one task decodes: small enough to share a batch among workers, large enough to be cheap


def worker_count() -> int:
    """Give the number of decoding threads: the processors this process may use, at most 8.

    >>> 1 <= worker_count() <= 8
    True
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(8, usable)


@dataclass(frozen=True)
class _Batch:
    indices: Tensor
    inputs: Tensor
    parts: tuple["Future[None]", ...]


def _fill(decode: Decode, indices: list[int], out: Tensor, closed: threading.Event) -> None:
    for place, index in enumerate(indices):
        if closed.is_set():
            return
        out[place] = decode(index)


def _submit(pool: ThreadPoolExecutor, decode: Decode, indices: Tensor, out: Tensor, closed: threading.Event) -> _Batch:
    pairs = zip(indices.split(_PART), out.split(_PART), strict=True)
    return _Batch(
        indices, out, tuple(pool.submit(_fill, decode, part.tolist(), place, closed) for part, place in pairs)
    )


def _stop(pool: ThreadPoolExecutor, closed: threading.Event) -> None:
    closed.set()
    pool.shutdown(wait=False, cancel_futures=True)


class Stream:
    """Batches in a known order, decoded ahead by threads: an iterator of (inputs, targets) that must be closed.

    At most `ahead` batches are held besides the one the consumer has. What a worker raises is raised here, when the
    turn of its batch comes. The end, an exception (Ctrl-C too), `close`, the `with` statement and the garbage
    collector each stop the threads.

    Args:
        decode: gives the stored example of one index.
        targets: the targets of all examples.
        order: the indices of each batch, in the order of use.
        shape: the shape of one stored example.
        dtype: its type.
        workers: threads; None for one a processor.
        ahead: how many batches may be decoded or in work before they are asked for.

    >>> squares = Stream(lambda i: torch.tensor([i * i]), torch.arange(4), [torch.tensor([3, 1])], shape=(1,))
    >>> [(inputs.tolist(), targets.tolist()) for inputs, targets in squares]
    [([[9], [1]], [3, 1])]
    """

    def __init__(
        self,
        decode: Decode,
        targets: Tensor,
        order: Sequence[Int[Tensor, " _"]],
        *,
        shape: tuple[int, ...],
        dtype: torch.dtype = torch.uint8,
        workers: int | None = None,
        ahead: int = 2,
    ) -> None:
        at_least("ahead", ahead, 1)
        at_least("workers", workers := worker_count() if workers is None else workers, 1)
        self._decode, self._targets, self._shape, self._dtype, self._ahead = decode, targets, shape, dtype, ahead
        self._rest: Iterator[Tensor] = iter(order)
        self._pending: deque[_Batch] = deque()
        self._closed = threading.Event()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="lamina-decode")
        # The tasks know the pool's parts but not the stream: a forgotten stream is collected and its threads end.
        self._finalizer = weakref.finalize(self, _stop, self._pool, self._closed)
        self.peak = 0
        self._refill()

    @property
    def held(self) -> int:
        """The bytes of the batches that are decoded or in work and not yet handed out; `peak` is the most ever held."""
        return sum(batch.inputs.nbytes for batch in self._pending)

    def _refill(self) -> None:
        for indices in islice(self._rest, self._ahead - len(self._pending)):
            out = torch.empty((len(indices), *self._shape), dtype=self._dtype)
            self._pending.append(_submit(self._pool, self._decode, indices.cpu(), out, self._closed))
        self.peak = max(self.peak, self.held)

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> tuple[Tensor, Tensor]:
        if not self._pending:
            self.close()
            raise StopIteration
        try:
            for part in self._pending[0].parts:
                part.result()
        except BaseException:  # Ctrl-C too: no thread may outlive the loop that it feeds
            self.close()
            raise
        batch = self._pending.popleft()
        self._refill()
        return batch.inputs, self._targets[batch.indices]

    def close(self) -> None:
        """Stop the threads and forget what was decoded; a closed stream has ended."""
        self._rest = iter(())
        self._pending.clear()
        self._finalizer()
        self._pool.shutdown(wait=True)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _decode_all(
    decode: Decode,
    count: int,
    shape: tuple[int, ...],
    *,
    dtype: torch.dtype = torch.uint8,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Tensor:
    """Decode the examples 0 to `count` - 1 once, in parallel, into one resident tensor."""
    out, closed = torch.empty((count, *shape), dtype=dtype), threading.Event()
    with ThreadPoolExecutor(workers or worker_count(), thread_name_prefix="lamina-decode") as pool:
        try:
            for first in range(0, count, _CHUNK):
                some = torch.arange(first, min(first + _CHUNK, count))
                batch = _submit(pool, decode, some, out[first : first + _CHUNK], closed)
                for number, part in enumerate(batch.parts, 1):
                    part.result()
                    if progress is not None:
                        progress(min(first + number * _PART, count), count)
        except BaseException:
            _stop(pool, closed)
            raise
    return out
