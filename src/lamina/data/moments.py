"""Moments of a series as people write them: understood as dates or numbers, compared, and continued in their step."""

from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

_DATES = ("%Y-%m-%d", "%Y-%m", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%m.%Y", "%m/%Y", "%d %b %Y",
          "%b %Y", "%d %B %Y", "%B %Y")  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", "T%H:%M:%SZ", " %H:%M:%S.%f", " %H:%M:%S%z", "T%H:%M:%S%z")
_FORMATS = tuple(date + time for date in _DATES for time in _TIMES)
MOSTLY = 0.9
"""The share of steps that must be alike for a series to be continued in that step."""


@dataclass(frozen=True)
class Moments:
    """Moments that are understood: values that can be compared, and how they are written.

    Args:
        values: dates, or numbers.
        form: how dates are written; "" for numbers.
    """

    values: tuple[Any, ...]
    form: str

    @property
    def positions(self) -> list[float]:
        """The moments as numbers: seconds since 1970 for dates, which count as UTC unless they say otherwise."""
        if not self.form:
            return list(self.values)
        return [(value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() for value in self.values]


def understood(cells: Sequence[Any]) -> Moments | None:
    """Understand what names moments: numbers, or dates that are all written alike; None for anything else.

    Where day and month could be either, the order in which time does not go back counts.

    >>> understood(["30.01.2024", "01.02.2024"]).form, understood(["1", "2.5"]).values, understood(["Mo", "Tu"])
    ('%d.%m.%Y', (1.0, 2.5), None)
    """
    words = [str(cell) for cell in cells]
    if not words:
        return None
    eight = all(len(word) == 8 and word[:2] in ("19", "20") for word in words)  # 20240131 is a date
    if not eight and (numbers := _numbers(words)) is not None:
        return Moments(tuple(numbers), "")
    fitting = (Moments(tuple(values), form) for form in _FORMATS if (values := _dates(words, form)) is not None)
    first = next(fitting, None)
    if first is None:
        numbers = _numbers(words)
        return None if numbers is None else Moments(tuple(numbers), "")
    return next((each for each in (first, *fitting) if _back(each.values) is None), first)


def goes_back(cells: Sequence[Any]) -> int | None:
    """Return the first place where time goes back; None if it does not, or if the moments are not understood.

    >>> goes_back(["2024-01", "2024-03", "2024-02"]), goes_back(["9 o'clock", "8 o'clock"])
    (2, None)
    """
    found = understood(cells)
    return None if found is None else _back(found.values)


def continued(cells: Sequence[Any], count: int) -> tuple[tuple[str, ...], str]:
    """Name the moments that follow, and say in a sentence if the steps are not all alike.

    Args:
        cells: the moments so far, at least one.
        count: how many to name.

    >>> continued(["2024-01-31", "2024-02-29", "2024-03-31"], 2)
    (('2024-04-30', '2024-05-31'), '')
    """
    found = understood(cells)
    last = str(cells[-1])
    unnamed = tuple(f"{last} +{i + 1}" for i in range(count))
    if found is None or len(found.values) < 2:
        return unnamed, ""
    name, following, share = _step(found)
    if share < MOSTLY:
        return unnamed, (
            f"the moments do not follow each other at equal steps, so those after {last} are only numbered."
        )
    moment, names = found.values[-1], []
    for _ in range(count):
        moment = following(moment)
        names.append(f"{moment:.12g}" if not found.form else moment.strftime(found.form))
    odd = round((1 - share) * (len(found.values) - 1))
    note = f"{odd} of {len(found.values) - 1} steps between moments are not {name}: the moments ahead assume it is."
    return tuple(names), note if odd else ""


def _step(found: Moments) -> tuple[str, Callable[[Any], Any], float]:
    """Find the step that most moments keep: its name, what makes it, and the share that keeps it."""
    pairs = list(pairwise(found.values))
    if not found.form:
        step = Counter(float(f"{b - a:.9g}") for a, b in pairs).most_common(1)[0][0]
        near = abs(step) * 1e-6
        return f"{step:g}", lambda a: a + step, sum(abs(b - a - step) <= near for a, b in pairs) / len(pairs)
    months = Counter(_month(b) - _month(a) for a, b in pairs).most_common(1)[0][0]
    ends = all(value.day == monthrange(value.year, value.month)[1] for value in found.values)
    gap = Counter(b - a for a, b in pairs).most_common(1)[0][0]
    rules: list[tuple[str, Callable[[Any], Any]]] = []
    if months:
        rules.append((f"{months} month{'s' * (months > 1)}", lambda a: _later(a, months, ends)))
    if gap == timedelta(days=1) and all(value.weekday() < 5 for value in found.values):
        rules.append(("1 weekday", lambda a: a + timedelta(days=3 if a.weekday() == 4 else 1)))
    rules.append((str(gap).removesuffix(", 0:00:00"), lambda a: a + gap))
    kept = [(name, rule, sum(rule(a) == b for a, b in pairs) / len(pairs)) for name, rule in rules]
    return max(kept, key=lambda each: each[2])


def _month(moment: datetime) -> int:
    return 12 * moment.year + moment.month - 1


def _later(moment: datetime, months: int, ends: bool) -> datetime:
    """Go some months ahead: to the same day, or to the last of the month."""
    year, month = divmod(_month(moment) + months, 12)
    last = monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=last if ends else min(moment.day, last))


def _back(values: Sequence[Any]) -> int | None:
    return next((i for i in range(1, len(values)) if values[i] < values[i - 1]), None)


def _numbers(words: Sequence[str]) -> list[float] | None:
    try:
        return [float(word) for word in words]
    except ValueError:
        return None


def _dates(words: Sequence[str], form: str) -> list[datetime] | None:
    try:
        datetime.strptime(words[-1], form)
        return [datetime.strptime(word, form) for word in words]
    except ValueError:
        return None
