"""Measure what ranks on the cores of one machine take, in processes that compute at the same time.

Beside each other they make the updates of a rank and leave out what they would hear from the others. What these take
longer than one alone is what they share: caches, memory, and the units of a core that the system counts twice.

Together they make whole updates, and add up their sums as ranks do. A sum between two bursts of computing takes longer
than one between processes that do nothing else: who waits for it sleeps, and has to wake up, on a core and in caches
that others have used meanwhile; and whoever comes first waits for the last.
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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

import torch

from lamina import _child as child
from lamina._errors import RunError
from lamina._system import end_with
from lamina._types import Tensor
from lamina.scaling.measure import LEAST as FEWEST
from lamina.scaling.measure import WARM, Timings, endless, of_rank, of_ranks, rising, spread, updates
from lamina.scaling.scaled import Together
from lamina.training.plan import Plan, plan
from lamina.training.ranks import Ranks, surroundings
from lamina.training.runtime import Runtime

MOST = 8
"""How many processes compute at once, at most."""

TIMEOUT = timedelta(minutes=1)
"""How long they wait for each other."""

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


class Measured(NamedTuple):
    """What a rank measured of updates that it made together with others."""

    updates: list[float]
    """The seconds of each."""

    sums: list[list[tuple[int, float]]]
    """Of each, how many numbers were added up and the seconds that it took, in their order."""

    small: list[float]
    """The seconds of a sum of a few numbers after each."""


class Beside:
    """Processes on the cores of this machine that make the updates of ranks.

    Args:
        asked: network, data and recipe.
        runtime: device, threads and flags of each.
        most: how many processes.

    Raises:
        RunError: a process cannot be given the job, or has ended.
    """

    def __init__(self, asked: Asked, runtime: Runtime, most: int) -> None:
        words = _packed((asked, runtime, os.getpid()))
        self._workers: list[_Worker] = []
        try:
            while len(self._workers) < most:
                self._workers.append(_Worker(words))
        except OSError as error:
            self.__exit__(None, None, None)
            raise RunError(f"a process that measures cannot be started ({error.strerror}).") from error

    def __enter__(self) -> "Beside":
        """Wait until all have the job."""
        try:
            for worker in self._workers:
                worker.hear()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End them."""
        for worker in self._workers:
            worker.end()

    def apart(self, sizes: Mapping[int, int], seconds: float) -> tuple[Timings, float]:
        """Time updates in several processes at once that hear nothing from each other.

        Args:
            sizes: the examples of a rank, and how many ranks compute beside each other then.
            seconds: how long this may take, about.

        Returns:
            The seconds of an update for each size, and their spread as a share of them.
        """
        spreads, timings = list[float](), dict[int, float]()
        for size, count in sizes.items():
            some = self._workers[:count]
            for word in (("apart", size, seconds / len(sizes)), "go"):
                for worker in some:
                    worker.say(word)
                found = [worker.hear() for worker in some]  # that it is warm, then its timings
            timings[size] = statistics.fmean(statistics.median(each) for each in found)
            spreads.append(statistics.median(map(spread, found)))
        return rising(sorted(timings.items())), statistics.median(spreads)

    def together(self, ranks: int, batch: int, seconds: float) -> Together:
        """Time updates that several processes make together.

        Args:
            ranks: how many.
            batch: the examples of an update, on all of them.
            seconds: how long this may take, about.
        """
        some = self._workers[:ranks]
        with tempfile.TemporaryDirectory() as home:
            for rank, worker in enumerate(some):
                worker.say(("together", rank, ranks, batch, seconds, str(Path(home, "meeting"))))
            for worker in some:
                worker.hear()  # that it lives: nobody waits for one that does not
            for worker in some:
                worker.say("go")
            return met([worker.hear() for worker in some])


def met(found: Sequence[Measured]) -> Together:
    """Tell computing, waiting and the sums proper apart: whoever comes to a sum last waits for nobody.

    The middle half of the updates count: a busy moment is no noise.

    Args:
        found: what each rank measured of the same updates.

    >>> one = Measured([1.0], [[(8, 0.25), (64, 0.25)]], [0.125])
    >>> two = Measured([1.0], [[(8, 0.0625), (64, 0.5)]], [0.25])
    >>> met([one, two])
    Together(ranks=2, computing=0.46875, waiting=0.21875, gradients=0.25, norms=0.0625, small=0.125)
    """
    updates = zip(*(rank.updates for rank in found), strict=True)
    sums = zip(*(rank.sums for rank in found), strict=True)
    pieces = [_met(*update) for update in zip(updates, sums, strict=True)]
    pieces.sort(key=sum)
    quarter = len(pieces) // 4
    middle = pieces[quarter : len(pieces) - quarter]
    computing, waiting, gradients, norms = (statistics.fmean(part) for part in zip(*middle, strict=True))
    small = statistics.median(map(min, zip(*(rank.small for rank in found), strict=True)))
    return Together(len(found), computing, waiting, gradients, norms, small)


