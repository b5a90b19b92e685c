"""From numbers to places in a drawing: linear and logarithmic scales with round ticks."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamina._errors import ArgumentError

LOG_FROM = 50.0
"""The ratio of the largest to the smallest value from which a logarithmic scale shows more."""
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """A map from [low, high] to [start, end], with the ticks that belong to it.

    >>> scale = fit([0.0, 9.3], 0, 100)
    >>> scale(5), [label for _, label in scale.ticks]
    (50.0, ['0', '2', '4', '6', '8', '10'])
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        low, high, value = (math.log10(v) for v in (self.low, self.high, value)) if self.log else self._linear(value)
        return self.start + (self.end - self.start) * (value - low) / (high - low)

    def places(self, values: Iterable[float]) -> list[float]:
        """Return the places of many values, faster than one by one.

        >>> exact(0, 10, 0, 100).places([1, 5])
        [10.0, 50.0]
        """
        if self.log:
            low, high = math.log10(self.low), math.log10(self.high)
            values = map(math.log10, values)
        else:
            low, high = self.low, self.high
        factor, start = (self.end - self.start) / (high - low), self.start
        return [start + (value - low) * factor for value in values]

    def _linear(self, value: float) -> tuple[float, float, float]:
        return self.low, self.high, value


def demands_log(values: Iterable[float]) -> bool:
    """Say whether values are positive and spread so far that a linear scale would hide the small ones.

    >>> demands_log([1.0, 2.0]), demands_log([1e-3, 1.0]), demands_log([0.0, 1.0])
    (False, True, False)
    """
    known = list(values)
    return bool(known) and min(known) > 0 and max(known) >= LOG_FROM * min(known)


def fit(
    values: Iterable[float], start: float, end: float, *, log: bool = False, whole: bool = False, count: int = 5
) -> Scale:
    """Choose a scale with round ends for values; a logarithmic one needs them positive; `whole` allows no fractions.

    Linear scales begin at 0 when the values come near it. A single value is shown above or below 0.

    >>> fit([0.02, 3.0], 0, 1, log=True).ticks
    ((0.01, '0.01'), (0.1, '0.1'), (1.0, '1'), (10.0, '10'))
    """
    known = list(values)
    low, high = min(known), max(known)
    return _log(low, high, start, end) if log else _linear(low, high, start, end, count, whole)


def exact(
    low: float, high: float, start: float, end: float, *, whole: bool = False, count: int = 6, log: bool = False
) -> Scale:
    """Keep the ends as they are and put round ticks between them; `whole` allows no fractions.

    A logarithmic scale needs positive ends; it has powers of ten and, over less than two decades, 2 and 5 times them.

    >>> [label for _, label in exact(1, 10, 0, 1, whole=True).ticks]
    ['2', '4', '6', '8', '10']
    >>> [label for _, label in exact(0.5, 20, 0, 1, log=True).ticks]
    ['0.5', '1', '2', '5', '10', '20']
    """
    if log:
        return _exact_log(low, high, start, end, count)
    if high <= low:
        low, high = low - 0.5, high + 0.5
    step = _step(high - low, count)
    step = max(1.0, step) if whole else step
    return Scale(low, high, start, end, _ticks(low, high, step))


_MINUTE, _HOUR, _DAY, _YEAR = 60.0, 3600.0, 86400.0, 365.2425 * 86400.0
_STEPS = (
    *((float(n), "%H:%M:%S") for n in (1, 5, 15, 30)),
    *((n * _MINUTE, "%H:%M") for n in (1, 5, 15, 30)),
    *((n * _HOUR, "%m-%d %H:%M") for n in (1, 3, 6, 12)),
    *((n * _DAY, "%Y-%m-%d") for n in (1, 2, 7, 14)),
)
_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)


