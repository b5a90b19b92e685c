"""Train networks that no stack computes: one by one, or in turn, a check each, where halving compares them."""

from collections.abc import Generator, Sequence
from dataclasses import replace

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
    task: Task,
    *,
    every: int | None = None,
    runtime: Runtime | None = None,
) -> Events:
    """Train members by `training.train`, one check each in turn.

    Args:
        members: the networks and their recipes.
        task: what they learn from which data.
        every: also yield after so many updates of a member; None yields after checks only.
        runtime: device, threads and flags.

    Yields:
        Events as those of `population.train_together`, one after each round of checks; the numbers of members to drop
        may be sent back.

    Returns:
        One result per member.
    """
    runs = [_Run(member, task, every, runtime) for member in members]
    while any(run.events is not None for run in runs):
        rows: list[Row | None] = [None] * len(runs)
        for place, run in enumerate(runs):
            if run.events is None:
                continue
            for event in run.events:
                if event.row is not None:
                    rows[place] = event.row
                    break
                yield event
            else:
                run.end(run.at.reason)
        made = [row for row in rows if row is not None]
        if made:
            epoch, step = (max(row[name] for row in made) for name in ("epoch", "step"))
            for place in (yield Event(epoch, 0, step, {"epoch": epoch, "step": step, "members": rows})) or ():
                runs[place].end(None)
    return [run.result() for run in runs]


class _Run:
    """One training in the middle."""

    def __init__(self, member: Member, task: Task, every: int | None, runtime: Runtime | None) -> None:
        if member.label_noise and task.wording:
            raise ArgumentError(f"`label_noise` is not for texts, got {member.label_noise}: leave it out.")
        seen = task.on(replace(task.split, train=training_data(member, task.split.train)))
        self.at = Progress()
        self.events: Generator[Event, None, StopReason] | None = train(
            member.build(), seen, member.recipe, every=every, runtime=runtime, at=self.at
        )
        self.reason = StopReason("dropped", "dropped on the way")

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
