"""A study as plain values: what varied, what came out, and what the test split said. `lamina.studies` fills it in."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

FINISHED = "finished"


@dataclass(frozen=True)
class Axis:
    """A hyperparameter: its name and its values in order, or the ends of a range."""

    name: str
    values: tuple[str, ...] = ()
    ends: tuple[float, float] | None = None
    log: bool = False


@dataclass(frozen=True)
class Tried:
    """A configuration that was tried."""

    number: int
    values: dict[str, Any]
    value: float | None
    state: str = FINISHED
    tie: float | None = None
    epochs: int | None = None
    curve: tuple[float | None, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True)
class StudyRecord:
    """Everything that the report of a study says."""

    name: str
    title: str
    lines: tuple[str, ...]
    metric: str
    direction: str
    sampler: str
    axes: tuple[Axis, ...]
    tried: tuple[Tried, ...]
    total: int | None
    complete: bool
    examples: tuple[int, int, int] | None = None
    test: dict[str, Any] | None = None
    same: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    seeds: int = 1

    @property
    def score(self) -> str:
        """The metric without the word validation."""
        return self.metric.removeprefix("validation_")

    def error(self, tried: Tried) -> float | None:
        """Give the number that is drawn: the smaller the better; the share of wrong answers instead of accuracy."""
        return self.as_error(tried.value)

    def as_error(self, value: float | None) -> float | None:
        """Turn a value of the metric into an error."""
        if value is None or not math.isfinite(value):
            return None
        return value if self.direction == "minimize" else 1 - value if self.score == "accuracy" else -value

    @cached_property
    def ranked(self) -> tuple[Tried, ...]:
        """All that was tried, the best first; what diverged or was dropped comes after what finished."""

        def rank(tried: Tried) -> tuple[Any, ...]:
            error, tie = self.error(tried), tried.tie
            bad = math.inf
            return (
                tried.state != FINISHED,
                bad if error is None else error,
                bad if tie is None else tie,
                tried.number,
            )

        return tuple(sorted(self.tried, key=rank))

    @property
    def best(self) -> Tried | None:
        """The best one that finished."""
        first = self.ranked[0] if self.ranked else None
        return first if first is not None and self.error(first) is not None else None

    @cached_property
    def known(self) -> tuple[tuple[Tried, float], ...]:
        """What has a value, with its error, in the order of trial numbers."""
        pairs = [(tried, self.error(tried)) for tried in sorted(self.tried, key=lambda tried: tried.number)]
        return tuple((tried, error) for tried, error in pairs if error is not None)


def levels(axis: Axis, tried: Sequence[Tried], bins: int = 6) -> tuple[list[str], list[int | None]]:
    """Give the names of an axis's values, and for each configuration the place of its own."""
    if axis.ends is None:
        place = {value: index for index, value in enumerate(axis.values)}
        return list(axis.values), [place.get(each.values.get(axis.name, "")) for each in tried]
    low, high = (math.log(end) for end in axis.ends) if axis.log else axis.ends
    edges = [low + (high - low) * i / bins for i in range(bins + 1)]
    shown = [short(math.exp(edge) if axis.log else edge) for edge in edges]
    names = [f"{a}–{b}" for a, b in pairwise(shown)]
    found: list[int | None] = []
    for each in tried:
        value = each.values.get(axis.name)
        if value is None:
            found.append(None)
            continue
        real = math.log(value) if axis.log else value
        found.append(min(bins - 1, max(0, int((real - low) / (high - low) * bins))))
    return names, found


def short(value: float) -> str:
    """Write a number in few letters."""
    return f"{value:.1e}".replace("e-0", "e-").replace(".0e", "e") if 0 < abs(value) < 1e-3 else f"{value:.2g}"


def importance(record: StudyRecord, axis: Axis) -> float:
    """Return which share of the variation of the errors' ranks one hyperparameter explains by itself."""
    tried, ranks = [t for t, _ in record.known], _ranks([e for _, e in record.known])
    if len(set(ranks)) < 2:
        return 0.0
    _, places = levels(axis, tried)
    groups: dict[int | None, list[float]] = {}
    for place, rank in zip(places, ranks, strict=True):
        groups.setdefault(place, []).append(rank)
    mean = sum(ranks) / len(ranks)
    total = sum((rank - mean) ** 2 for rank in ranks)
    between = sum(len(g) * (sum(g) / len(g) - mean) ** 2 for g in groups.values())
    return between / total


def _ranks(errors: Sequence[float]) -> list[float]:
    """Give the place of each error in their order; equal ones share the mean of their places."""
    order = sorted(errors)
    return [(bisect_left(order, error) + bisect_right(order, error) - 1) / 2 for error in errors]
