"""The weights of the best configuration so far, so that the network that is tested is the one that was compared.

Every process keeps one file in `kept/` of the study, that of the best trial it has trained; the best of all is among
them. It becomes an ordinary run folder without being trained again.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamina._system import remove
from lamina._types import Tensor
from lamina.populations.members import MemberResult
from lamina.studies.records import Outcome, Result, Trial
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


class _Keeper:
    """Keeps the best trial of this process."""

    def __init__(self, folder: Path, direction: str) -> None:
        self._folder, self._direction = folder, direction
        self._best: tuple[Any, int] | None = None

    def __call__(self, trials: Sequence[Trial], outcomes: Sequence[Outcome], found: Sequence[MemberResult]) -> None:
        """Look at trials with their outcomes and the networks of their first seeds."""
        for trial, outcome, result in zip(trials, outcomes, found, strict=True):
            rank = Result(trial.number, trial.values, outcome).rank(self._direction)
            if outcome.value is None or not result.weights or (self._best and rank >= self._best[0]):
                continue
            old, self._best = self._best, (rank, trial.number)
            rows, how = list(result.rows), (result.reason, result.kind, result.together)
            Kept(result.weights, rows, result.best_row, *how).write(self._path(trial.number))
            if old is not None:
                for path in self._path(old[1]).parent.glob(f"{self._path(old[1]).name}-*"):
                    remove(path)

    def _path(self, trial: int) -> Path:
        return self._folder / FOLDER / f"trial-{trial:06d}"
