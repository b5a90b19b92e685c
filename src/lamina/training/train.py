"""Training as a generator: whoever iterates decides what to keep, how often to look, and when to stop."""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import TypeVar, cast

from torch import nn

from lamina._errors import at_least
from lamina.data.dataset import Dataset
from lamina.data.splits import Split
from lamina.training.diagnosis import Memory
from lamina.training.executors.choose import learner
from lamina.training.fit import ready
from lamina.training.loop import Diverged, Event, Progress, events
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.stopping import StopReason, rules
from lamina.training.tasks.task import Task

Answer = TypeVar("Answer")
Result = TypeVar("Result")


def drain(
    run: Generator[Event, Answer | None, Result], answer: Callable[[Event], Answer | None] = lambda event: None
) -> Result:
    """Go through a training to its end and give what it returns.

    Args:
        run: what `train` gives, or a population's training.
        answer: told about each event; what it returns is sent to the training.

    >>> import lamina
    >>> drain(train(lamina.build("fnn", inputs=2, outputs=2), lamina.load("moons"), lamina.Recipe(epochs=2))).name
    'epochs'
    """
    said: Answer | None = None
    while True:
        try:
            said = answer(run.send(said))
        except StopIteration as end:
            return cast(Result, end.value)


def train(
    model: nn.Module,
    data: Dataset | Split | Task,
    recipe: Recipe | None = None,
    executor: str | None = None,
    *,
    every: int | None = None,
    runtime: Runtime | None = None,
    at: Progress | None = None,
) -> Generator[Event, None, StopReason]:
    """Train a network and yield an event after each check, and between checks as often as asked.

    Nothing is written to disk; `fit` is for that. The network has the weights of the moment, so that it can be looked
    at whenever an event comes. Between two events nothing is held: no flag, no grad mode, no signal handler. Trainings
    may be interleaved and agree bit for bit with separate ones, and one that is dropped leaves everything as it was.

    Notes: N1.19, N2.11 (§1, §2).

    Args:
        model: any torch module; it is changed.
        data: a dataset, divided 4:1:1, its split, or a task that was made of them. The test part stays sealed.
        recipe: how to train; Adam for 10 epochs by default.
        executor: how updates are executed: "eager", "compiled" or "captured"; as `runtime` says by default.
        every: also yield after so many updates; None yields after checks only.
        runtime: device, threads and flags.
        at: filled as the training goes on: its rows, the weights of the best one, and at the end the reason; between
            checks `at.totals()` gives the loss and the score since the epoch began.

    Yields:
        Events; those of a check have a `row` with the losses and scores.

    Returns:
        Why the training ended; what `yield from` gives.

    >>> import lamina
    >>> net = lamina.build("fnn", inputs=2, outputs=2)
    >>> [event.row["epoch"] for event in train(net, lamina.load("moons"), lamina.Recipe(epochs=2))]
    [1, 2]
    """
    if every is not None:
        at_least("every", every, 1)
    recipe = recipe or Recipe()
    task, runtime = ready(model, data, recipe, runtime)
    with runtime.applied(recipe.precision) as used:
        step = learner(model, task, recipe, replace(used, step=executor or used.step))
    at, stopping = at or Progress(), recipe.stopping
    at.totals = step.totals
    memory = Memory(step, at)
    run = events(step, recipe.epochs, rules(stopping), at, recipe.check_every, stopping.max_steps)
    try:
        while True:
            with runtime.applied(recipe.precision):
                try:
                    event = next(run)
                    while event.row is None and (every is None or event.step % every):
                        event = next(run)
                except StopIteration as end:
                    at.reason = cast(StopReason, end.value)
                    return at.reason
                except Diverged as error:
                    at.reason = memory.diagnose(error.step)
                    return at.reason
                if event.row is not None:
                    memory.take()
            yield event
    finally:
        step.close()
