"""The loop: for epoch, for batch, update; then validate, record, observe, ask the stopping rules."""

import math
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from lamina._system import STOPS
from lamina._types import Tensor
from lamina.training.runtime import Runtime
from lamina.training.stopping import Row, Rule, StopReason, _asked, _epochs_done, _interrupted, judged


@runtime_checkable
class _Stepping(Protocol):
    """What the loop needs of a training between two checks."""

    @property
    def batches(self) -> int:
        """How many updates make the present epoch, as far as that is known."""

    @property
    def step(self) -> int:
        """How many updates were made."""

    def begin(self, epoch: int, batch: int = 0) -> None:
        """Lay out the order of an epoch, from a batch on."""

    def __call__(self) -> None:
        """Make one update."""


@runtime_checkable
class _Step(_Stepping, Protocol):
    """What the loop needs of a training, however its updates are executed."""

    def totals(self) -> dict[str, Any]:
        """Give loss and score over the epoch so far."""

    def evaluate(self) -> dict[str, Any]:
        """Give loss and score on the validation examples."""

    def first_bad_step(self) -> int | None:
        """Give the first step whose loss was not finite."""

    def finite(self) -> bool:
        """Say whether weights and answers are finite now, after the last update."""

    def weights(self) -> dict[str, Tensor]:
        """Give the tensors of the network, by name, that `evaluate` judges."""


@dataclass
class Progress:
    """Where a run stands: the next epoch and batch, the rows and the best weights so far, a reason to end."""

    epoch: int = 0
    batch: int = 0
    rows: list[Row] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)
    best_row: int = -1
    since: int = 0
    """The rows before the run was continued with another recipe."""

    reason: StopReason | None = None
    kind: str = ""
    """How updates are executed."""

    totals: Callable[[], Row] = field(default=dict, compare=False, repr=False)
    """Computes the mean loss and score since the epoch began, for whoever looks between two checks."""


@dataclass(frozen=True)
class Event:
    """What an observer sees after each check, and between checks as often as it likes to look."""

    epoch: int
    batch: int
    step: int
    row: Row | None


Observer = Callable[[Event], Any]
"""Hears about each step and each check; one that returns True asks the run to end there, any other answer does not."""

Answer = TypeVar("Answer")
Result = TypeVar("Result")


class _Diverged(Exception):  # noqa: N818 - it is caught and turned into a StopReason
    """The loss is no longer finite since this step."""

    def __init__(self, step: int) -> None:
        super().__init__(f"the loss has not been finite since step {step}")
        self.step = step


def events(
    step: _Stepping,
    epochs: int,
    rules: Sequence[Rule] = (),
    at: Progress | None = None,
    check_every: int = 1,
    max_steps: int | None = None,
    check: "Callable[[Any, Progress, Sequence[Rule]], Row]" = lambda *parts: checked(*parts),
) -> Generator[Event, None, StopReason]:
    """Train until the last epoch, a rule or a loss that is not finite; the caller decides what to keep, and may stop.

    Args:
        step: makes one update when called.
        epochs: how many epochs at most.
        rules: asked after each check; the first reason given ends the run.
        at: where to go on; changed as the run goes on. While `at.batch < step.batches` a resume can begin there.
        check_every: epochs between two checks.
        max_steps: check and end after so many updates, also in the middle of an epoch.
        check: looks at the training and gives the row of an event; `checked` by default.

    Yields:
        An event after each update (`row` is None) and after each check.

    Returns:
        Why the run ended.
    """
    at = at or Progress()
    at.reason, last = None, math.inf if max_steps is None else max_steps
    while at.reason is None and at.epoch < epochs and step.step < last:
        epoch, batch = at.epoch, at.batch
        step.begin(epoch, batch)
        while batch < step.batches:  # asked each time: a stream knows it only at its end
            step()
            batch += 1
            whole = batch == step.batches
            due = step.step >= last or (whole and ((epoch + 1) % check_every == 0 or epoch + 1 == epochs))
            at.epoch, at.batch = (epoch + 1, 0) if whole and not due else (epoch, batch)
            yield Event(epoch, batch, step.step, None)
            if due:
                break
        else:
            continue
        if whole:
            at.epoch, at.batch = epoch + 1, 0
        yield Event(at.epoch, 0, step.step, check(step, at, rules))
    return at.reason or _epochs_done(epochs)


