"""Measure what ranks on the cores of one machine take while they compute at the same time.

Each is a process that makes the updates of a rank and leaves out what it would hear from the others. What these take
longer than one alone is what they share: caches, memory, and the units of a core that the system counts twice.
"""

import math
import os
import pickle
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, NamedTuple

from lamina._errors import RunError
from lamina.scaling.measure import Timings, of_rank, rising, spread, updates
from lamina.training.plan import Plan, plan
from lamina.training.runtime import Runtime

MOST = 8
"""How many processes compute at once, at most."""

LEAST = 10.0
"""Seconds for measuring below which it does not pay to start processes."""


class Asked(NamedTuple):
    """What `training.plan` is asked for, so that a process can make the same job."""

    name: str
    data: Any
    data_options: dict[str, Any]
    options: dict[str, Any]
    epochs: int | None
    seed: int

    def job(self) -> Plan:
        """Make it."""
        return plan(
            self.name,
            self.data,
            data_options=self.data_options,
            options=self.options,
            epochs=self.epochs,
            seed=self.seed,
        )


def beside(asked: Asked, sizes: Mapping[int, int], runtime: Runtime, seconds: float) -> tuple[Timings, float]:
    """Time updates in several processes at once.

    Args:
        asked: network, data and recipe.
        sizes: the examples of a rank, and how many ranks compute beside each other then.
        runtime: device, threads and flags of each.
        seconds: how long this may take, about, without starting the processes.

    Returns:
        The seconds of an update for each size, and their spread as a share of them.

    Raises:
        RunError: a process cannot be given the job, or has ended.
    """
    words, spreads, timings = _packed((asked, runtime)), list[float](), dict[int, float]()
    workers = [_Worker(words) for _ in range(max(sizes.values()))]
    try:
        for worker in workers:
            worker.hear()
        for size, count in sizes.items():
            some = workers[:count]
            for word in ((size, seconds / len(sizes)), "go"):
                for worker in some:
                    worker.say(word)
                found = [worker.hear() for worker in some]  # that it is warm, then its timings
            timings[size] = statistics.fmean(statistics.median(each) for each in found)
            spreads.append(statistics.median(map(spread, found)))
    finally:
        for worker in workers:
            worker.end()
    return rising(sorted(timings.items())), statistics.median(spreads)


def _packed(thing: Any) -> bytes:
    try:
        return pickle.dumps(thing)
    except Exception as error:  # what somebody's own data raise when they are pickled
        raise RunError(f"the data cannot be given to other processes ({error}).") from error


class _Worker:
    """One process, seen from here."""

    def __init__(self, words: bytes) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()
        command = [sys.executable, "-m", "lamina.scaling.beside"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)
        self._send(words)

    def say(self, thing: Any) -> None:
        self._send(pickle.dumps(thing))

    def _send(self, words: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended, which `hear` says
            self._process.stdin.write(words)
            self._process.stdin.flush()

    def hear(self) -> Any:
        assert self._process.stdout is not None
        try:
            return pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError) as error:
            self._process.wait()
            self._log.seek(0)
            lines = self._log.read().decode(errors="replace").strip().splitlines()
            raise RunError(f"a process that measures has ended ({lines[-1] if lines else 'no message'}).") from error

    def end(self) -> None:
        self._process.kill()
        with suppress(OSError):
            self._process.communicate()
        self._log.close()


def main() -> None:
    """Be one of the processes, which ends with the one that asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks hears it
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what is printed does not get among what is said

    def say(thing: Any) -> None:
        pickle.dump(thing, out)
        out.flush()

    asked, runtime = pickle.load(sys.stdin.buffer)
    job = asked.job()
    say("ready")
    with suppress(EOFError):
        while True:
            size, seconds = pickle.load(sys.stdin.buffer)
            with runtime.applied(job.recipe.precision) as used:
                step = of_rank(job, size, used)
                updates(step, 0.0)
                say("warm")
                pickle.load(sys.stdin.buffer)
                until = time.perf_counter() + seconds
                say(updates(step, seconds, math.inf))
                while time.perf_counter() < until:  # nobody computes alone
                    step()
                step.feed.source.close()


if __name__ == "__main__":
    main()
