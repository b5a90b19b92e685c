"""Try many configurations as one: those of one shape are trained as a population."""

import math
import time
import warnings
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

from lamina._errors import DataWarning
from lamina.populations.members import DIVERGED, FINISHED, MemberResult, finite
from lamina.populations.one_by_one import train_in_turn
from lamina.populations.population import train_together
from lamina.studies.halving import Halving
from lamina.studies.problem import Problem
from lamina.studies.records import DROPPED, Outcome, Trial
from lamina.studies.study import Moment, Recorded
from lamina.training.files import digest
from lamina.training.loop import Event, drain
from lamina.training.runtime import Runtime
from lamina.training.stopping import Row

BATCH = {"cpu": 64, "cuda": 1024}
"""How many networks are trained at once, and lost at most when the process is killed."""


class Trainer:
    """Trains trials of one shape together and compares them on the validation data."""

    def __init__(
        self,
        problem: Problem,
        score: tuple[str, str],
        *,
        halving: Halving | None = None,
        runtime: Runtime | None = None,
        batch: int | None = None,
        tell: Callable[[Moment], None] = lambda moment: None,
        keep: Callable[[Sequence[Trial], Sequence[Outcome], Sequence[MemberResult]], None] = lambda *found: None,
        widths: MutableMapping[str, int] | None = None,
    ) -> None:
        self.problem, self.halving, self.tell, self.keep = problem, halving, tell, keep
        self.widths = {} if widths is None else widths
        self.metric, self.direction = score
        self.runtime = (runtime or Runtime()).ready(problem.recipe.precision, stacked=True)
        networks = batch or BATCH[self.runtime.device.partition(":")[0]]
        # What is trained one by one is recorded one by one, unless halving compares it on the way.
        self.batch = max(1, networks // len(problem.seeds)) if problem.stacks or halving else 1
        self._shapes: dict[int, Any] = {}

    def pick(self, free: Sequence[Trial], share: int) -> list[Trial]:
        """Take trials of the shape of the first one."""
        wanted = self._shape(free[0])
        return [trial for trial in free if self._shape(trial) == wanted][: min(self.batch, share)]

    def _shape(self, trial: Trial) -> Any:
        if trial.number not in self._shapes:
            self._shapes[trial.number] = self.problem.members(trial.values)[0].shape
        return self._shapes[trial.number]

    def __call__(self, trials: list[Trial]) -> Recorded:
        """Train them and give all outcomes at the end."""
        grouped = [self.problem.members(trial.values) for trial in trials]
        members = [member for group in grouped for member in group]
        epochs, seeds = members[0].recipe.epochs, len(self.problem.seeds)
        rungs = _Rungs(self, len(trials), seeds, epochs)
        begun = time.monotonic()
        self.tell(Moment(len(trials), 0, epochs))
        split = self.problem.split
        if self.problem.stacks:
            shape = digest(repr(members[0].shape).encode())
            run = train_together(members, split, runtime=self.runtime, chunk=self.widths.get(shape),
                                 padded=self.halving is None)  # fmt: skip
        else:
            run = train_in_turn(members, self.problem.task, runtime=self.runtime)
        found = drain(run, rungs)
        if self.problem.stacks and shape not in self.widths:
            self.widths[shape] = found[0].together
        for note in dict.fromkeys(note for result in found for note in result.notes):
            warnings.warn(note, DataWarning, stacklevel=2)
        share = round((time.monotonic() - begun) / len(trials), 6)
        outcomes = [
            self.outcome(found[place * seeds : (place + 1) * seeds], place in rungs.dropped, share)
            for place in range(len(trials))
        ]
        self.keep(trials, outcomes, found[::seeds])
        yield list(zip(trials, outcomes, strict=True))

    def outcome(self, found: Sequence[MemberResult], dropped: bool, seconds: float) -> Outcome:
        """Average over the seeds; one seed that diverged makes the configuration one that diverges."""
        last = max((result.rows[-1]["epoch"] for result in found if result.rows), default=0)
        curves = [[_number(row.get(self.metric)) for row in result.rows] for result in found]
        curve = tuple(_mean(column) for column in zip(*curves, strict=False))
        each = tuple(self.value(result.rows, result.best_row) for result in found)
        if any(result.state == DIVERGED for result in found) or None in each:
            return Outcome(None, DIVERGED, epochs=last, curve=curve, seconds=seconds)
        losses = [_number(result.rows[result.best_row].get("validation_loss")) for result in found]
        return Outcome(
            _mean(each),
            DROPPED if dropped else FINISHED,
            _mean(losses),
            last,
            curve,
            each if len(each) > 1 else (),
            seconds,
        )

    def value(self, rows: Sequence[Row], best_row: int) -> float | None:
        """Give the metric of the weights that are kept: those of the smallest validation loss."""
        return _number(rows[best_row].get(self.metric)) if rows and best_row >= 0 else None


class _Rungs:
    """Watches a stack: tells which epoch it is, and says at the rungs of halving what is dropped."""

    def __init__(self, trainer: Trainer, trials: int, seeds: int, epochs: int) -> None:
        self.trainer, self.trials, self.seeds, self.epochs = trainer, trials, seeds, epochs
        self.rungs = trainer.halving.rungs(epochs) if trainer.halving else ()
        self.rows: list[list[Row]] = [[] for _ in range(trials * seeds)]
        self.dropped: set[int] = set()
        self.passed = 0

    def __call__(self, event: Event) -> list[int]:
        """Take the rows of a check, None for members that have ended, and return the members to drop."""
        assert event.row is not None
        epoch = event.epoch
        for history, row in zip(self.rows, event.row["members"], strict=True):
            if row is not None:
                history.append(row)
        self.trainer.tell(Moment(self.trials - len(self.dropped), epoch, self.epochs))
        if self.trainer.halving is None or self.passed == len(self.rungs) or epoch < self.rungs[self.passed]:
            return []
        while self.passed < len(self.rungs) and epoch >= self.rungs[self.passed]:
            self.passed += 1
        alive = [place for place in range(self.trials) if place not in self.dropped]
        gone = [alive[i] for i in self.trainer.halving.drop([self._error(place) for place in alive])]
        self.dropped |= set(gone)
        return [place * self.seeds + seed for place in gone for seed in range(self.seeds)]

    def _error(self, place: int) -> tuple[float, float]:
        """Give error and loss so far: of the row with the smallest validation loss, averaged over the seeds."""
        errors, ties = [], []
        for history in self.rows[place * self.seeds : (place + 1) * self.seeds]:
            losses = [finite(row.get("validation_loss")) for row in history]
            value = self.trainer.value(history, losses.index(min(losses)) if losses else -1)
            errors.append(math.inf if value is None else -value if self.trainer.direction == "maximize" else value)
            ties.append(min(losses, default=math.inf))
        return sum(errors) / len(errors), sum(ties) / len(ties)


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
