"""What a worker must know of a study, as plain values, and how it tries a chunk with them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

from lamina._errors import LaminaError, RunError
from lamina.studies._trainer import Trainer
from lamina.studies.engines.chunk import Chunk, Tried
from lamina.studies.halving import Halving
from lamina.studies.problem import Problem
from lamina.studies.records import Moment
from lamina.studies.study import Study
from lamina.training.runtime import Runtime

EVERY = 0.2
"""Seconds between two words of a worker about how far it is."""
_BUSY = Lock()
_TRAINERS: dict[str, Trainer] = {}
"""The trainer of the last job of this process: network, data and recipe are read once."""


@dataclass(frozen=True)
class Job:
    """What is the same for all chunks of a search.

    Args:
        problem: architecture, data and recipe, as `study.toml` has them.
        score: the metric and its direction.
        halving: when to drop configurations.
        runtime: device, threads and flags of a worker.
    """

    problem: dict[str, Any]
    score: tuple[str, str]
    halving: Halving | None
    runtime: Runtime

    @classmethod
    def of(cls, study: Study, runtime: Runtime) -> "Job":
        """Describe a study; a file is named so that it is found from another folder.

        Raises:
            RunError: nobody else can load the data.
        """
        problem = dict(study.description["problem"])
        data = dict(problem["data"])
        if not data.get("reload", False):
            raise RunError(
                "the data of this study were given in memory, which other processes cannot see: load them from a "
                "file, or search without `on`."
            )
        if Path(data["source"]).exists():
            data["source"] = str(Path(data["source"]).resolve())
        return cls(problem | {"data": data}, (study.metric, study.direction), halving_of(study), runtime)

    def trainer(self, problem: Problem | None = None) -> Trainer:
        """Make what trains a chunk."""
        return Trainer(problem or Problem.restore(self.problem), self.score, halving=self.halving, runtime=self.runtime)

    def attempt(self, chunk: Chunk, tell: Callable[[Moment], None]) -> Tried | str:
        """Try a chunk in a worker, one at a time; an error comes back as its sentence, which travels everywhere."""
        key = repr(self)
        with _BUSY:
            try:
                if key not in _TRAINERS:
                    _TRAINERS.clear()
                    _TRAINERS[key] = self.trainer()
                return _TRAINERS[key](chunk, _Seldom(tell))
            except LaminaError as error:
                return str(error).rstrip(".")
            except Exception as error:
                return f"{type(error).__name__}: {error}".rstrip(".")


def halving_of(study: Study) -> Halving | None:
    """Read when a study drops configurations."""
    return Halving(**study.description["halving"]) if "halving" in study.description else None


def failed(sentence: str) -> RunError:
    """Make an error of what a worker said."""
    return RunError(f"a worker could not train its networks: {sentence}.")


def deadly(deaths: int, words: str) -> RunError:
    """Make an error of a chunk over which worker after worker ended."""
    return RunError(
        f"{deaths} workers have ended over the same networks ({words}): perhaps these need more memory than there is. "
        "Train fewer at once with --batch."
    )


def gpu(listed: str | None, count: int, index: int) -> str | None:
    """Choose one of several GPUs for the worker of this index: what CUDA_VISIBLE_DEVICES should be; None leaves it.

    Args:
        listed: CUDA_VISIBLE_DEVICES as it is now.
        count: how many GPUs the machine has, as far as they are visible.
        index: of the worker, on its machine.

    >>> gpu(None, 4, 5), gpu("2,3", 2, 1), gpu(None, 1, 1)
    ('1', '3', None)
    """
    if count < 2:
        return None
    names = [name.strip() for name in listed.split(",")] if listed else [str(number) for number in range(count)]
    return names[index % len(names)]


class _Seldom:
    """Passes the first moment on, and then one whenever some time has passed."""

    def __init__(self, tell: Callable[[Moment], None]) -> None:
        self.tell, self.last = tell, 0.0

    def __call__(self, moment: Moment) -> None:
        if time.monotonic() - self.last >= EVERY:
            self.last = time.monotonic()
            self.tell(moment)


def on_threads(runtime: Runtime, threads: int) -> Runtime:
    """Give a runtime so many threads, unless it has a number of its own."""
    return replace(runtime, threads=runtime.threads or max(1, threads))
