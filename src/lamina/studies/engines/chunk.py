"""What travels between a search and its workers: chunks of trials go there, what came of them comes back."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from lamina.studies._keeping import Kept
from lamina.studies.records import Moment, Outcome, Rank, Trial

Tell = Callable[[int, Moment | None], None]
"""Told how far the chunk of some number is; None when nothing has come for a while."""
DEATHS = 10
"""How many workers may end over one chunk before it is held responsible."""


@dataclass(frozen=True)
class Chunk:
    """Trials of one shape, which are trained as one.

    Args:
        number: tells it from the others.
        trials: what is tried.
        width: how many networks a stack has; None lets the worker decide by its memory.
        beat: the rank of the best trial so far; only weights of a better one are of interest.
    """

    number: int
    trials: tuple[Trial, ...]
    width: int | None = None
    beat: Rank | None = None


@dataclass(frozen=True)
class Tried:
    """What came of a chunk.

    Args:
        chunk: what was tried.
        outcomes: one per trial.
        width: how many networks a stack had; None if they were trained one by one.
        kept: the number of the best trial and its network, if it is better than `chunk.beat`.
        notes: sentences about how it was computed.
        updates: how many updates of a network were made, over all networks.
    """

    chunk: Chunk
    outcomes: tuple[Outcome, ...]
    width: int | None = None
    kept: tuple[int, Kept] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    updates: int = 0


@runtime_checkable
class Engine(Protocol):
    """Where chunks are tried; a context that ends what it has started."""

    lost: int
    """How many workers have ended before their work was done."""

    @property
    def workers(self) -> int:
        """How many chunks are tried at once."""

    @property
    def present(self) -> int:
        """How many workers there are at this moment."""

    def ready(self, tell: Tell) -> str:
        """Wait for a worker, and name the kind of device that it computes on."""

    def __call__(self, chunks: Iterator[Chunk], tell: Tell) -> Iterator[Tried]:
        """Take a chunk whenever a worker is free, and give what came of each as soon as it is known."""

    def __enter__(self) -> "Engine":
        """Begin."""

    def __exit__(self, *error: object) -> None:
        """End all workers that it has started."""
