"""Draw the table of any experiment, as its `Plot` says."""

import math
from dataclasses import replace
from itertools import cycle

from lamina._errors import ArgumentError
from lamina.drawing import charts
from lamina.drawing.axes import LABEL, MARGIN, TICK, line_height, short
from lamina.drawing.scene import Path, Rectangle, Scene, Shape, Stroke, Text, narrowed
from lamina.drawing.text import width as text_width
from lamina.experiments.result import Result, Series
from lamina.experiments.wording import axis, kind, spelled

COLORS = 6
"""How many colors there are for series; then they begin again."""
STYLES = ("solid", "dashed", "solid", "dotted")
"""How lines look, so that one shows under another."""
THICK, GAP = 13.0, 9.0
"""The height of a bar, and the distance of two groups of them."""


def plot(result: Result, width: float = 420.0, height: float = 260.0) -> Scene:
    """Draw a result: lines or points over numbers, bars over words.

    Args:
        result: what an experiment gave.
        width: of the scene, in points.
        height: of the scene; that of bars follows from their number.

    >>> from lamina.experiments.result import Plot
    >>> table = Result("powers", ("n", "2^n"), ((1, 2), (2, 4)), plot=Plot("n", ("2^n",), log_y=True))
    >>> plot(table).title
    'powers'
    """
    given = locals().copy()
    about, series = result.plot, tuple(replace(each, name=spelled(each.name)) for each in result.series())
    if about is None:
        raise ArgumentError(f"`result` must say what to draw, got a table alone, {result.title!r}: print it.")
    if about.kind == "bars":
        return replace(_bars(result, series, width), narrower=narrowed(plot, given))
    styles = STYLES if about.kind == "lines" else ("",)
    drawn = [
        charts.Series(
            each.name * (len(series) > 1), each.xs, [y if math.isfinite(y) else None for y in each.ys], _color(k), style
        )
        for (k, each), style in zip(enumerate(series), cycle(styles), strict=False)
    ]
    few = max(len(each.xs) for each in series) <= 30
    marks = [charts.Series("", each.xs, each.ys, each.color, size=2.4) for each in drawn] if few else []
    return charts.chart(
        drawn if about.kind == "lines" else [], marks if about.kind == "lines" else drawn, description=result.title,
        x_label=axis(about.x), y_label=axis(about.label), log_x=about.log_x, log_y=about.log_y,
        width=width, height=height,
    )  # fmt: skip


def _color(number: int) -> str:
    return f"line{number % COLORS + 1}"


def _strength(number: int) -> float:
    """Make bars fainter where colors begin again."""
    return 0.85 if number < COLORS else 0.4


def _bars(result: Result, series: tuple[Series, ...], width: float) -> Scene:
    """Draw horizontal bars in groups, with the words before them and the numbers behind them."""
    about = result.plot
    assert about is not None
    words = list(dict.fromkeys(x for each in series for x in each.xs))
    left = MARGIN + max(text_width(_word(about.x, x), TICK) for x in words) + 8
    numbers = [_short(y) for each in series for y in each.ys]
    room = width - left - MARGIN - max(text_width(number, TICK) for number in numbers) - 6
    length = _Lengths(series, about.log_y, room)
    shapes, top = _legend(series, width)
    start = top
    for x in words:
        members = [(k, y) for k, each in enumerate(series) for at, y in zip(each.xs, each.ys, strict=True) if at == x]
        middle = top + len(members) * THICK / 2
        shapes.append(Text((left - 8, middle), _word(about.x, x), TICK, "ink", "end"))
        for k, y in members:
            far = left + length(y)
            shapes.append(
                Rectangle((left, top + 1), (max(far - left, 0.5), THICK - 2), _color(k), None, opacity=_strength(k))
            )
            shapes.append(Text((far + 5, top + THICK / 2), _short(y), TICK, "muted"))
            top += THICK
        top += GAP
    shapes.append(Path(((left, start - 3), (left, top - GAP + 3)), Stroke("muted", 1.0)))
    below = axis(about.label) + ", logarithmic" * about.log_y
    half = text_width(below, LABEL) / 2
    middle = min((left + width - MARGIN) / 2, width - MARGIN - half)
    shapes.append(Text((middle, top + LABEL / 2), below, LABEL, "ink", "middle"))
    return Scene(width, top + line_height(LABEL) + MARGIN, tuple(shapes), result.title, result.title)


def _word(column: str, value: object) -> str:
    """Name a group of bars."""
    return spelled(kind(column, value))


def _short(value: float) -> str:
    """Write a number behind a bar: a count as it is, anything else with three digits.

    >>> _short(8393728), _short(-0.1234), _short(12.5), _short(math.nan)
    ('8,393,728', '−0.123', '12.5', 'no number')
    """
    if not math.isfinite(value):
        return "no number"
    counted = isinstance(value, int) or (1000 <= abs(value) < 1e9 and value == round(value))
    return f"{value:,.0f}".replace("-", "−") if counted else short(value)


class _Lengths:
    """Give the length of a bar for a number; on a logarithmic scale bars begin below the least one."""

    def __init__(self, series: tuple[Series, ...], log: bool, room: float) -> None:
        self.room, self.log = room, log
        sizes = [abs(y) for each in series for y in each.ys if math.isfinite(y) and (y != 0 or not log)] or [1.0]
        self.low = math.log10(min(sizes)) - 1 if log else 0.0
        self.high = math.log10(max(sizes)) if log else max(sizes) or 1.0

    def __call__(self, value: float) -> float:
        if not math.isfinite(value):
            return self.room
        if not self.log:
            return self.room * max(value, 0.0) / self.high
        at = math.log10(value) if value > 0 else self.low
        return self.room * (at - self.low) / max(self.high - self.low, 1e-9)


def _legend(series: tuple[Series, ...], width: float) -> tuple[list[Shape], float]:
    """List the names of several series above the bars, and say where they may begin."""
    shapes: list[Shape] = []
    left, top = MARGIN, MARGIN + line_height(TICK) / 2
    if len(series) == 1:
        return shapes, MARGIN + 3
    for k, each in enumerate(series):
        wide = 16 + text_width(each.name, TICK) + 14
        if left > MARGIN and left + wide > width - MARGIN:
            left, top = MARGIN, top + line_height(TICK)
        shapes.append(Rectangle((left, top - 4.5), (11.0, 9.0), _color(k), None, opacity=_strength(k)))
        shapes.append(Text((left + 16, top), each.name, TICK))
        left += wide
    return shapes, top + line_height(TICK) / 2 + 8
