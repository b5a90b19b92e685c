"""Show a search while it goes: a live table of the leaders in a terminal, a few plain lines elsewhere."""

import time
from typing import TYPE_CHECKING, Any

from lamina._screen import Quiet, clock, watcher
from lamina.cli._tables import drawn

if TYPE_CHECKING:
    from lamina.studies.records import Moment
    from lamina.studies.study import Study

LEADERS = 8


class _PlainLeaders(Quiet):
    """Print about ten lines per search, for logs and pipes."""

    def __init__(self) -> None:
        self.shown, self.last, self.waits = -1, "", False

    def __call__(self, study: "Study", moment: "Moment | None") -> None:
        """Print a line when another tenth is done, and when no worker is left."""
        waits = self.waits if moment is None else not moment.workers
        if waits and not self.waits:
            print("there is no worker: waiting for one", flush=True)
        self.waits = waits
        self.last = self.last if moment is None else _pace(moment)
        done, total = len(study.state.results), study.total
        tenth = done * 10 // total if total else done // 10
        if moment is not None or tenth <= self.shown or not done:
            return
        self.shown = tenth
        value = study.leaders(1)[0].outcome.value
        best = "–" if value is None else f"{value:.4f}"
        of = f"/{total:,}" if total else ""
        print(f"{done:,}{of} configurations  best {best}{self.last and f'  ({self.last})'}", flush=True)


class _LiveLeaders(Quiet):
    """Keep a table of the leaders up to date, with progress and time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        # of its own: the shared one keeps what standard output was when it was made
        self.screen = Live(console=Console(), refresh_per_second=5, transient=True)
        self.begun: tuple[float, int] | None = None

    def __call__(self, study: "Study", moment: "Moment | None") -> None:
        """Redraw at most five times a second."""
        now, done = time.monotonic(), len(study.state.results)
        self.begun = self.begun or (now, done)
        if self.due(now):
            self.screen.update(_table(study, moment, now - self.begun[0], done - self.begun[1]))


def _table(study: "Study", moment: "Moment | None", seconds: float, done: int) -> Any:
    """Draw progress and leaders, so many seconds and finished configurations after this session began."""
    from rich.console import Group
    from rich.text import Text

    from lamina.studies.space import spell

    found, total = len(study.state.results), study.total
    words = [f"{found:,}{f' of {total:,}' if total else ''} configurations"]
    share = moment.epoch / moment.epochs * moment.trials if moment is not None and moment.epochs else 0.0
    if moment is not None:
        what = "the best one again" if total and found >= total else f"{moment.trials:,} at once"
        busy = moment.trials and moment.workers
        words.append(f"{what}, epoch {moment.epoch} of {moment.epochs}" if busy else "waiting")
        words += [pace] if (pace := _pace(moment)) else []
    if total and found < total and (done or share) and seconds > 0.5:
        words.append(f"{clock(seconds * (total - found - share) / (done + share))} left")
    names = study.space.names
    head = [name.replace("_", " ") for name in ("", study.metric.removeprefix("validation_"), *names, "epochs")]
    rows = []
    for place, result in enumerate(study.leaders(LEADERS), 1):
        outcome = result.outcome
        value = outcome.state if outcome.value is None else f"{outcome.value:.4f}"
        values = {name: float(f"{v:.3g}") if isinstance(v, float) else v for name, v in result.values.items()}
        cells = [spell(values[name]) if name in values else "–" for name in names]
        rows.append((str(place), value, *cells, "–" if outcome.epochs is None else str(outcome.epochs)))
    return Group(Text("  ·  ".join(words), style="bold"), drawn(head, rows, right=range(len(head))))


def _pace(moment: "Moment") -> str:
    """Say how many workers there are and how fast they are, as soon as that is known."""
    workers = f"{moment.workers} worker{'s' * (moment.workers != 1)}"
    if moment.rate and moment.workers:
        return f"{workers}, {moment.rate:,.0f} networks x updates per second"
    return "" if moment.trials and moment.workers else workers


def leaders(quiet: bool = False) -> Quiet:
    """Show a search."""
    return watcher(quiet, _LiveLeaders, _PlainLeaders)
