"""The weights of the best configuration so far, so that the network that is tested is the one that was compared.

A worker gives back the network of the best trial of a chunk, if it is better than those before. The search keeps one
file in `kept/` of the study. It becomes an ordinary run folder without being trained again.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamina._system import remove
from lamina._types import Tensor
from lamina.populations.members import MemberResult
from lamina.studies.records import Outcome, Rank, Result, Trial
from lamina.training.checkpoint import pack, unpack
from lamina.training.stopping import Row

FOLDER = "kept"


@dataclass(frozen=True)
class Kept:
    """A trained network: its weights, the history, and how it was computed."""

    weights: dict[str, Tensor]
    rows: list[Row]
    best_row: int
    reason: str
    kind: str
    together: int

    def write(self, path: Path) -> None:
        """Write it to one file, named by its trial and its digest."""
        path.parent.mkdir(exist_ok=True)
        pack(path, self.weights, {name: value for name, value in vars(self).items() if name != "weights"})

    @classmethod
    def read(cls, folder: Path, trial: int) -> "Kept | None":
        """Read what was kept of a trial; None if there is nothing, or it is damaged."""
        for path in folder.glob(f"{FOLDER}/trial-{trial:06d}-*.safetensors"):
            with contextlib.suppress(ValueError):
                weights, plain = unpack(path)
                return cls(weights, **plain)
        return None


def best_of(
    trials: Sequence[Trial],
    outcomes: Sequence[Outcome],
    found: Sequence[MemberResult],
    direction: str,
    beat: Rank | None,
) -> tuple[int, Kept] | None:
    """Give the number and the network of the best of some trials, if it is better than what is known.

    Args:
        trials: what was tried.
        outcomes: what came of each.
        found: the network of the first seed of each.
        direction: "minimize" or "maximize".
        beat: the rank of the best one so far.
    """
    ranked = [
        (Result(trial.number, trial.values, outcome).rank(direction), result)
        for trial, outcome, result in zip(trials, outcomes, found, strict=True)
        if outcome.value is not None and result.weights
    ]
    if not ranked:
        return None
    rank, best = min(ranked, key=lambda each: each[0])
    if beat is not None and rank >= beat:
        return None
    kept = Kept(best.weights, list(best.rows), best.best_row, best.reason, best.kind, best.together)
    return rank[-1], kept


class _Keeper:
    """Keeps the file of the best trial.

    Args:
        folder: of the study.
        best: what is known already; its file counts if it is there.
        direction: "minimize" or "maximize".
        alone: whether nobody else keeps files there, so that those that a killed search has left can go.
    """

    def __init__(self, folder: Path, best: Result | None, direction: str, *, alone: bool) -> None:
        self._folder = folder
        mine = set() if best is None or best.outcome.value is None else set(self._files(best.number))
        self.beat = best.rank(direction) if best is not None and mine else None
        for path in set(folder.glob(f"{FOLDER}/*")) - mine if alone else ():
            remove(path)

    def write(self, number: int, kept: Kept, rank: Rank) -> list[Path]:
        """Write a better network; return the files that are of no use once its result is recorded."""
        old = [] if self.beat is None else list(self._files(self.beat[-1]))
        kept.write(self._folder / FOLDER / f"trial-{number:06d}")
        self.beat = rank
        return old

    def _files(self, trial: int) -> Iterator[Path]:
        return self._folder.glob(f"{FOLDER}/trial-{trial:06d}-*")
