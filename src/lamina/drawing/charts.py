"""Charts as scenes: lines, points, bars, areas and bands on axes with round ticks, one or two vertical axes.

A chart of 200 points is made and written as SVG in about a millisecond, so that live pages draw it anew whenever a
slider moves. The legend stands above the plot, where no data are, and does not jump when they change.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from lamina._errors import ArgumentError, choice
from lamina.drawing.axes import (
    LABEL,
    MARGIN,
    SLACK,
    TICK,
    TITLE,
    Axis,
    Frame,
    Range,
    _clipped_area,
    _room_across,
    axes,
    clipped,
    frame,
    horizontal,
    line_height,
    segments,
    vertical,
)
from lamina.drawing.scene import Circle, Path, Point, Polygon, Rectangle, Scene, Shape, Stroke, Text, narrowed
from lamina.drawing.text import width as text_width

LINES = {"solid": (), "dashed": (6.0, 3.5), "dotted": (1.5, 3.0), "step": ()}
"""How a line can look, with its dashes."""
MARKS = ("dot", "ring", "cross", "square")
"""How a point can look."""
BARS = ("bar", "area")
"""How numbers of classes can look: separate bars, or one outline of touching ones."""
DENSE = 800
"""The number of points from which on a line is thinned to the extremes of equal pieces."""
_SWATCH = 20.0


@dataclass(frozen=True)
class Series:
    """Named numbers over other numbers.

    Args:
        name: what the legend says; "" keeps it out of the legend.
        xs: the places.
        ys: the values there; None and NaN are gaps.
        color: a role of `drawing.colors` or "#rrggbb".
        style: a line is "solid", "dashed", "dotted" or "step", a point "dot", "ring", "cross" or "square", bars are
            "bar" or "area"; "" is the first of its kind.
        axis: "left" or "right".
        size: the width of a line, the radius of a mark, the width of a bar in units of x; 0 chooses.
        titles: the tooltip of each mark, or of each piece of a line between its gaps; () for the name.
    """

    name: str
    xs: Sequence[float]
    ys: Sequence[float | None]
    color: str = "line1"
    style: str = ""
    axis: str = "left"
    size: float = 0.0
    titles: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check lengths and words."""
        if len(self.xs) != len(self.ys):
            raise ArgumentError(
                f"`ys` of {self.name!r} must have as many numbers as `xs` ({len(self.xs)}), got {len(self.ys)}."
            )
        if self.style:
            choice("style", self.style, (*LINES, *MARKS, *BARS))
        choice("axis", self.axis, ("left", "right"))


@dataclass(frozen=True)
class Band:
    """A filled strip between two curves.

    Args:
        name: what the legend says; "" keeps it out of the legend.
        xs: the places.
        low: the lower curve.
        high: the upper curve.
        color: a role of `drawing.colors` or "#rrggbb".
        opacity: how strong the fill is.
    """

    name: str
    xs: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    color: str = "line1"
    opacity: float = 0.18


@dataclass(frozen=True)
class Note:
    """A few words in a plot, kept inside of it.

    Args:
        x: the place, in units of the axes.
        y: the place.
        content: the words.
        shift: how far from there the words stand, in points, right and down.
        color: of the words.
        anchor: "start", "middle" or "end": which end of the words stands there.
    """

    x: float
    y: float
    content: str
    shift: Point = (0.0, -12.0)
    color: str = "ink"
    anchor: str = "middle"


