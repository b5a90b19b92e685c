"""A Dask cluster: a task is a chunk, which is meant for one worker; what a lost worker had is given to another one.

Dask itself would leave a task that no worker can run where it is, also when others come. And the scheduler is no
record: what it has not given back is tried again when the search is resumed.
"""

import math
import os
import queue
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from lamina._errors import LaminaError, MissingExtraError, RunError
from lamina.studies.engines.chunk import DEATHS, Chunk, Tell, Tried
from lamina.studies.engines.job import Job, deadly, failed, gpu, on_threads
from lamina.studies.records import Moment

TICK = 0.5
CONNECT = 20.0
"""Seconds in which a scheduler must answer."""
ALLOWED = 4
"""How many workers a task takes with it before Dask gives it up, unless that is configured otherwise."""
ALONE = 300.0
"""Seconds without any worker after which a search ends; it can be continued."""
FETCH = 5.0
"""Seconds for fetching a result, which is small, before other workers are looked after again."""
QUICK = 1.0
"""Seconds of a chunk below which the next one is sent ahead: the way there and back takes time that would count."""
VISIBLE = "CUDA_VISIBLE_DEVICES"


class Dask:
    """Train on the workers of a Dask cluster, one chunk at a time on each; where chunks are short, the next one waits.

    Args:
        client: of the cluster.
        job: what is trained.
        expected: how many workers were asked for, which come when a queue lets them; the first one is waited for.
        ending: what is to be closed when the search has ended.
        check: raises an error if no worker will ever come.
    """

    def __init__(
        self,
        client: Any,
        job: Job,
        *,
        expected: int = 0,
        ending: ExitStack | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._check = check
        self._client, self._job, self._expected, self._ending = client, job, expected, ending or ExitStack()
        self.lost, self._looked = 0, 0.0
        self._last = math.inf if expected else time.monotonic()  # when there was a worker
        self._known: dict[str, _About] = {}  # by address
        self._said: queue.Queue[tuple[Any, Any]] = queue.Queue()
        self._topic = f"lamina-{uuid.uuid4().hex}"
        self._flying: dict[str, tuple[Any, Chunk, str]] = {}  # key -> future, chunk, worker
        self._again: deque[Chunk] = deque()  # what lost workers had
        self._deaths: Counter[int] = Counter()  # by the number of a chunk
        self._tasks, self._ahead = 0, 0

    @property
    def workers(self) -> int:
        """How many there are now, or will be."""
        return len(self._known) if self._flying else max(len(self._known), self._expected)

    @property
    def present(self) -> int:
        """How many there are now."""
        return len(self._known)

    def __enter__(self) -> "Dask":
        self._client.subscribe_topic(self._topic, self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._client.unsubscribe_topic(self._topic)
            self._client.cancel([future for future, *_ in self._flying.values()], force=True)
        except Exception:  # the scheduler may be gone
            pass
        self._ending.close()

    def ready(self, tell: Tell) -> str:
        """Wait for a worker and name its device."""
        while not self._look():
            tell(-1, None)
            time.sleep(TICK)
        return next(iter(self._known.values())).device

    def __call__(self, chunks: Iterator[Chunk], tell: Tell) -> Iterator[Tried]:
        """Give each worker a chunk when it is free."""
        while True:
            for address in self._room():
                chunk = self._again.popleft() if self._again else next(chunks, None)
                if chunk is None:
                    break
                self._submit(chunk, address)
            if not self._flying and not self._again:
                last = next(chunks, None)
                if last is None:
                    self._look()  # count those that were lost last
                    return
                self._again.append(last)  # all workers are gone: it waits for one to come
            if time.monotonic() - self._looked > TICK:
                self._look()
                tell(-1, None)
            try:
                kind, value = self._said.get(timeout=TICK)
            except queue.Empty:
                continue
            if kind == "moment":
                tell(value["number"], Moment(**value["moment"]))
                continue
            if value not in self._flying:
                continue
            future, chunk, _ = self._flying[value]
            found = self._result(future)
            if found is future:  # perhaps its worker ended before the result was fetched
                self._look()
                future.add_done_callback(self._done)
                continue
            del self._flying[value]
            future.release()  # a result that somebody still wants is computed again when its worker ends
            if isinstance(found, str):
                raise failed(found)
            if found is not None:
                self._ahead = int(sum(each.seconds or 0.0 for each in found.outcomes) < QUICK)
                yield found
                continue
            self._blame(chunk, ALLOWED)
            self._again.append(chunk)

    def _room(self) -> Iterator[str]:
        """Name the workers that may get a chunk, those without one first."""
        given = Counter(address for *_, address in self._flying.values())
        for ahead in range(self._ahead + 1):
            yield from [address for address in self._known if given[address] <= ahead]

    def _submit(self, chunk: Chunk, address: str) -> None:
        self._tasks += 1
        key = f"{self._topic}-{self._tasks}"
        what = self._job, chunk, self._topic, _shared_gpus(self._known)[address]
        future = self._client.submit(_task, *what, key=key, pure=False, workers=[address])
        self._flying[key] = future, chunk, address
        future.add_done_callback(self._done)

    def _take_back(self, address: str) -> None:
        """Take back what a lost worker had: it was busy with the first chunk, and the next one waited."""
        for place, key in enumerate([key for key, (*_, where) in self._flying.items() if where == address]):
            future, chunk, _ = self._flying.pop(key)
            future.release()
            self._again.append(chunk)
            if place == 0:
                self._blame(chunk, 1)

    def _blame(self, chunk: Chunk, deaths: int) -> None:
        self._deaths[chunk.number] += deaths
        if self._deaths[chunk.number] >= DEATHS:
            raise deadly(self._deaths[chunk.number], "Dask saw each of them end")

    def _done(self, future: Any) -> None:
        self._said.put(("done", future.key))

    def _result(self, future: Any) -> Any:
        """Give what a task returned; None if it took too many workers with it, the task itself if it is not ready."""
        from distributed.scheduler import KilledWorker

        try:
            return future.result(timeout=FETCH)
        except KilledWorker:
            return None
        except TimeoutError as error:
            if self._client.status == "running":
                return future
            raise self._gone() from error
        except (CancelledError, OSError) as error:
            raise self._gone() from error
        except Exception as error:
            return f"{type(error).__name__}: {error}".rstrip(".")

    def _look(self) -> bool:
        """See which workers there are; say whether there is one.

        Raises:
            RunError: there has been none for a long time.
        """
        self._looked = time.monotonic()
        self._check()
        now = self._asked(self._client.nthreads)
        for address in [each for each in self._known if each not in now]:
            self.lost += 1
            del self._known[address]
            self._take_back(address)
        if come := [each for each in now if each not in self._known]:
            self._known |= self._asked(
                lambda: self._client.run(_about, self._job, workers=come, on_error="ignore")  # one may end just now
            )
        if self._known:
            self._last = self._looked
        elif self._looked - self._last > ALONE:
            raise RunError(
                f"the Dask cluster has had no worker for {ALONE:.0f} seconds: start some with  dask worker  and "
                "continue the search; what was recorded is not trained again."
            )
        return bool(self._known)

    def _asked(self, question: Any) -> Any:
        try:
            return question()
        except (OSError, TimeoutError, CancelledError, RuntimeError) as error:
            raise self._gone() from error

    def _gone(self) -> RunError:
        return RunError(
            "the Dask scheduler no longer answers: start it again and continue the search; what was recorded is not "
            "trained again."
        )

    def _hear(self, event: tuple[float, Any]) -> None:
        self._said.put(("moment", event[1]))


def connect(address: str) -> Any:
    """Connect to a scheduler, given as HOST:PORT."""
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("distributed", "cluster", "a search on Dask") from error
    try:
        return Client(f"tcp://{address}", timeout=CONNECT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise RunError(
            f"no Dask scheduler answers at {address}: start one with  dask scheduler  and workers with  "
            f"dask worker {address}"
        ) from error


class _About(NamedTuple):
    """What a worker says about itself: CUDA_VISIBLE_DEVICES, how many GPUs it sees, and what it computes on."""

    listed: str | None
    gpus: int
    device: str = "cuda"


def _shared_gpus(seen: dict[str, _About]) -> dict[str, str | None]:
    """Give each worker of a machine a GPU of its own, unless somebody has told them apart already.

    Args:
        seen: what workers say about themselves, by address.

    >>> _shared_gpus({"tcp://a:1": _About(None, 2), "tcp://a:2": _About(None, 2), "tcp://b:1": _About("3", 1)})
    {'tcp://a:1': '0', 'tcp://a:2': '1', 'tcp://b:1': None}
    """
    chosen: dict[str, str | None] = {}
    hosts: dict[str, list[str]] = {}
    for address in sorted(seen):
        hosts.setdefault(address.rpartition(":")[0], []).append(address)
    for addresses in hosts.values():
        alike = len({seen[address].listed for address in addresses}) == 1
        for index, address in enumerate(addresses):
            chosen[address] = gpu(seen[address].listed, seen[address].gpus, index) if alike else None
    return chosen


# What follows runs in a worker.


class _Unwanted(BaseException):
    """Nobody waits for this task any more."""


_LISTED: list[str | None] = []
"""CUDA_VISIBLE_DEVICES as it was before a GPU was chosen."""


def _about(job: Job) -> _About:
    """Say which GPUs are visible, and what this worker computes on; what it lacks is said by the first chunk."""
    import torch

    if not _LISTED:
        _LISTED.append(os.environ.get(VISIBLE))
    listed = _LISTED[0]
    try:
        device = job.runtime.ready(stacked=True).device.partition(":")[0]
    except LaminaError:
        device = "cpu"
    return _About(listed, len(listed.split(",")) if listed else torch.cuda.device_count(), device)


def _task(job: Job, chunk: Chunk, topic: str, chosen: str | None) -> Tried | str:
    """Try a chunk in a worker of Dask."""
    import torch
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()
    if chosen is not None and job.runtime.device in ("auto", "cuda") and not torch.cuda.is_initialized():
        os.environ[VISIBLE] = chosen

    def tell(moment: Moment) -> None:
        known = worker.state.tasks.get(key)
        if known is None or known.state == "cancelled":
            raise _Unwanted
        worker.log_event(topic, {"number": chunk.number, "moment": asdict(moment)})

    return replace(job, runtime=on_threads(job.runtime, worker.state.nthreads)).attempt(chunk, tell)
