"""A study: a space, a sampler and a journal, which one process writes; what is not tried yet is tried once."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from lamina._errors import ArgumentError, RunError, choice
from lamina._shown import Shown
from lamina.populations.members import DIVERGED, FINISHED
from lamina.studies._journal import Event, Journal
from lamina.studies.folder import Part, _StudyFolder
from lamina.studies.records import Moment, Outcome, Result, Trial
from lamina.studies.samplers import Done, Grid, Sampler, _describe_sampler, _make_sampler
from lamina.studies.space import Space, Values, _untuple
from lamina.training.folder import blamed

Recorded = Iterator[list[tuple[Trial, Outcome]]]


@runtime_checkable
class _Evaluator(Protocol):
    """How trials are tried."""

    def evaluate(self, trials: list[Trial]) -> Recorded:
        """Try them, in whichever order, and give outcomes as they are known."""


Watch = Callable[["Study", Moment | None], None]


@dataclass
class _State:
    """What the journals say."""

    results: dict[int, Result] = field(default_factory=dict)
    proposed: list[Values] = field(default_factory=list)
    refits: list[Event] = field(default_factory=list)
    stacks: dict[str, int] = field(default_factory=dict)
    tests: list[Event] = field(default_factory=list)

    def take(self, event: Event) -> None:
        """Learn one more event."""
        kind = event["event"]
        if kind == "result":
            known = {name: event[name] for name in Outcome.__dataclass_fields__ if name in event}
            known |= {name: tuple(known[name]) for name in ("curve", "spread") if name in known}
            # Parts that were copied together may tell of a trial twice: the first line counts.
            number = event["trial"]
            if not isinstance(number, int) or not isinstance(known.get("state", ""), str):
                raise TypeError("a trial has no number or no state")
            numbers = (known.get(name) for name in ("value", "tie", "epochs", "seconds"))
            if not all(isinstance(one, float | int | None) for one in numbers):
                raise TypeError(f"trial {number} has a value that is no number")
            self.results.setdefault(number, Result(number, _untuple(event["values"]), Outcome(**known)))
        elif kind == "stage":
            self.proposed += [_untuple(values) for values in event["configurations"]]
        elif kind == "stack":
            self.stacks.setdefault(event["shape"], event["size"])
        elif kind == "refit":
            self.refits.append(event)
        elif kind == "test":
            self.tests.append(event)


class Study(Shown):
    """Many configurations, each tried once, remembered in a folder.

    Args:
        home: the folder, with its description.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     study = Study.create(f"{place}/parabola", {"x": [-2, -1, 0, 1, 2]})
    ...     best = study.run(lambda values: (values["x"] - 1) ** 2).best
    >>> best.values, best.outcome.value
    ({'x': 1}, 0.0)
    """

    def __init__(self, home: _StudyFolder) -> None:
        self.home = home
        self.description = home.description()
        self.space = Space.read(self.description["space"])
        self.sampler: Sampler = _make_sampler(self.description["sampler"])
        self.direction: str = self.description["direction"]
        self.metric: str = self.description["metric"]
        self.state = _State()
        self._journals: dict[Path, Journal] = {}

    @classmethod
    def create(
        cls,
        folder: str | Path,
        space: "Space | dict[str, Any]",
        sampler: Sampler | None = None,
        *,
        direction: str = "minimize",
        metric: str = "value",
        join: bool = False,
        **more: Any,
    ) -> "Study":
        """Make a study in a new folder.

        Args:
            folder: where; another study of this name gets the next number.
            space: what varies.
            sampler: what is tried; the full grid by default.
            direction: "minimize" or "maximize".
            metric: what the numbers are called.
            join: enter the folder if it holds exactly this study.
            **more: further plain values for `study.toml`.
        """
        choice("direction", direction, ("minimize", "maximize"))
        space, sampler = Space.of(space), sampler or Grid()
        sampler.propose(space, ())  # what cannot be proposed is refused before anything is written
        description = {
            "space": space.words(),
            "metric": metric,
            "direction": direction,
            "sampler": _describe_sampler(sampler),
            **more,
        }
        return cls(_StudyFolder.create(folder, description, join=join))

    @classmethod
    def open(cls, folder: str | Path) -> "Study":
        """Open a study, finished or not."""
        home = _StudyFolder.open(folder)
        study = cls(home)
        home.check_journals()
        return study.refresh()

    def _headline(self) -> str:
        done, total = len(self.state.results), self.total
        best = [value for result in self.leaders(1) if (value := result.outcome.value) is not None]
        worth = f"; best {self.metric} {best[0]:.4g}" if best else ""
        return f"Study({self.folder.as_posix()}: {done} of {'?' if total is None else total} configurations{worth})"

    def _facts(self) -> Iterator[tuple[str, str]]:
        for result in self.leaders(5):
            value = "diverged" if result.outcome.value is None else f"{self.metric} {result.outcome.value:.4g}"
            yield value, ", ".join(f"{name}={word}" for name, word in result.values.items())

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return self.home.path

    def refresh(self) -> "Study":
        """Read what was written to the journals since the last time, by anybody."""
        for path in self.home.journals():
            journal = self._journal(path)
            place = journal.place
            try:
                for event in journal.new():
                    with blamed(path):
                        self.state.take(event)
            except KeyboardInterrupt:
                journal.place = place  # what was read may not have been taken; results count once
                raise
        return self

    def _journal(self, path: Path) -> Journal:
        if path not in self._journals:
            self._journals[path] = Journal(path)
        return self._journals[path]

    @cached_property
    def _static(self) -> list[Values]:
        return self.sampler.propose(self.space, ())

    @property
    def trials(self) -> list[Trial]:
        """All configurations that are known so far, in the order of their numbers."""
        return [Trial(number, values) for number, values in enumerate(self._known)]

    @property
    def _known(self) -> list[Values]:
        return self._static if self.sampler.static else self.state.proposed

    @property
    def total(self) -> int | None:
        """How many configurations there will be; None when that depends on results."""
        return self.sampler.total(self.space)

    @property
    def results(self) -> list[Result]:
        """What is done, in the order of the numbers."""
        return [self.state.results[number] for number in sorted(self.state.results)]

    def leaders(self, count: int | None = None) -> list[Result]:
        """Give the best results, the best one first."""
        return sorted(self.state.results.values(), key=lambda result: result.rank(self.direction))[:count]

    @property
    def best(self) -> Result:
        """The best result; of equal ones that with the smaller validation loss, then with the smaller number."""
        first = self.leaders(1)
        if not first or not math.isfinite(first[0].error(self.direction)):
            if self.complete:
                raise RunError(f"every configuration of {self.folder} diverged: try smaller learning rates.")
            raise RunError(f"{self.folder} has no finished configuration yet: continue it with  {self.resume_command}")
        return first[0]

    @property
    def test(self) -> Event | None:
        """What the test split said about the best configuration, the last time it was opened; None before."""
        return self.state.tests[-1] if self.state.tests else None

    @property
    def resume_command(self) -> str:
        """The command that continues it."""
        return f"lamina search --resume {self.folder}"

    @property
    def complete(self) -> bool:
        """Say whether everything was tried."""
        if any(number not in self.state.results for number in range(len(self._known))):
            return False
        return self.sampler.static or not self.sampler.propose(self.space, self._done())

    def _done(self) -> list[Done]:
        return [Done(result.values, *result.rank(self.direction)[1:3]) for result in self.results]

    @contextmanager
    def writing(self, part: Part | None = None) -> Iterator[Journal]:
        """Be the one writer of the study, or of a part of it, for as long as the block lasts.

        Raises:
            RunError: another process is; the whole study is not written while one of its parts is.
        """
        path = self.home.journal(part)
        outermost = not self._journal(path).held
        with ExitStack() as held:
            for each in dict.fromkeys([path, *(self.home.journals() if part is None else ())]):
                held.enter_context(self._journal(each).writing())
            yield self._journal(path)
            if outermost:
                self.home.seal(path)

    def run(
        self,
        objective: "Callable[[Values], float | Outcome] | _Evaluator",
        *,
        part: Part | None = None,
        watch: Watch = lambda study, moment: None,
    ) -> "Study":
        """Try what is not tried yet, until nothing is left.

        Args:
            objective: a function from a configuration to its value, or an `_Evaluator` that tries several at once.
            part: do only this part, in a journal of its own.
            watch: told about every result.

        Returns:
            The study itself.

        Raises:
            RunError: another process writes to the study.
        """
        if part is not None and not self.sampler.static:
            raise ArgumentError(
                f"`part` needs a search whose trials are known in advance, but {self.sampler.name!r} decides by "
                "results: leave it out, or use a grid or random search."
            )
        evaluator = objective if isinstance(objective, _Evaluator) else _OneByOne(objective)
        with self.writing(part) as journal:
            while trials := self._left(journal, part):
                for outcomes in evaluator.evaluate(trials):
                    self._record(journal, outcomes)
                    watch(self, None)
        return self

    def _left(self, journal: Journal, part: Part | None) -> list[Trial]:
        """List what is to be tried; when all is, the sampler may propose more."""
        known = self.refresh().trials
        left = [t for t in known if t.number not in self.state.results and (part is None or part.has(t.number))]
        if not left and not self.sampler.static and (values := self.sampler.propose(self.space, self._done())):
            journal.append({"event": "stage", "first": len(known), "configurations": values})
            left = self.refresh().trials[len(known) :]
        return left

    def _record(self, journal: Journal, outcomes: list[tuple[Trial, Outcome]]) -> None:
        """Write results, each once."""
        events = [
            {"event": "result", "trial": trial.number, "values": trial.values, **outcome.as_dict()}
            for trial, outcome in outcomes
            if trial.number not in self.state.results
        ]
        if events:
            journal.append(*events, sync=len(events) > 1)
        self.refresh()

    def note(self, part: Part | None = None, **event: Any) -> None:
        """Write any other event, into the journal of the study or of a part."""
        journal = self._journal(self.home.journal(part))
        with journal.writing():
            journal.append({**event, "at": round(time.time(), 3)})
        self.refresh()


class _OneByOne:
    """Try one configuration after another with a function."""

    def __init__(self, function: Callable[[Values], float | Outcome]) -> None:
        self.function = function

    def evaluate(self, trials: list[Trial]) -> Recorded:
        """Try each and give its outcome at once."""
        for trial in trials:
            start = time.monotonic()
            found = self.function(dict(trial.values))
            if not isinstance(found, Outcome):
                value = float(found)
                good = math.isfinite(value)
                seconds = round(time.monotonic() - start, 6)
                found = Outcome(value if good else None, FINISHED if good else DIVERGED, seconds=seconds)
            yield [(trial, found)]