def chart(
    lines: Sequence[Series] = (),
    points: Sequence[Series] = (),
    bars: Sequence[Series] = (),
    bands: Sequence[Band] = (),
    notes: Sequence[Note] = (),
    *,
    title: str = "",
    description: str = "",
    x_label: str = "",
    y_label: str = "",
    right_label: str = "",
    x_range: Range | None = None,
    y_range: Range | None = None,
    right_range: Range | None = None,
    log_x: bool = False,
    log_y: bool = False,
    legend: bool = True,
    width: float = 360.0,
    height: float = 240.0,
) -> Scene:
    """Draw numbers on axes.

    Args:
        lines: drawn as lines.
        points: drawn as marks, above the lines.
        bars: drawn as bars from 0, below the lines.
        bands: filled strips, below everything.
        notes: words in the plot, above everything.
        title: above the plot.
        description: what the chart shows, for those who do not see it.
        x_label: the name of the horizontal axis.
        y_label: the name of the left axis.
        right_label: the name of the right axis, which belongs to series with `axis="right"`.
        x_range: the ends of the horizontal axis; what lies outside is cut off.
        y_range: the ends of the left axis.
        right_range: the ends of the right axis.
        log_x: a logarithmic horizontal axis.
        log_y: a logarithmic left axis; values that are not positive are gaps.
        legend: whether names are listed above the plot.
        width: of the scene, in points.
        height: of the scene.

    >>> from lamina.drawing.svg import svg
    >>> scene = chart([Series("loss", [1, 2, 3], [0.9, 0.4, 0.2])], x_label="epoch")
    >>> (scene.width, scene.height), "epoch" in svg(scene)
    ((360.0, 240.0), True)
    """
    given = locals().copy()
    x, y, other = Axis(x_label, x_range, log_x), Axis(y_label, y_range, log_y), Axis(right_label, right_range)
    values = _values(lines, points, bars, bands, x, y, other)
    rows = _legend_rows(lines, points, bars, bands, width - 2 * MARGIN) if legend else []
    above = (line_height(TITLE) + 4 if title else 0) + (len(rows) * line_height(TICK) + 5 if rows else 0)
    room = height - above - line_height(TICK) - (line_height(LABEL) if x_label else 0) - 2 * MARGIN
    bar_like = bool(bars) and not lines and not points
    up, second = vertical(y, values[1], room), vertical(other, values[2], room) if values[2] else None
    across = _room_across(width, y, up, other, second)
    about, pad = _about(lines, points, bars), 0.04 if points and not lines else 0.0
    wide = horizontal(x, values[0], across, pad=pad, about=about, each=bar_like)
    place = frame((width, height), above, x, y, other, (wide, up, second))
    shapes: list[Shape] = axes(place, x, y, other, columns=not bar_like)
    shapes += _heading(title, rows, place, width)
    shapes += draw(place, lines, points, bars, bands, notes)
    name = title or description or "chart"
    return Scene(width, height, tuple(shapes), name, description, narrowed(chart, given))


def draw(
    place: Frame,
    lines: Sequence[Series] = (),
    points: Sequence[Series] = (),
    bars: Sequence[Series] = (),
    bands: Sequence[Band] = (),
    notes: Sequence[Note] = (),
) -> list[Shape]:
    """Draw what lies in a plot, from bands at the bottom to notes on top."""
    shapes: list[Shape] = []
    for band in bands:
        shapes += _band(band, place)
    for series in bars:
        shapes += _bars(series, place)
    for series in lines:
        shapes += _line(series, place)
    for series in points:
        shapes += _marks(series, place)
    return shapes + [_note(note, place) for note in notes]


def histogram(
    name: str, values: Sequence[float], *, low: float, high: float, bins: int = 30, color: str = "line1"
) -> Series:
    """Count values in equal classes, as a density whose area is 1; pass it to `chart` as one of its `bars`.

    Args:
        name: what the legend says.
        values: what is counted; what lies outside of the ends is not drawn but counts.
        low: the lower end of the first class.
        high: the upper end of the last class.
        bins: how many classes.
        color: of the outline and the fill.

    >>> histogram("", [0.1, 0.2, 0.9], low=0, high=1, bins=2).ys
    [1.3333333333333333, 0.6666666666666666]
    """
    if not high > low or bins < 1:
        raise ArgumentError(f"a histogram needs low < high and at least 1 class, got {low}, {high} and {bins}.")
    step = (high - low) / bins
    counts = [0] * bins
    for value in values:
        place = math.floor((value - low) / step)
        if value == high:
            place = bins - 1
        if 0 <= place < bins:
            counts[place] += 1
    total = max(1, len(values)) * step
    return Series(
        name, [low + (i + 0.5) * step for i in range(bins)], [c / total for c in counts], color, "area", size=step
    )


def _about(lines: Sequence[Series], points: Sequence[Series], bars: Sequence[Series]) -> list[float]:
    """Collect the places that a chart is about: bars side by side stand around one."""
    beside = len({len(series.xs) for series in bars}) == 1
    together = zip(*(series.xs for series in bars), strict=True) if beside else ((x,) for s in bars for x in s.xs)
    between = [round(sum(xs) / len(xs), 9) for xs in together]
    return [value for value in (*between, *chain(*(s.xs for s in (*lines, *points)))) if math.isfinite(value)]


