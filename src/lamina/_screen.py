"""Show a run while it goes: a live line in a terminal, a bar in a notebook, a few plain lines elsewhere.

This module imports no torch.
"""

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lamina._markup import tag
from lamina._system import lead_nowhere

if TYPE_CHECKING:
    from lamina.training.loop import Event


class Quiet:
    """Show nothing; those that show something start and stop a screen, or print when they are called."""

    screen: Any = None
    redrawn = 0.0
    unread = False
    """Whether whoever read what is printed has gone, as in `lamina train lenet5 | head -1`."""

    def __enter__(self) -> "Quiet":
        if self.screen is not None:
            self.screen.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.screen is not None:
            self.screen.stop()

    def __call__(self, *_: Any) -> None:
        """Do nothing."""

    def say(self, *lines: str) -> None:
        """Print something beside, if anything is shown."""

    def due(self, now: float) -> bool:
        """Say whether a fifth of a second has passed since the screen was drawn, and remember it."""
        due = now - self.redrawn >= 0.2
        self.redrawn = now if due else self.redrawn
        return due


def watcher(quiet: bool, live: Callable[[], Quiet], plain: Callable[[], Quiet]) -> Quiet:
    """Choose by where the output goes: nothing, a screen that is redrawn, or lines."""
    return Quiet() if quiet else live() if _terminal() else plain()


class _Plain(Quiet):
    """Print about ten lines per run, for logs and pipes."""

    def __init__(self, epochs: int, unit: str = "") -> None:
        self.epochs, self.unit = epochs, unit

    def __call__(self, event: "Event") -> None:
        """Print a check if it is one of ten."""
        if event.row and (event.epoch % max(1, self.epochs // 10) == 0 or event.epoch == self.epochs):
            self.say(f"epoch {event.epoch}/{self.epochs}  {_numbers(event.row, self.unit)}")

    def say(self, *lines: str) -> None:
        """Print lines."""
        try:
            print(*lines, sep="\n", flush=True)
        except BrokenPipeError:
            self.unread = True
            lead_nowhere(sys.stdout)


class _Moving(_Plain):
    """Keep a line up to date: epoch, rate, loss, validation, time left."""

    def __init__(self, epochs: int, batches: int, unit: str = "") -> None:
        super().__init__(epochs, unit)
        self.total, self.numbers = epochs * batches, ""
        self.first: tuple[int, float] | None = None

    def __call__(self, event: "Event") -> None:
        """Redraw at most five times a second; a check always."""
        now = time.monotonic()
        if not self.due(now) and event.row is None:
            return
        self.first = self.first or (event.step, now)
        rate = (event.step - self.first[0]) / max(1e-9, now - self.first[1])
        self.numbers = _numbers(event.row, self.unit) if event.row else self.numbers
        self.draw(event.step, f"epoch {event.epoch}/{self.epochs} {rate:.0f} steps/s", rate)

    def draw(self, step: int, words: str, rate: float) -> None:
        """Show how far the run is."""
        raise NotImplementedError


class _Live(_Moving):
    """The line of a terminal, which is gone when the run has ended."""

    def __init__(self, epochs: int, batches: int, unit: str = "") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        super().__init__(epochs, batches, unit)
        self.screen = Progress(
            TextColumn("{task.description}"), BarColumn(None), TextColumn("{task.fields[row]}"), TimeRemainingColumn(),
            transient=True, console=Console(),
        )  # fmt: skip
        self.task = self.screen.add_task("training", total=self.total, row="")

    def draw(self, step: int, words: str, rate: float) -> None:
        """Update the line."""
        self.screen.update(self.task, completed=step, description=words, row=self.numbers)


class _Bar(_Moving):
    """The bar of a notebook, which stays below its cell."""

    def __init__(self, show: Callable[[Any], None], epochs: int, batches: int, unit: str = "") -> None:
        super().__init__(epochs, batches, unit)
        self.show, self.last = show, _Drawn(0, self.total, f"epoch 0/{epochs}")

    def draw(self, step: int, words: str, rate: float) -> None:
        """Replace the bar."""
        left = f"  {clock((self.total - step) / rate)} left" if rate else ""
        self.last = _Drawn(step, self.total, f"{words}  {self.numbers}".rstrip())
        self.show(replace(self.last, words=self.last.words + left))

    def __exit__(self, *_: object) -> None:
        self.show(self.last)


@dataclass(frozen=True)
class _Drawn:
    """A bar that is full to some share, and the words beside it."""

    done: int
    total: int
    words: str

    def __repr__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        return str(tag("div", tag("progress", value=self.done, max=self.total), " ", self.words))


def clock(seconds: float) -> str:
    """Write a time as minutes and seconds.

    >>> clock(75.2), clock(3700)
    ('1:15', '1:01:40')
    """
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def _numbers(row: dict[str, Any], unit: str = "") -> str:
    """Give the few numbers of a check that a person wants to see; errors are in the units of the data.

    >>> _numbers({"loss": 0.5, "rmse": 1200.0, "validation_loss": 0.6, "validation_rmse": 1314.5}, "price")
    'rmse 1200  validation rmse 1314  (price)'
    """
    names = {
        "loss": "loss",
        "validation_loss": "validation",
        "validation_accuracy": "accuracy",
        "validation_token_accuracy": "words right",
    }
    if row.get("rmse") is not None:
        errors = {"rmse": "rmse", "validation_rmse": "validation rmse"}
        shown = [f"{words} {_error(row[name])}" for name, words in errors.items() if row.get(name) is not None]
        return "  ".join(shown + ([f"({unit})"] if unit else []))
    return "  ".join(f"{words} {row[name]:.4f}" for name, words in names.items() if row.get(name) is not None)


def _error(value: float) -> str:
    return f"{value:.{max(0, 4 - _digits(value))}f}" if value < 1e9 else f"{value:.4g}"


def _digits(value: float) -> int:
    """Return how many digits stand before the point; below 1 it is the number of zeros behind it, negative."""
    return math.floor(math.log10(value)) + 1 if value > 0 and math.isfinite(value) else 0


def progress(show: bool | None, epochs: int, batches: int, unit: str = "") -> Quiet:
    """Choose how a run is shown while it goes; errors are named with their unit.

    Args:
        show: whether it is shown; None shows it only where a line can be redrawn, in a terminal or a notebook.
        epochs: how many there are.
        batches: how many updates make an epoch.
        unit: of the errors.
    """
    place = None if show is False else _notebook()
    if place is not None:
        return _Bar(place, epochs, batches, unit)
    quiet = not _terminal() if show is None else not show
    return watcher(quiet, lambda: _Live(epochs, batches, unit), lambda: _Plain(epochs, unit))


def _terminal() -> bool:
    """Say whether the standard output is a terminal; a program without a console has no output at all."""
    return sys.stdout is not None and sys.stdout.isatty()


def _notebook() -> Callable[[Any], None] | None:
    """Find what shows something in the notebook that this program runs in, in place of what it showed before.

    Jupyter and all that speak with a kernel as it does, and marimo; None elsewhere. Neither is imported.
    """
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        instead: Callable[[Any], None] = marimo.output.replace
        return instead
    ipython = sys.modules.get("IPython")
    if ipython is None or not hasattr(ipython.get_ipython(), "kernel"):
        return None
    handle, shown = import_module("IPython.display").DisplayHandle(), False

    def show(thing: Any) -> None:
        nonlocal shown
        (handle.update if shown else handle.display)(thing)
        shown = True

    return show
