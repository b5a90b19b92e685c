"""Show a search while it goes: a live table of the leaders in a terminal, a few plain lines elsewhere."""

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamina.studies.study import Moment, Study

LEADERS = 8


class Quiet:
    """Show nothing while it goes."""

    def __enter__(self) -> "Quiet":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, study: "Study", moment: "Moment | None") -> None:
        """Do nothing."""


class Plain(Quiet):
    """Print a line about ten times a search, for logs and pipes."""

    def __init__(self) -> None:
        self.shown = -1

    def __call__(self, study: "Study", moment: "Moment | None") -> None:
        """Print a line when another tenth is done."""
        done, total = len(study.state.results), study.total
        tenth = done * 10 // total if total else done // 10
        if moment is not None or tenth <= self.shown or not done:
            return
        self.shown = tenth
        first = study.leaders(1)[0]
        value = "–" if first.outcome.value is None else f"{first.outcome.value:.4f}"
        print(f"{done:,}{f'/{total:,}' if total else ''} configurations  best {value}", flush=True)


class Live(Quiet):
    """Keep a table of the leaders up to date, with progress and time left."""

    def __init__(self) -> None:
        from rich.live import Live as Screen

        self.screen = Screen(refresh_per_second=5, transient=True)
        self.begun: tuple[float, int] | None = None
        self.shown, self.moment = 0.0, None

    def __enter__(self) -> "Live":
        self.screen.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.screen.stop()

    def __call__(self, study: "Study", moment: "Moment | None") -> None:
        """Redraw at most five times a second."""
        now, done = time.monotonic(), len(study.state.results)
        if self.begun is None:
            self.begun = now, done
        self.moment = moment  # type: ignore[assignment]
        if now - self.shown >= 0.2:
            self.shown = now
            self.screen.update(table(study, moment, now - self.begun[0], done - self.begun[1]))


def table(study: "Study", moment: "Moment | None", seconds: float, done: int) -> Any:
    """Draw progress and leaders.

    Args:
        study: what is searched.
        moment: what is being trained.
        seconds: since this session began.
        done: how many configurations it has finished.
    """
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from lamina.studies.space import spell

    found, total = len(study.state.results), study.total
    words = [f"{found:,}{f' of {total:,}' if total else ''} configurations"]
    share = moment.epoch / moment.epochs * moment.trials if moment is not None and moment.epochs else 0.0
    if moment is not None:
        what = "the best one again" if total and found >= total else f"{moment.trials:,} at once"
        words.append(f"{what}, epoch {moment.epoch} of {moment.epochs}")
    if total and found < total and (done or share) and seconds > 0.5:
        words.append(f"{clock(seconds * (total - found - share) / (done + share))} left")
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("", study.metric.removeprefix("validation_"), *study.space.names, "epochs"):
        drawn.add_column(name.replace("_", " "), justify="right", no_wrap=True)
    for place, result in enumerate(study.leaders(LEADERS), 1):
        outcome = result.outcome
        value = outcome.state if outcome.value is None else f"{outcome.value:.4f}"
        cells = [spell(_short(result.values[name])) if name in result.values else "–" for name in study.space.names]
        drawn.add_row(str(place), value, *cells, "–" if outcome.epochs is None else str(outcome.epochs))
    return Group(Text("  ·  ".join(words), style="bold"), drawn)


def clock(seconds: float) -> str:
    """Write a time as minutes and seconds.

    >>> clock(75.2), clock(3700)
    ('1:15', '1:01:40')
    """
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def _short(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) else value


def leaders(quiet: bool = False) -> Quiet:
    """Choose by where the output goes."""
    if quiet:
        return Quiet()
    return Live() if sys.stdout.isatty() else Plain()