def _values(
    lines: Sequence[Series],
    points: Sequence[Series],
    bars: Sequence[Series],
    bands: Sequence[Band],
    x: Axis,
    y: Axis,
    other: Axis,
) -> tuple[list[float], list[float], list[float]]:
    """Collect what the three axes must show."""
    xs: list[float] = []
    sides: dict[str, list[float]] = {"left": [], "right": []}
    logs = {"left": y.log, "right": other.log}
    for series in (*lines, *points, *bars):
        log = logs[series.axis]
        xs += series.xs
        sides[series.axis] += [v for v in series.ys if v is not None and math.isfinite(v) and (v > 0 or not log)]
    for series in bars:
        half = _bar_width(series) / 2
        xs += [min(series.xs) - half, max(series.xs) + half] if series.xs else []
        sides[series.axis] += [] if logs[series.axis] else [0.0]
    for band in bands:
        xs += band.xs
        sides["left"] += [v for v in chain(band.low, band.high) if math.isfinite(v) and (v > 0 or not y.log)]
    xs = [v for v in xs if math.isfinite(v) and (v > 0 or not x.log)]
    if not xs or not (sides["left"] or sides["right"] or y.limits):
        raise ArgumentError(
            "a chart needs at least 1 value that its axes can show, got none: give lines, points, bars or bands, and "
            "on logarithmic axes positive numbers."
        )
    return xs, sides["left"] or [0.0, 1.0], sides["right"]


Entry = tuple[Series | Band, str, float]
"""What is named, the kind of its swatch, and the width of the whole entry."""


def _legend_rows(
    lines: Sequence[Series], points: Sequence[Series], bars: Sequence[Series], bands: Sequence[Band], room: float
) -> list[list[Entry]]:
    """Break the legend into rows."""
    rows: list[list[Entry]] = []
    used, seen = math.inf, set[str]()
    kinds = (("line", lines), ("mark", points), ("bar", bars), ("bar", bands))
    for kind, group in kinds:
        for item in group:
            if not item.name or item.name in seen:
                continue
            seen.add(item.name)
            wide = _SWATCH + 6 + text_width(item.name, TICK) + 14
            if used + wide > room:
                rows.append([])
                used = 0.0
            rows[-1].append((item, kind, wide))
            used += wide
    return rows


def _heading(title: str, rows: list[list[Entry]], place: Frame, width: float) -> list[Shape]:
    shapes: list[Shape] = []
    at = MARGIN
    if title:
        half = text_width(title, TITLE, bold=True) / 2
        middle = min(max((place.left + place.right) / 2, half + 2), max(width - half - 2, half + 2))
        shapes.append(Text((middle, at + line_height(TITLE) / 2), title, TITLE, anchor="middle", bold=True))
        at += line_height(TITLE) + 4
    for row in rows:
        wide = sum(entry[2] for entry in row) - 14
        left = max(MARGIN, min(place.left, width - MARGIN - wide))
        y = at + line_height(TICK) / 2
        for item, kind, step in row:
            shapes += _swatch(item, kind, left, y)
            shapes.append(Text((left + _SWATCH + 6, y), item.name, TICK))
            left += step
        at += line_height(TICK)
    return shapes


def _swatch(item: Series | Band, kind: str, left: float, y: float) -> list[Shape]:
    if kind == "bar":
        opacity = item.opacity if isinstance(item, Band) else _fill_opacity(item)
        corner = (left + 4, y - 4.5)
        outline = Stroke(item.color, 1.2) if isinstance(item, Series) and item.style == "area" else None
        return [Rectangle(corner, (_SWATCH - 8, 9.0), item.color, outline, opacity=max(opacity, 0.25))]
    assert isinstance(item, Series)
    if kind == "mark":
        return _mark(item, left + _SWATCH / 2, y)
    return [Path(((left, y), (left + _SWATCH, y)), _stroke(item))]


def _stroke(series: Series) -> Stroke:
    return Stroke(series.color, series.size or 1.8, LINES.get(series.style, ()))


def _line(series: Series, place: Frame) -> list[Shape]:
    scale, stroke = place.scale(series.axis), _stroke(series)
    shapes: list[Shape] = []
    for number, part in enumerate(segments(series.xs, series.ys, log=scale.log)):
        title = series.titles[number] if series.titles else series.name
        xs, ys = zip(*_thin(part), strict=True)
        points = list(zip(place.across.places(xs), scale.places(ys), strict=True))
        if series.style == "step":
            points = [points[0]] + [p for a, b in pairwise(points) for p in ((b[0], a[1]), b)]
        if len(points) == 1:
            shapes += _mark(series, *points[0]) if _inside(points[0], place) else []
            continue
        shapes += [Path(tuple(piece), stroke, title=title) for piece in clipped(points, place)]
    return shapes


