"""What an experiment gives: a small table, the notes' claims with whether they hold in it, and how to draw it."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from lamina._errors import ArgumentError, LaminaError, choice
from lamina._tables import Table
from lamina.experiments import wording


class ClaimError(LaminaError, AssertionError):
    """A claim of the notes does not hold in an experiment."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the notes, as far as this experiment can tell, and whether it holds.

    What random runs show is claimed as a rate (`often`) or as a mean (`on_average`). Their bounds were chosen on the
    seeds 1000 to 1029, with room for as few as three runs, and are asserted on others.

    Args:
        sentence: what is asserted, numbers included.
        holds: whether it is so.
        numbers: the found and the stated numbers of a rate or a mean.
    """

    sentence: str
    holds: bool
    numbers: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def often(cls, sentence: str, held: Iterable[bool], rate: float = 0.9) -> "Claim":
        """Claim that something is so in at least a given share of all runs there could be.

        Were the share exactly `rate`, so few of n runs as would contradict it occur in 1 case of 20 at most.

        Args:
            sentence: what is so in a run.
            held: whether it is so, run by run.
            rate: the share that is claimed.

        >>> Claim.often("a coin shows heads", [True, False, True, True, False], rate=0.5).sentence
        'in at least 50 % of all runs, a coin shows heads (found in 3 of 5; 1 would suffice)'
        """
        runs = [bool(each) for each in held]
        count, found, enough = len(runs), sum(runs), _runs_enough(len(runs), rate)
        return cls(
            f"in at least {100 * rate:g} % of all runs, {sentence} "
            f"(found in {found} of {count}; {enough} would suffice)",
            found >= enough,
            {"rate": rate, "found": found, "runs": count, "enough": enough},
        )

    @classmethod
    def on_average(
        cls, subject: str, values: Sequence[float], *, least: float | None = None, most: float | None = None
    ) -> "Claim":
        """Claim that the mean of a number over all runs has bounds, and tell it with its standard error.

        Args:
            subject: what the number is, in front of "is on average".
            values: the number, run by run.
            least: the lower bound.
            most: the upper bound.

        >>> Claim.on_average("the accuracy", [0.9, 0.92, 0.94], least=0.85).sentence
        'the accuracy is on average at least 0.85: 0.92 ± 0.0115'
        """
        mean, spread = _mean_and_spread(values)
        error = spread / math.sqrt(len(values))
        low, high = -math.inf if least is None else least, math.inf if most is None else most
        if least is None or most is None:
            bound = f"at least {written(least)}" if most is None else f"at most {written(most)}"
        else:
            bound = f"between {written(least)} and {written(most)}"
        numbers = {"mean": mean, "standard error": error, "runs": len(values), "least": least, "most": most}
        return cls(
            f"{subject} is on average {bound}: {mean:.3g} ± {error:.3g}",
            low <= mean <= high,
            {name: number for name, number in numbers.items() if number is not None},
        )

    @classmethod
    def averages(cls, subject: str, cases: Mapping[Any, Sequence[float]], **bounds: float) -> list["Claim"]:
        """Claim the same bounds, as `on_average` takes them, in several cases.

        Args:
            subject: what the number is, with braces where the case is named.
            cases: the number, run by run, by the name of the case or a tuple of names.
            bounds: `least` and `most`.

        >>> [claim.sentence for claim in Claim.averages("the loss of {}", {"a": [1.0], "b": [2.0]}, most=3.0)]
        ['the loss of a is on average at most 3: 1 ± 0', 'the loss of b is on average at most 3: 2 ± 0']
        """
        names = [case if isinstance(case, tuple) else (case,) for case in cases]
        return [
            cls.on_average(subject.format(*name), values, **bounds)
            for name, values in zip(names, cases.values(), strict=True)
        ]


def _runs_enough(count: int, rate: float) -> int:
    """Return how many of some runs suffice so as not to contradict a rate; one at least, if it is that of most runs.

    >>> [_runs_enough(count, 0.9) for count in (1, 3, 20, 30)], [_runs_enough(count, 0.2) for count in (3, 20, 30)]
    ([1, 2, 16, 24], [0, 1, 3])
    """
    below, enough = 0.0, 0
    while (below := below + math.comb(count, enough) * rate**enough * (1 - rate) ** (count - enough)) < 0.05:
        enough += 1
    return max(enough, 1) if rate > 0.5 else enough


KINDS = ("lines", "points", "bars")
"""How the columns of a table can be drawn."""


@dataclass(frozen=True)
class Plot:
    """Which columns of a table make its picture, as plain data; `experiments.plots.plot` draws it.

    Args:
        x: the column along the horizontal axis: numbers, or words for bars.
        y: the columns that are drawn, each a series of its own.
        kind: "lines", "points" or "bars".
        by: columns whose values divide the rows into series; empty for one series a column of `y`.
        log_x: whether the horizontal axis is logarithmic.
        log_y: the same of the vertical one.
        y_label: what the vertical axis measures; empty for the name of the only column.

    >>> Plot("width", ("error",), log_y=True).label
    'error'
    """

    x: str
    y: tuple[str, ...]
    kind: str = "lines"
    by: tuple[str, ...] = ()
    log_x: bool = False
    log_y: bool = False
    y_label: str = ""

    def __post_init__(self) -> None:
        choice("kind", self.kind, KINDS)
        if not self.y:
            raise ArgumentError("`y` must name at least 1 column, got none.")

    @property
    def label(self) -> str:
        """What stands along the vertical axis."""
        return self.y_label or ", ".join(self.y)


@dataclass(frozen=True)
class Series:
    """One line, row of points or group of bars: its name and where it goes."""

    name: str
    xs: tuple[Any, ...]
    ys: tuple[float, ...]


@dataclass(frozen=True, init=False)
class Result:
    """The outcome of an experiment.

    Args:
        title: what was tried.
        columns: the names of the columns.
        rows: numbers and words; numbers over several seeds are means with their spread in a column of its own.
        claims: what the notes say about it, and whether it holds here.
        plot: which columns make a picture; None when the table says it better.

    >>> result = Result("powers", ("n", "2^n"), ((1, 2), (10, 1024)), Claim("grows", True))
    >>> print(result)
    powers
      n   2^n
      1     2
     10  1024
    holds: grows
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    claims: tuple[Claim, ...]
    plot: Plot | None

    def __init__(
        self,
        title: str,
        columns: tuple[str, ...],
        rows: Iterable[Iterable[Any]],
        *claims: Claim,
        plot: Plot | None = None,
    ) -> None:
        fields = {"title": title, "columns": columns, "rows": tuple(map(tuple, rows)), "claims": claims, "plot": plot}
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if plot is not None:
            for name in (plot.x, *plot.y, *plot.by):
                choice("column", name, columns)
            for name in plot.y if plot.kind == "bars" else (plot.x, *plot.y):
                for value in self.column(name):
                    if value is not None and not isinstance(value, int | float):
                        raise ArgumentError(f"`{name}` must hold numbers to be drawn, got {value!r}: draw another one.")

    def column(self, name: str) -> list[Any]:
        """Return one column by its name."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def series(self) -> tuple[Series, ...]:
        """Return what `plot` names, as numbers: a series for each column of `y` and each value of `by`.

        >>> table = (("a", 1, 2.0), ("b", 1, 5.0), ("a", 2, 3.0))
        >>> result = Result("t", ("net", "n", "loss"), table, plot=Plot("n", ("loss",), by=("net",)))
        >>> [(s.name, s.xs, s.ys) for s in result.series()]
        [('a', (1, 2), (2.0, 3.0)), ('b', (1,), (5.0,))]
        """
        plot = self.plot
        if plot is None:
            return ()
        kinds = list(zip(*(self.column(name) for name in plot.by), strict=True)) or [()] * len(self.rows)
        xs, found = self.column(plot.x), []
        for kind in dict.fromkeys(kinds):
            chosen = [i for i, other in enumerate(kinds) if other == kind]
            words = [wording.kind(column, value) for column, value in zip(plot.by, kind, strict=True)]
            for name in plot.y:
                ys = self.column(name)
                label = ", ".join([*words, name] if len(plot.y) > 1 else words or [name])
                found.append(
                    Series(
                        label,
                        tuple(xs[i] for i in chosen),
                        tuple(math.nan if ys[i] is None else float(ys[i]) for i in chosen),
                    )
                )
        return tuple(found)

    def check(self) -> "Result":
        """Return the result itself, or raise with the first claim that does not hold and the whole table."""
        for claim in self.claims:
            if not claim.holds:
                raise ClaimError(f"does not hold: {claim.sentence}\n{self}")
        return self

    def __str__(self) -> str:
        texts = tuple(tuple(map(written, row)) for row in self.rows)
        lines = Table(self.columns, texts, range(len(self.columns))).text().splitlines()
        said = [f"{'holds' if claim.holds else 'FAILS'}: {claim.sentence}" for claim in self.claims]
        return "\n".join([self.title, *(f" {line}" for line in lines), *said])


def written(value: Any) -> str:
    """Write a number or a word as the tables do.

    >>> written(1 / 3), written(7), written("relu")
    ('0.3333', '7', 'relu')
    """
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    return f"{value:.4g}"


def drawing_from(function: Callable[..., Any], seeds: range) -> dict[str, Any]:
    """Return the arguments with which an experiment draws from some seeds: all, the first, or none if it draws nothing.

    >>> drawing_from(lambda seeds=3: ..., range(5, 9)), drawing_from(lambda seed=0: ..., range(5, 9))
    ({'seeds': range(5, 9)}, {'seed': 5})
    """
    known = inspect.signature(function).parameters
    return {"seeds": seeds} if "seeds" in known else {"seed": seeds.start} if "seed" in known else {}


Experiment = Callable[..., Result]
REGISTRY: dict[str, Experiment] = {}
"""Every experiment by each catalogue id it belongs to."""


def experiment(*ids: str) -> Callable[[Experiment], Experiment]:
    """Register an experiment under the catalogue ids whose claims it tries; a number of seeds counts from 0."""

    def register(function: Experiment) -> Experiment:
        known = inspect.signature(function)

        @wraps(function)
        def tried(*given: Any, **named: Any) -> Result:
            bound = known.bind(*given, **named)
            seeds = bound.arguments.get("seeds")
            if isinstance(seeds, int):
                bound.arguments["seeds"] = range(seeds)
            return function(*bound.args, **bound.kwargs)

        REGISTRY.update(dict.fromkeys(ids, tried))
        return tried

    return register


def _mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation (with n - 1) of some numbers.

    >>> _mean_and_spread([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, 0.0
    return mean, (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5


def _ratios_of_pairs(values: Sequence[float]) -> list[float]:
    """Divide the larger of two positive numbers by the smaller, for each one and the next, the last and the first.

    >>> _ratios_of_pairs([1.0, 2.0, 8.0])
    [2.0, 4.0, 8.0]
    """
    return [max(a, b) / min(a, b) for a, b in zip(values, [*values[1:], values[0]], strict=True)]


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers.

    >>> round(geometric_mean([1.0, 100.0]), 12)
    10.0
    """
    return math.exp(sum(map(math.log, values)) / len(values))


def differences(values: Iterable[float], others: Iterable[float]) -> list[float]:
    """Subtract other numbers from some, run by run.

    >>> differences([3.0, 5.0], [1.0, 1.0])
    [2.0, 4.0]
    """
    return [a - b for a, b in zip(values, others, strict=True)]


def quotients(values: Iterable[float], others: Iterable[float]) -> list[float]:
    """Divide some numbers by others, run by run.

    >>> quotients([3.0, 5.0], [2.0, 1.0])
    [1.5, 5.0]
    """
    return [a / b for a, b in zip(values, others, strict=True)]


def summary(values: Sequence[float]) -> tuple[float, float, float, float]:
    """Return mean, standard deviation, least and largest of some numbers.

    >>> summary([1.0, 3.0])
    (2.0, 1.4142135623730951, 1.0, 3.0)
    """
    return *_mean_and_spread(values), min(values), max(values)