def _met(seconds: Sequence[float], sums: Sequence[Sequence[tuple[int, float]]]) -> tuple[float, float, float, float]:
    """Give computing, waiting, the sum of the gradients, which is the largest, and the others, of one update."""
    largest, gradients, others = max(count for count, _ in sums[0]), 0.0, 0.0
    for each in zip(*sums, strict=True):
        proper = min(taken for _, taken in each)
        if each[0][0] == largest:
            gradients += proper
        else:
            others += proper
    spent = statistics.fmean(sum(taken for _, taken in rank) for rank in sums)
    return statistics.fmean(seconds) - spent, max(0.0, spent - gradients - others), gradients, others


def _packed(thing: Any) -> bytes:
    try:
        return pickle.dumps(thing)
    except Exception as error:  # what somebody's own data raise when they are pickled
        raise RunError(f"the data cannot be given to other processes ({error}).") from error


class _Worker:
    """One process, seen from here."""

    def __init__(self, words: bytes) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()
        command = child.command("lamina.scaling.beside")
        environment = os.environ | surroundings()
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=environment
            )
        except OSError:
            self._log.close()
            raise
        self._talk = child.Talk(self._process, self._log, silent="no message")
        self._talk.say(words)

    def say(self, thing: Any) -> None:
        self._talk.say(pickle.dumps(thing))

    def hear(self) -> Any:
        try:
            return self._talk.hear()
        except EOFError as error:
            raise RunError(f"a process that measures has ended ({error}).") from error

    def end(self) -> None:
        self._process.kill()
        with suppress(OSError):
            self._process.communicate()
        self._log.close()


def main() -> None:
    """Be one of the processes, which ends with the one that asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks hears it
    out = child.voice()

    def say(thing: Any) -> None:
        pickle.dump(thing, out)
        out.flush()

    asked, runtime, parent = pickle.load(sys.stdin.buffer)
    end_with(parent)
    job = asked.job()
    say("ready")
    with suppress(EOFError):
        while True:
            what, *how = pickle.load(sys.stdin.buffer)
            with runtime.applied(job.recipe.precision) as used:
                if what == "together":
                    say("here")
                    pickle.load(sys.stdin.buffer)
                    say(_together(job, used, *how))
                    continue
                size, seconds = how
                step = of_rank(job, size, used)
                updates(step, 0.0)
                say("warm")
                pickle.load(sys.stdin.buffer)
                until = time.perf_counter() + seconds
                say(updates(step, seconds, math.inf))
                while time.perf_counter() < until:  # nobody computes alone
                    step()
                step.feed.source.close()


class _Timed(Ranks):
    """One of several ranks, which writes down how long it spends in sums."""

    def __init__(self, rank: int, size: int) -> None:
        super().__init__(rank, size, rank, size, joined=True)
        self.spent: list[tuple[int, float]] = []

    def sum_(self, tensor: Tensor) -> Tensor:
        """Add up a tensor over all ranks."""
        start = time.perf_counter()
        super().sum_(tensor)
        self.spent.append((tensor.numel(), time.perf_counter() - start))
        return tensor


def _together(job: Plan, runtime: Runtime, rank: int, size: int, batch: int, seconds: float, store: str) -> Measured:
    """Make updates with others, all of them the same number."""
    meeting = Path(store).as_uri()
    torch.distributed.init_process_group("gloo", meeting, TIMEOUT, world_size=size, rank=rank)
    ranks = _Timed(rank, size)
    step = of_ranks(job, batch, ranks.runtime(runtime), ranks)
    make, found = endless(step), Measured([], [], [])
    try:
        began = time.perf_counter()
        for _ in range(WARM + FEWEST):
            next(make)
        each = ranks.sum_(torch.tensor([time.perf_counter() - began])).item() / size / (WARM + FEWEST)
        for _ in range(max(FEWEST, int(seconds / each))):
            ranks.spent.clear()
            found.updates.append(next(make))
            found.sums.append(ranks.spent[:])
            ranks.sum_(torch.zeros(1))
            found.small.append(ranks.spent[-1][1])
    finally:
        step.feed.source.close()
        torch.distributed.destroy_process_group()
    return found
