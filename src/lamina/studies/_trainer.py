"""Try many configurations as one: those of one shape are trained as a population."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from lamina.populations.members import DIVERGED, FINISHED, MemberResult, finite
from lamina.populations.one_by_one import train_in_turn
from lamina.populations.population import train_together
from lamina.studies._keeping import best_of
from lamina.studies.engines.chunk import Chunk, Tried
from lamina.studies.halving import Halving
from lamina.studies.problem import Problem
from lamina.studies.records import DROPPED, Moment, Outcome
from lamina.training.loop import Event, drain
from lamina.training.runtime import Runtime
from lamina.training.stopping import Row

Told = Callable[[Moment], None]


class Trainer:
    """Trains trials of one shape together and compares them on the validation data."""

    def __init__(
        self,
        problem: Problem,
        score: tuple[str, str],
        *,
        halving: Halving | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        self.problem, self.halving = problem, halving
        self.metric, self.direction = score
        self.runtime = (runtime or Runtime()).ready(problem.recipe.precision, stacked=True)

    def __call__(self, chunk: Chunk, tell: Told = lambda moment: None) -> Tried:
        """Train a chunk and say what came of it."""
        trials, stacks, seeds = chunk.trials, self.problem.stacks, len(self.problem.seeds)
        members = [member for trial in trials for member in self.problem.members(trial.values)]
        epochs = members[0].recipe.epochs
        rungs = _Rungs(self, len(trials), seeds, epochs, tell)
        begun = time.monotonic()
        tell(Moment(len(trials), 0, epochs))
        if stacks:
            run = train_together(members, self.problem.split, runtime=self.runtime, chunk=chunk.width,
                                 padded=self.halving is None)  # fmt: skip
        else:
            run = train_in_turn(members, self.problem.task, runtime=self.runtime)
        found = drain(run, rungs)
        share = round((time.monotonic() - begun) / len(trials), 6)
        outcomes = tuple(
            self.outcome(found[place * seeds : (place + 1) * seeds], place in rungs.dropped, share)
            for place in range(len(trials))
        )
        return Tried(
            chunk,
            outcomes,
            found[0].together if stacks else None,
            best_of(trials, outcomes, found[::seeds], self.direction, chunk.beat),
            tuple(dict.fromkeys(note for result in found for note in result.notes)),
            rungs.updates,
        )

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

    def __init__(self, trainer: Trainer, trials: int, seeds: int, epochs: int, tell: Told) -> None:
        self.trainer, self.trials, self.seeds, self.epochs, self.tell = trainer, trials, seeds, epochs, tell
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
        self.tell(Moment(self.trials - len(self.dropped), epoch, self.epochs, self.updates))
        if self.trainer.halving is None or self.passed == len(self.rungs) or epoch < self.rungs[self.passed]:
            return []
        while self.passed < len(self.rungs) and epoch >= self.rungs[self.passed]:
            self.passed += 1
        alive = [place for place in range(self.trials) if place not in self.dropped]
        gone = [alive[i] for i in self.trainer.halving.drop([self._error(place) for place in alive])]
        self.dropped |= set(gone)
        return [place * self.seeds + seed for place in gone for seed in range(self.seeds)]

    @property
    def updates(self) -> int:
        """How many updates were made, over all networks."""
        return sum(history[-1]["step"] for history in self.rows if history)

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