def _thin(points: list[Point]) -> list[Point]:
    """Keep the smallest and the largest value of equal pieces, and both ends, so that no spike is lost."""
    if len(points) <= DENSE:
        return points
    size = math.ceil(len(points) / (DENSE // 2))
    kept = {0, len(points) - 1}
    for start in range(0, len(points), size):
        piece = range(start, min(start + size, len(points)))
        kept |= {min(piece, key=lambda i: points[i][1]), max(piece, key=lambda i: points[i][1])}
    return [points[i] for i in sorted(kept)]


def _marks(series: Series, place: Frame) -> list[Shape]:
    scale = place.scale(series.axis)
    known = [point for part in segments(series.xs, series.ys, log=scale.log) for point in part]
    if not known:
        return []
    xs, ys = zip(*known, strict=True)
    places = zip(place.across.places(xs), scale.places(ys), strict=True)
    titles = series.titles or [""] * len(known)
    return [
        replace(shape, title=title) if title else shape
        for point, title in zip(places, titles, strict=True)
        if _inside(point, place)
        for shape in _mark(series, *point)
    ]


def _inside(point: Point, place: Frame) -> bool:
    x, y = point
    return place.left - SLACK <= x <= place.right + SLACK and place.top - SLACK <= y <= place.bottom + SLACK


def _mark(series: Series, x: float, y: float) -> list[Shape]:
    r = series.size or 3.0
    if series.style == "cross":
        stroke = Stroke(series.color, max(2.0, r / 2))
        return [Path(((x - r, y - r), (x + r, y + r)), stroke), Path(((x - r, y + r), (x + r, y - r)), stroke)]
    if series.style == "ring":
        return [Circle((x, y), r, "paper", Stroke(series.color, 1.6))]
    if series.style == "square":
        return [Rectangle((x - r, y - r), (2 * r, 2 * r), series.color, None)]
    return [Circle((x, y), r, series.color, None)]


def _bar_width(series: Series) -> float:
    if series.size:
        return series.size
    places = sorted(series.xs)
    gaps = [b - a for a, b in pairwise(places) if b > a]
    return 0.8 * min(gaps) if gaps else 0.8


def _fill_opacity(series: Series) -> float:
    return 0.22 if series.style == "area" else 1.0


def _bars(series: Series, place: Frame) -> list[Shape]:
    scale = place.scale(series.axis)
    floor = min(max(scale(scale.low if scale.log else 0.0), place.top), place.bottom)
    half = _bar_width(series) / 2
    boxes = []
    for part in segments(series.xs, series.ys, log=scale.log):
        for x, y in part:
            left, right = (min(max(v, place.left), place.right) for v in place.across.places((x - half, x + half)))
            boxes.append((left, right, min(max(scale(y), place.top), place.bottom)))
    if series.style != "area":
        return [
            Rectangle((left, min(end, floor)), (right - left, abs(end - floor)), series.color, None)
            for left, right, end in boxes
            if right > left
        ]
    outline = [p for left, right, end in boxes for p in ((left, end), (right, end))]
    if not outline:
        return []
    around = ((outline[0][0], floor), *outline, (outline[-1][0], floor))
    return [
        Polygon(around, series.color, None, opacity=_fill_opacity(series)),
        Path(around, Stroke(series.color, 1.4), title=series.name),
    ]


def _band(band: Band, place: Frame) -> list[Shape]:
    xs = place.across.places(band.xs)
    high, low = (list(zip(xs, place.up.places(side), strict=True)) for side in (band.high, band.low))
    around = _clipped_area([*high, *reversed(low)], place)
    return [Polygon(tuple(around), band.color, None, opacity=band.opacity, title=band.name)] if around else []


def _note(note: Note, place: Frame) -> Text:
    x, y = place.across(note.x) + note.shift[0], place.up(note.y) + note.shift[1]
    wide = text_width(note.content, TICK)
    before = {"start": 0.0, "middle": wide / 2, "end": wide}[note.anchor]
    x = min(max(x, place.left + before + 3), place.right - (wide - before) - 3)
    y = min(max(y, place.top + TICK / 2 + 2), place.bottom - TICK / 2 - 2)
    return Text((x, y), note.content, TICK, note.color, note.anchor)  # type: ignore[arg-type]