def checked(step: _Step, at: Progress, rules: Sequence[Rule] = ()) -> Row:
    """Judge a network on the validation examples, keep its weights if they are the best, and ask the rules."""
    row = {"epoch": at.epoch, "step": step.step, **step.totals()}
    bad = step.first_bad_step()
    if bad is not None:
        raise _Diverged(bad)
    row |= step.evaluate()
    if not math.isfinite(row.get("validation_loss", math.nan)) and not step.finite():  # since the last update
        raise _Diverged(step.step)
    at.rows.append(row)
    _keep_best(step, at)
    at.reason = next((reason for rule in rules if (reason := rule(at.rows)) is not None), None)
    return row


def observed(
    step: _Step,
    epochs: int,
    rules: Sequence[Rule] = (),
    observers: Sequence[Observer] = (),
    at: Progress | None = None,
    check_every: int = 1,
    max_steps: int | None = None,
    save: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[Event, None, StopReason]:
    """Train to the end, tell observers, save, and stop when asked to.

    The arguments of `events`; and `observers` are told about each step (`row` is None) and each check, and end the run
    there by returning True (where a check follows the step, after this check). `save` is called with the progress
    wherever a resume could begin and decides by itself whether to write, and `stop` says whether the run is to end
    here. The events are passed on after observers were told.
    """
    at = at or Progress()
    run, asked = events(step, epochs, rules, at, check_every, max_steps), False
    while True:
        try:
            event = next(run)
        except StopIteration as end:
            return cast(StopReason, end.value)
        for observer in observers:
            asked = _says_stop(observer(event)) or asked
        if at.batch < step.batches:
            save(at)
            if at.epoch < epochs and at.reason is None and asked:
                return _asked(step.step)
            if at.epoch < epochs and at.reason is None and stop():
                return _interrupted(step.step)
        yield event


def _says_stop(answer: Any) -> bool:
    """Say whether an observer returned True, also as a number of NumPy or torch; counts and texts are no answer."""
    return bool(answer) if str(getattr(answer, "dtype", "")) in ("bool", "torch.bool") else answer is True


def drain(
    run: Generator[Event, Answer | None, Result], answer: Callable[[Event], Answer | None] = lambda event: None
) -> Result:
    """Go through a training to its end and give what it returns.

    Args:
        run: what `train` gives, or a population's training.
        answer: told about each event; what it returns is sent to the training.

    >>> import lamina
    >>> net, data = lamina.build("fnn", inputs=2, outputs=2), lamina.load("moons")
    >>> drain(lamina.train(net, data, lamina.Recipe(epochs=2))).name
    'epochs'
    """
    said: Answer | None = None
    while True:
        try:
            said = answer(run.send(said))
        except StopIteration as end:
            return cast(Result, end.value)


def released(
    run: Generator[Event, Answer | None, Result], runtime: Runtime, precision: str, every: int | None = None
) -> Generator[Event, Answer | None, Result]:
    """Go through a training with the flags of a runtime set while it computes, and nothing held while it waits.

    Args:
        run: yields an event after each update and each check.
        runtime: device, threads and flags.
        precision: of the recipe.
        every: pass on the events of every so many updates too; None passes on those of checks only.

    Yields:
        Events; what is sent back reaches the training.

    Returns:
        What the training returns.
    """
    said: Answer | None = None
    try:
        while True:
            with runtime.applied(precision):
                try:
                    event = run.send(said)
                    while event.row is None and (every is None or event.step % every):
                        event = next(run)
                except StopIteration as end:
                    return cast(Result, end.value)
            said = yield event
    finally:
        run.close()


def is_best(rows: Sequence[Row], best_row: int) -> bool:
    """Say whether the last row has a smaller validation loss (training loss, without validation) than the best one."""
    return best_row < 0 or judged(rows[-1]) < judged(rows[best_row])


def _keep_best(step: _Step, at: Progress) -> None:
    """Copy the weights when the last row is the best so far."""
    if is_best(at.rows, at.best_row):
        at.best_row = len(at.rows) - 1
        at.best = {name: t.detach().clone() for name, t in step.weights().items()}


@contextmanager
def _stop_on_signal(patience: float = 0.0) -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C or the like into a request to stop after the present step; a second one ends at once.

    Args:
        patience: seconds for which further requests are not heard.
    """
    asked, until = threading.Event(), math.inf
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal until
        asked.set()
        until = min(until, time.monotonic() + patience)
        if time.monotonic() >= until:
            for name, old in before.items():
                signal.signal(name, old)

    before = {name: signal.signal(name, handle) for name in STOPS}
    try:
        yield asked.is_set
    finally:
        for name, old in before.items():
            signal.signal(name, old)
