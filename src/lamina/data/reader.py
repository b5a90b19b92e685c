"""A process that reads a large table for this one, and puts what it gathered into a ring of shared memory.

It gathers what `gathering` would gather here, and says in a pipe which place of the ring holds the next batches. A
place is free again when the next ones are asked for. It ends when its pipe closes or the process that it reads for is
gone, however that ended; there is nothing to clean up, since the ring has no name in any file system.
"""

import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

import torch

from lamina import _child as child
from lamina._system import STOPS, end_with, free_memory, shared, shared_by, step_back
from lamina._types import Tensor
from lamina.data.gathering import Blocks, Gathered, Gathering

_ALIGNED = 64
"""Places in the ring, and the targets in each, begin at multiples of so many bytes."""


class EndedError(Exception):
    """The process could not begin, or is gone."""


class InProcess:
    """Gathers in a process of its own.

    Args:
        rows: of which table.
        longest: how many rows are gathered at once, at most.
        ahead: how many stretches of batches may wait.
        pin: whether they go to a GPU.

    Raises:
        EndedError: there is no memory or no process for it, or the table cannot be given to it.
    """

    def __init__(self, rows: Blocks, longest: int, ahead: int, pin: bool) -> None:
        self.room, self._pin = (longest, ahead), pin
        self._place = _aligned(longest * rows.row_bytes) + _ALIGNED
        self._order, self._held = -1, -1
        if self._place * ahead > free_memory() // 2:
            size = self._place * ahead / 2**20
            raise EndedError(f"what a process reads ahead, {size:,.0f} MiB, would take half of the free memory")
        log: IO[bytes] = tempfile.TemporaryFile()
        handles: tuple[int, ...] = ()
        try:
            ring, name, handles = shared(self._place * ahead)
            words = pickle.dumps((rows, name, self._place, ahead, os.getpid(), _flushes()))
            self._process = subprocess.Popen(
                child.command("lamina.data.reader"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                pass_fds=handles,
                process_group=0,  # Ctrl-C is for who is read for
            )
        except Exception as error:  # what a preparation of somebody's own raises when it is pickled, too
            log.close()
            raise EndedError(f"no process that reads could be started ({error})") from error
        finally:
            for handle in handles:
                os.close(handle)
        self._talk, self._ring = child.Talk(self._process, log), torch.frombuffer(ring, dtype=torch.uint8)
        self._end = weakref.finalize(self, _end, self._process, log)
        self._talk.say(words)

    def begin(self, order: Sequence[Tensor]) -> None:
        """Read the batches of an order, and those of the orders that follow it."""
        self._order += 1
        try:
            words = pickle.dumps((self._order, order))
        except Exception as error:
            raise EndedError(f"the order of the batches cannot be given to a process that reads ({error})") from error
        self._talk.say(words)

    def next(self) -> Gathered:
        """Give the next batches of the order."""
        while True:
            if self._held >= 0:
                self._talk.say(pickle.dumps(self._held))
            number, self._held, said = self._hear()
            if number == self._order:
                break
        if isinstance(said, BaseException):
            raise said
        sizes, read, held, *parts = said
        inputs, targets = _placed(self._ring, self._held * self._place, parts)
        made = Gathered(sizes, inputs, targets, read, held, lent=True)
        return made.pinned() if self._pin else made

    def done(self) -> None:
        """Keep the process, which may be given another order."""

    def close(self) -> None:
        """End the process."""
        self._end()

    def _hear(self) -> Any:
        try:
            return self._talk.hear()
        except EOFError as error:
            raise EndedError(f"the process that reads the table has ended ({error})") from None


def _end(process: "subprocess.Popen[bytes]", log: IO[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, log):
        with suppress(OSError):  # what it did not read is lost with it
            if pipe is not None:
                pipe.close()


def _flushes() -> bool:
    """Say whether this thread takes the smallest numbers for zero, as the process must do then, too."""
    return bool(torch.tensor(1e-39, dtype=torch.float32) * 1.0 == 0)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _placed(ring: Tensor, start: int, parts: Sequence[tuple[tuple[int, ...], torch.dtype]]) -> list[Tensor]:
    """Give tensors of some shapes and types, one after the other in the ring."""
    found = []
    for shape, dtype in parts:
        end = start + math.prod(shape) * dtype.itemsize
        found.append(ring[start:end].view(dtype).reshape(shape))
        start = _aligned(end)
    return found


def main() -> None:
    """Be the process."""
    for stop in STOPS:
        signal.signal(stop, signal.SIG_IGN)
    try:
        _read(child.voice())
    except BaseException:  # the thread that listens would keep this process from ending
        child.give_up()


def _read(out: IO[bytes]) -> None:
    """Gather what is asked for until nobody asks any more."""
    rows, name, place, places, parent, flushing = pickle.load(sys.stdin.buffer)
    end_with(parent)
    step_back(5)  # its threads together would push the loop that it feeds from its processor
    torch.set_num_threads(1)
    torch.set_flush_denormal(flushing)
    ring = torch.frombuffer(shared_by(name, place * places), dtype=torch.uint8)
    given: queue.Queue[Any] = queue.Queue()

    def say(*thing: Any) -> None:
        pickle.dump(thing, out)
        out.flush()

    listen = child.listening(lambda: pickle.load(sys.stdin.buffer), given.put)
    threading.Thread(target=listen, daemon=True).start()
    free, number, gathering = deque(range(places)), -1, None
    while True:
        while gathering is None or not free or not given.empty():
            said = given.get()
            if isinstance(said, int):
                free.append(said)
                continue
            if gathering is not None:
                gathering.close()
            number, gathering = said[0], Gathering(rows, said[1])
        try:
            made = gathering.next()
        except Exception as error:
            say(number, -1, _told(error))
            made = None
        if made is None:
            gathering.close()
            gathering = None
            continue
        parts = [(tuple(part.shape), part.dtype) for part in (made.inputs, made.targets)]
        if (size := sum(_aligned(part.nbytes) for part in (made.inputs, made.targets))) > place:
            raise RuntimeError(f"rows take {size:,} bytes, and not at most {place:,} as their preparation has said")
        for part, there in zip((made.inputs, made.targets), _placed(ring, free[0] * place, parts), strict=True):
            there.copy_(part)
        say(number, free.popleft(), (made.sizes, made.read, made.held, *parts))


def _told(error: Exception) -> Exception:
    """Give an error as another process can have it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
