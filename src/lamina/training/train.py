"""Training as a generator: whoever iterates decides what to keep, how often to look, and when to stop."""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from torch import nn

from lamina._errors import at_least
from lamina.training.executors.choose import learner
from lamina.training.fit import _ready
from lamina.training.loop import Event, Progress, released
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.stopping import StopReason


def train(
    model: nn.Module,
    data: Any,
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
        data: a dataset or what `lamina.load` reads, divided 4:1:1, a split, or a task. The test part stays sealed.
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
    task, runtime = _ready(model, data, recipe, runtime)
    with runtime.applied(recipe.precision) as used:
        step = learner(model, task, recipe, replace(used, step=executor or used.step))
    at = at or Progress()
    at.totals, at.kind = step.totals, step.kind
    return (yield from released(step.trained(at), runtime, recipe.precision, every))
