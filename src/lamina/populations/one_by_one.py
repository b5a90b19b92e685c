"""Train networks that no stack computes: one by one, or in turn, a check each, where halving compares them."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from lamina._errors import ArgumentError
from lamina.populations.members import DIVERGED, FINISHED, Events, Member, MemberResult, training_data
from lamina.training.loop import Event, Progress
from lamina.training.runtime import Runtime
from lamina.training.stopping import Row, StopReason
from lamina.training.tasks.task import Task
from lamina.training.train import train

NOTE = "the networks are trained one by one: no stack reads words or tokens"


def train_in_turn(
    members: Sequence[Member],
    task: Task | Sequence[Task],
    *,
    every: int | None = None,
    runtime: Runtime | None = None,
    note: str = NOTE,
) -> Events:
    """Train members by `training.train`, one check each in turn.

    Args:
        members: the networks and their recipes.
        task: what they learn from which data, or that of each.
        every: also yield after so many updates of a member; None yields after checks only.
        runtime: device, threads and flags.
        note: says why they take turns.

    Yields:
        Events as those of `population.train_together`, one after each round of checks; the numbers of members to drop
        may be sent back.

    Returns:
        One result per member.
    """
    tasks = [task] * len(members) if isinstance(task, Task) else task
    pairs = enumerate(zip(members, tasks, strict=True))
    runs = [_Run(place, member, own, every, runtime, note) for place, (member, own) in pairs]
    yield from _in_turn(runs, len(members))
    return [result for run in runs for result in run.results().values()]


@runtime_checkable
class _Turn(Protocol):
    """A training of one or several members."""

    events: Generator[Event, None, StopReason] | None
    """What is left of it; None when it has ended."""

    def drop(self, places: Sequence[int]) -> None:
        """End some members."""


def _in_turn(runs: Sequence[_Turn], members: int) -> Generator[Event, Sequence[int] | None, None]:
    """Let trainings go on from check to check, one after the other, until all have ended."""
    while any(run.events is not None for run in runs):
        rows: list[Row | None] = [None] * members
        for run in runs:
            for event in run.events or ():
                if event.row is not None:
                    for place, row in event.row["members"].items():
                        rows[place] = row
                    break
                yield event
            else:
                run.events = None
        made = [row for row in rows if row is not None]
        if made:
            epoch, step = (max(row[name] for row in made) for name in ("epoch", "step"))
            dropped = yield Event(epoch, 0, step, {"epoch": epoch, "step": step, "members": rows})
            for run in runs if dropped else ():
                run.drop(dropped or ())


class _Run:
    """One training in the middle."""

    def __init__(
        self, place: int, member: Member, task: Task, every: int | None, runtime: Runtime | None, note: str
    ) -> None:
        if member.label_noise and task.wording:
            raise ArgumentError(f"`label_noise` is not for texts, got {member.label_noise}: leave it out.")
        seen = training_data(member, task.split.train)
        own = task if seen is task.split.train else task.on(replace(task.split, train=seen))
        self.place, self.note, self.at, self.dropped = place, note, Progress(), False
        run = train(member.build(), own, member.recipe, every=every, runtime=runtime, at=self.at)
        self.events: Generator[Event, None, StopReason] | None = self._placed(run)

    def _placed(self, run: Generator[Event, None, StopReason]) -> Generator[Event, None, StopReason]:
        try:
            for event in run:
                placed = {"members": {self.place: event.row}}
                yield event if event.row is None else replace(event, row=placed)
        finally:
            run.close()
        assert self.at.reason is not None
        return self.at.reason

    def drop(self, places: Sequence[int]) -> None:
        """Let go of the training."""
        if self.place in places and self.events is not None:
            self.events.close()
            self.events, self.dropped = None, True

    def results(self) -> dict[int, MemberResult]:
        """Give what became of it."""
        at = self.at
        gone = StopReason("dropped", "dropped along the way")
        reason = gone if self.dropped or at.reason is None else at.reason
        weights = {name: t.cpu() for name, t in at.best.items()}
        state = DIVERGED if reason.failed else FINISHED
        said = (self.note,) if self.note else ()
        how = reason.name, at.kind
        found = MemberResult(tuple(at.rows), at.best_row, state, reason.step, weights, said, *how)
        return {self.place: found}
