"""Show a run while it goes: a live line in a terminal, a few plain lines elsewhere."""

import math
import sys
import time
import warnings
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from lamina._errors import DataWarning
from lamina.cli._voice import say

if TYPE_CHECKING:
    from lamina.training.loop import Event


class Quiet:
    """Show nothing; those that show something start and stop a screen, or print when they are called."""

    screen: Any = None
    redrawn = 0.0

    def __enter__(self) -> "Quiet":
        if self.screen is not None:
            self.screen.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.screen is not None:
            self.screen.stop()

    def __call__(self, *_: Any) -> None:
        """Do nothing."""

    def due(self, now: float) -> bool:
        """Say whether a fifth of a second has passed since the screen was drawn, and remember it."""
        due = now - self.redrawn >= 0.2
        self.redrawn = now if due else self.redrawn
        return due


def watcher(quiet: bool, live: Callable[[], Quiet], plain: Callable[[], Quiet]) -> Quiet:
    """Choose by where the output goes: nothing, a screen that is redrawn, or lines."""
    return Quiet() if quiet else live() if sys.stdout.isatty() else plain()


class _Plain(Quiet):
    """Print about ten lines per run, for logs and pipes."""

    def __init__(self, epochs: int, unit: str = "") -> None:
        self.epochs, self.unit = epochs, unit

    def __call__(self, event: "Event") -> None:
        """Print a check if it is one of ten."""
        if event.row and (event.epoch % max(1, self.epochs // 10) == 0 or event.epoch == self.epochs):
            print(f"epoch {event.epoch}/{self.epochs}  {_numbers(event.row, self.unit)}", flush=True)


class _Live(Quiet):
    """Keep one line up to date: epoch, rate, loss, validation, time left."""

    def __init__(self, epochs: int, batches: int, unit: str = "") -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.screen = Progress(
            TextColumn("{task.description}"), BarColumn(None), TextColumn("{task.fields[row]}"), TimeRemainingColumn(),
            transient=True,
        )  # fmt: skip
        self.epochs, self.by_step, self.unit = epochs, batches > 0, unit
        self.task = self.screen.add_task("training", total=epochs * max(1, batches), row="")
        self.first: tuple[int, float] | None = None

    def __call__(self, event: "Event") -> None:
        """Redraw at most five times a second; a check always."""
        now = time.monotonic()
        if not self.due(now) and event.row is None:
            return
        self.first = self.first or (event.step, now)
        rate = (event.step - self.first[0]) / max(1e-9, now - self.first[1])
        fields = {"row": _numbers(event.row, self.unit)} if event.row else {}
        self.screen.update(
            self.task,
            completed=event.step if self.by_step else event.epoch,
            description=f"epoch {event.epoch}/{self.epochs} {rate:.0f} steps/s",
            **fields,
        )


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
        shown = [f"{words} {row[name]:.{max(0, 4 - _digits(row[name]))}f}" for name, words in errors.items()
                 if row.get(name) is not None]  # fmt: skip
        return "  ".join(shown + ([f"({unit})"] if unit else []))
    return "  ".join(f"{words} {row[name]:.4f}" for name, words in names.items() if row.get(name) is not None)


def _digits(value: float) -> int:
    """Return how many digits stand before the point; below 1 it is the number of zeros behind it, negative."""
    return math.floor(math.log10(value)) + 1 if value > 0 and math.isfinite(value) else 0


def progress(epochs: int, batches: int = 0, quiet: bool = False, unit: str = "") -> Quiet:
    """Show a run; without the number of batches the bar counts epochs. Errors are named with their unit."""
    return watcher(quiet, lambda: _Live(epochs, batches, unit), lambda: _Plain(epochs, unit))


class Reading:
    """Say how far files have been read, if that takes longer than two seconds: on a live line, or every ten seconds."""

    what, began, said = "", 0.0, 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Write to the standard error output, when it is time."""
        now, live = time.monotonic(), sys.stderr.isatty()
        if what != self.what or done <= 1:
            self.what, self.began, self.said = what, now, 0.0
        text = f"{what}: {done:,} of {total:,}"
        if self.said and live and done == total:
            print(f"\r{'':{len(text)}}\r", end="", file=sys.stderr, flush=True)
        elif now - self.began >= 2 and now - self.said >= (0.2 if live else 10) and done < total:
            self.said = now
            print(f"\r{text}" if live else text, end="" if live else "\n", file=sys.stderr, flush=True)


class Warnings:
    """Catch warnings about data and show each once, as a sentence."""

    def __enter__(self) -> None:
        self._catcher = warnings.catch_warnings(record=True)
        self._caught = self._catcher.__enter__()
        warnings.simplefilter("always", DataWarning)

    def __exit__(self, *error: Any) -> None:
        self._messages = list(
            dict.fromkeys(str(w.message) for w in self._caught or () if issubclass(w.category, DataWarning))
        )
        self._catcher.__exit__(*error)

    def show(self, quiet: bool = False, told: Collection[str] = ()) -> None:
        """Print what was caught and has not been told yet, unless only errors are wanted."""
        for message in () if quiet else self._messages:
            if message in told:
                continue
            say(f"note: {message}", stream=sys.stderr)
