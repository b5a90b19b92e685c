"""Train networks that no stack computes: one by one, or in turn, a check each, where halving compares them."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from lamina._errors import ArgumentError
from lamina.populations.members import DIVERGED, FINISHED, Member, MemberResult, training_data
from lamina.training.loop import Event, Progress
from lamina.training.runtime import Runtime
from lamina.training.stopping import Row, StopReason
from lamina.training.tasks.task import Task
from lamina.training.train import train

NOTE = "the networks are trained one by one: no stack reads words or tokens"


def train_in_turn(
    members: Sequence[Member],
    task: Task,
    *,
    runtime: Runtime | None = None,
    on_row: Callable[[int, Sequence[Row | None]], Sequence[int] | None] | None = None,
) -> list[MemberResult]:
    """Train members by `training.train`, one check each in turn, and return what became of each, in their order.

    Args:
        members: the networks and their recipes.
        task: what they learn from which data.
        runtime: device, threads and flags.
        on_row: called after each round with the epoch and the new row of every member, None for those that have ended;
            it may return the numbers of members to drop.
    """
    runs = [_Run(member, task, runtime) for member in members]
    while any(run.events is not None for run in runs):
        rows = [run.advance() for run in runs]
        made = [row for row in rows if row is not None]
        if made and on_row is not None:
            for place in on_row(max(row["epoch"] for row in made), rows) or ():
                runs[place].end(None)
    return [run.result() for run in runs]


class _Run:
    """One training in the middle."""

    def __init__(self, member: Member, task: Task, runtime: Runtime | None) -> None:
        if member.label_noise and task.wording:
            raise ArgumentError(f"`label_noise` is not for texts, got {member.label_noise}: leave it out.")
        seen = task.on(replace(task.split, train=training_data(member, task.split.train)))
        self.at = Progress()
        self.events: Generator[Event, None, StopReason] | None = train(
            member.build(), seen, member.recipe, runtime=runtime, at=self.at
        )
        self.reason = StopReason("dropped", "dropped on the way")

    def advance(self) -> Row | None:
        """Train up to the next check and give its row; None when there is none."""
        if self.events is None:
            return None
        try:
            return next(self.events).row
        except StopIteration as stop:
            self.end(stop.value)
            return None

    def end(self, reason: StopReason | None) -> None:
        """Let go of the training."""
        if self.events is not None:
            self.events.close()
        self.events, self.reason = None, reason or self.reason

    def result(self) -> MemberResult:
        """Give what became of it."""
        at, state = self.at, DIVERGED if self.reason.failed else FINISHED
        weights = {name: t.cpu() for name, t in at.best.items()}
        return MemberResult(tuple(at.rows), at.best_row, state, self.reason.step, weights, (NOTE,), self.reason.name)