def dates(low: float, high: float, start: float, end: float, *, count: int = 6) -> Scale:
    """Keep the ends, seconds since 1970 in UTC, and put ticks at round dates or times between them.

    >>> day = 86400.0
    >>> [label for _, label in dates(0, 8 * day, 0, 1, count=4).ticks]
    ['1970-01-01', '1970-01-03', '1970-01-05', '1970-01-07', '1970-01-09']
    >>> [label for _, label in dates(0, 200 * day, 0, 1, count=3).ticks]
    ['1970-01', '1970-04', '1970-07']
    """
    if high <= low:
        low, high = low - _DAY / 2, high + _DAY / 2
    rough, origin = (high - low) / count, datetime(1970, 1, 1)
    for step, form in _STEPS:
        if rough <= step:
            places = range(math.ceil(low / step), math.floor(high / step) + 1)
            ticks = ((place * step, f"{origin + timedelta(seconds=place * step):{form}}") for place in places)
            return Scale(low, high, start, end, tuple(ticks))
    months = next((n for n in _MONTHS if rough <= n * _YEAR / 12), _MONTHS[-1])
    ends = [origin + timedelta(seconds=value) for value in (low, high)]
    first, last = (12 * moment.year + moment.month - 1 for moment in ends)
    known = [datetime(n // 12, n % 12 + 1, 1) for n in range(months * math.ceil(first / months), last + 1, months)]
    found = [((moment - origin).total_seconds(), moment) for moment in known]
    form = "%Y-%m" if months < 12 else "%Y"
    return Scale(low, high, start, end, tuple((at, f"{moment:{form}}") for at, moment in found if low <= at <= high))


_NOTHING = 1e-300  # what is smaller counts as 0: powers of ten below it are no numbers


def _linear(low: float, high: float, start: float, end: float, count: int, whole: bool) -> Scale:
    if max(abs(low), abs(high)) < _NOTHING:
        low = high = 0.0
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        low, high = min(low, 0.0), max(high, 0.0) or float(low == 0)
    elif 0 < low < 0.4 * high:
        low = 0.0
    step = max(1.0, _step(high - low, count)) if whole else _step(high - low, count)
    low, high = step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9)
    return Scale(low, high, start, end, _ticks(low, high, step))


def _log(low: float, high: float, start: float, end: float) -> Scale:
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    last = max(last, first + 1)
    every = math.ceil((last - first) / 6)
    first, last = max(first, -323), min(last, 308)
    return Scale(10.0**first, 10.0**last, start, end, _decades((1, n) for n in _powers(first, last, every)), True)


def _powers(first: int, last: int, every: int) -> range:
    """List the multiples of a number between two others: where a scale leaves powers out, 1 is not among them.

    >>> list(_powers(-25, 8, 6)), list(_powers(-3, 1, 1))
    ([-24, -18, -12, -6, 0, 6], [-3, -2, -1, 0, 1])
    """
    return range(every * math.ceil(first / every), last + 1, every)


def _exact_log(low: float, high: float, start: float, end: float, count: int) -> Scale:
    if not 0 < low:
        raise ArgumentError(f"a logarithmic axis needs positive ends, got {low:g} and {high:g}: use a linear one.")
    if high <= low:
        low, high = low / 2, high * 2
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if high < 100 * low else (1,)
    every = max(1, math.ceil((last - first) / count)) if factors == (1,) else 1
    known = [(factor, power) for power in _powers(first, last, every) for factor in factors]
    inside = [(f, power) for f, power in known if low * (1 - 1e-9) <= f * 10.0**power <= high * (1 + 1e-9)]
    return Scale(low, high, start, end, _decades(inside), True)


def _step(span: float, count: int) -> float:
    rough = span / count
    power = 10.0 ** math.floor(math.log10(rough))
    factors = (1, 2, 5, 10) if power == 1 else (1, 2, 2.5, 5, 10)  # −5, 0, 5 and not −5.0, −2.5, 0.0
    return power * next(factor for factor in factors if rough <= factor * power * (1 + 1e-9))


def _ticks(low: float, high: float, step: float) -> tuple[tuple[float, str], ...]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9) + (step * 10 ** -math.floor(math.log10(step)) % 1 > 0.1))
    largest = max(abs(low), abs(high))
    ticks = []
    for place in range(first, last + 1):
        value = place * step
        label = f"{value:,.{digits}f}" if 1e-4 <= largest < 1e6 else _apart(value)
        ticks.append((value, label.replace("-0", "0") if abs(value) < step / 2 else label))
    return tuple(ticks)


def _decades(places: Iterable[tuple[int, int]]) -> tuple[tuple[float, str], ...]:
    """Label factors times powers of ten: all plain or, where one is far from 1, all but 1 to 10 as powers.

    >>> _decades([(1, -4), (5, 0)])
    ((0.0001, '0.0001'), (5.0, '5'))
    >>> [label for _, label in _decades([(1, -6), (2, -3), (1, 0), (1, 3)])]
    ['10⁻⁶', '2·10⁻³', '1', '10³']
    """
    known = list(places)
    plain = all(-4 <= power <= 5 for _, power in known)
    return tuple(
        (f * 10.0**power, _plain(f * 10.0**power) if plain or 0 <= power <= (f == 1) else raised(str(f), power))
        for f, power in known
    )


def _apart(value: float) -> str:
    """Write a number of any size as a factor and a power of ten.

    >>> _apart(-2.5e7), _apart(0.0), _apart(1e-5)
    ('-2.5·10⁷', '0', '10⁻⁵')
    """
    if value == 0:
        return "0"
    factor, _, power = f"{value:.1e}".partition("e")
    return raised(factor.removesuffix(".0"), int(power))


def raised(factor: str, power: int) -> str:
    """Write a factor times a power of ten.

    >>> raised("2.5", -7), raised("1", 3)
    ('2.5·10⁻⁷', '10³')
    """
    return ("" if factor == "1" else f"{factor}·") + "10" + str(power).translate(_SUPERSCRIPTS)


def _plain(value: float) -> str:
    """Write a number without a power of ten, thousands apart.

    >>> _plain(0.002), _plain(20000.0)
    ('0.002', '20,000')
    """
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
