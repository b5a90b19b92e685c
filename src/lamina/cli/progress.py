"""Show a run while it goes: a live line in a terminal, a few plain lines elsewhere."""

import sys
import time
from typing import Any

from lamina.training.loop import Event


class Plain:
    """Print about ten lines a run, for logs and pipes."""

    def __init__(self, epochs: int, quiet: bool) -> None:
        self.epochs, self.quiet, self.start = epochs, quiet, time.monotonic()

    def __enter__(self) -> "Plain":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, event: Event) -> None:
        """Print a check if it is one of ten."""
        every = max(1, self.epochs // 10)
        if event.row and not self.quiet and (event.epoch % every == 0 or event.epoch == self.epochs):
            print(f"epoch {event.epoch}/{self.epochs}  {numbers(event.row)}", flush=True)


class Live:
    """Keep one line up to date: epoch, rate, loss, validation, time left."""

    def __init__(self, epochs: int, batches: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[row]}"),
            TimeRemainingColumn(),
        )
        self.bar = Progress(*columns, transient=True)
        self.epochs, self.start, self.by_step = epochs, time.monotonic(), batches > 0
        self.task = self.bar.add_task("training", total=epochs * max(1, batches), row="")
        self.first: int | None = None
        self.shown = 0.0

    def __enter__(self) -> "Live":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def __call__(self, event: Event) -> None:
        """Redraw at most five times a second; a check always."""
        now = time.monotonic()
        if event.row is None and now - self.shown < 0.2:
            return
        if self.first is None:
            self.first, self.start = event.step, now
        self.shown = now
        rate = (event.step - self.first) / max(1e-9, now - self.start)
        fields: dict[str, Any] = {
            "completed": event.step if self.by_step else event.epoch,
            "description": f"epoch {event.epoch}/{self.epochs} {rate:.0f} steps/s",
        }
        if event.row:
            fields["row"] = numbers(event.row)
        self.bar.update(self.task, **fields)


def numbers(row: dict[str, Any]) -> str:
    """Give the few numbers of a check that a person wants to see."""
    parts = []
    for name, words in (
        ("loss", "loss"),
        ("validation_loss", "validation"),
        ("validation_accuracy", "accuracy"),
        ("validation_token_accuracy", "words right"),
        ("validation_mse", "mse"),
    ):
        value = row.get(name)
        if value is not None:
            parts.append(f"{words} {value:.4f}")
    return "  ".join(parts)


def progress(epochs: int, batches: int = 0, quiet: bool = False) -> Plain | Live:
    """Choose by where the output goes; without the number of batches the bar counts epochs."""
    return Live(epochs, batches) if sys.stdout.isatty() and not quiet else Plain(epochs, quiet)
