"""Processes on this machine: each reads chunks from a pipe and writes what came of them to another.

A worker that is killed loses its chunk only, which another process begins again. When the search itself is killed, by
whatever signal, its end of the pipes closes and the workers end.
"""

import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Iterator
from typing import IO, Any

from lamina import _child as child
from lamina.studies.engines.chunk import DEATHS, Chunk, Tell, Tried
from lamina.studies.engines.job import Job, deadly, failed, gpu
from lamina.studies.records import Moment

TICK = 0.2
MOST = 1024
"""How many processes a search may have."""
Said = tuple["_Worker", Tried | Moment | str | None]


class Processes:
    """Train in processes of this machine, each with a GPU of its own where there are several.

    Args:
        count: how many.
        job: what they train.
    """

    def __init__(self, count: int, job: Job) -> None:
        self.workers = self.present = count
        self.lost, self._job = 0, job
        self._said: queue.Queue[Said] = queue.Queue()
        self._at_work: list[_Worker] = []

    def ready(self, tell: Tell) -> str:
        """Name the kind of device."""
        return self._job.runtime.device.partition(":")[0]

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._at_work:
            worker.end()

    def __call__(self, chunks: Iterator[Chunk], tell: Tell) -> Iterator[Tried]:
        """Give each worker a chunk when it is free."""
        again: deque[Chunk] = deque()
        deaths: Counter[int] = Counter()
        while True:
            while (index := self._free()) is not None:
                chunk = again.popleft() if again else next(chunks, None)
                if chunk is None:
                    break
                self._hand(index).give(chunk)
            if all(worker.chunk is None for worker in self._at_work):
                return
            try:
                worker, said = self._said.get(timeout=TICK)
            except queue.Empty:
                tell(-1, None)
                continue
            chunk = worker.chunk
            if worker not in self._at_work or chunk is None:
                continue
            if isinstance(said, Moment):
                tell(chunk.number, said)
            elif isinstance(said, Tried):
                worker.chunk = None
                yield said
            elif isinstance(said, str):
                raise failed(said)
            else:
                self.lost += 1
                deaths[chunk.number] += 1
                words = worker.end()
                if deaths[chunk.number] == DEATHS:
                    raise deadly(DEATHS, words)
                again.append(chunk)
                worker.chunk = None

    def _free(self) -> int | None:
        """Find a place without work."""
        idle = (index for index, worker in enumerate(self._at_work) if worker.chunk is None)
        return next(idle, len(self._at_work) if len(self._at_work) < self.workers else None)

    def _hand(self, index: int) -> "_Worker":
        """Give the worker of a place, a new one if there is none or it has ended."""
        if index < len(self._at_work) and self._at_work[index].lives:
            return self._at_work[index]
        made = _Worker(index, self._job, self._said)
        self._at_work[index : index + 1] = [made]
        return made


class _Worker:
    """One process, seen from the search."""

    def __init__(self, index: int, job: Job, said: "queue.Queue[Said]") -> None:
        self.chunk: Chunk | None = None
        self._log: IO[bytes] = tempfile.TemporaryFile()
        command = child.command("lamina.studies.engines.processes")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=_environment(job, index)
        )
        self._listener = threading.Thread(target=self._listen, args=(said,), daemon=True)
        self._listener.start()
        self._send(job)

    @property
    def lives(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def give(self, chunk: Chunk) -> None:
        """Let it try a chunk."""
        self.chunk = chunk
        self._send(chunk)

    def _send(self, thing: Job | Chunk) -> None:
        assert self._process.stdin is not None
        try:
            pickle.dump(thing, self._process.stdin)
            self._process.stdin.flush()
        except OSError:
            pass  # it has ended, which its listener says

    def _listen(self, said: "queue.Queue[Said]") -> None:
        """Pass on what it says; None when it has ended."""
        assert self._process.stdout is not None
        try:
            child.hear_hello(self._process.stdout)
            while True:
                said.put((self, pickle.load(self._process.stdout)))
        except (EOFError, OSError, pickle.UnpicklingError):
            said.put((self, None))

    def end(self) -> str:
        """End it, and give its last words."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                pass  # what it did not read is lost with it
        if self._log.closed:
            return ""
        found = child.last_words(self._log, None, "they left no message")
        self._log.close()
        return found


def _environment(job: Job, index: int) -> dict[str, str]:
    """Give the variables of a worker, with a GPU of its own where there are several and none is named."""
    if job.runtime.device != "cuda":
        return dict(os.environ)
    import torch

    name = "CUDA_VISIBLE_DEVICES"
    chosen = gpu(os.environ.get(name), torch.cuda.device_count(), index)
    return {**os.environ, **({} if chosen is None else {name: chosen})}


def main() -> None:
    """Be a worker, which ends with its search."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the search hears it and ends its workers
    out = child.voice()
    given: queue.Queue[Any] = queue.Queue()

    def say(thing: Tried | Moment | str) -> None:
        pickle.dump(thing, out)
        out.flush()

    listen = child.listening(lambda: pickle.load(sys.stdin.buffer), given.put)
    threading.Thread(target=listen, daemon=True).start()
    job: Job = given.get()
    for chunk in iter(given.get, None):
        say(job.attempt(chunk, say))
