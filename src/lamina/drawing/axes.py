"""The frame of a chart: scales, grid, tick labels, names of the axes, and lines cut at the edges of the plot."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from lamina.drawing.scales import Scale, exact, fit, raised
from lamina.drawing.scene import Path, Point, Shape, Stroke, Text
from lamina.drawing.text import width as text_width

TICK, LABEL, TITLE = 11.0, 12.0, 13.0
"""The sizes of tick labels and legends, of the names of axes, and of titles."""
MARGIN = 8.0
_GRID, _AXIS = Stroke("grid", 0.8), Stroke("muted", 1.0)
_FEW = 13  # so many bars can each have a tick
_LINE = 1.35  # the height of a line of text, in sizes of it

SLACK = 1e-6
"""What lies outside by no more than this lies inside: places are rounded."""
_RAISED = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_LOWERED = str.maketrans(_RAISED, "-0123456789")

Range = tuple[float, float]


@dataclass(frozen=True)
class Frame:
    """The place of a plot in its scene, and the scales of its sides.

    Args:
        left: the left edge, in points.
        top: the upper edge.
        right: the right edge.
        bottom: the lower edge.
        across: the scale of the horizontal axis.
        up: the scale of the left axis.
        other: the scale of the right axis, None without one.
    """

    left: float
    top: float
    right: float
    bottom: float
    across: Scale
    up: Scale
    other: Scale | None = None

    def scale(self, axis: str) -> Scale:
        """Give the vertical scale of "left" or "right"."""
        return self.other if axis == "right" and self.other is not None else self.up


@dataclass(frozen=True)
class Axis:
    """What is known of an axis before it has a place.

    Args:
        label: its name, "" for none.
        limits: its ends, None to choose them from the values.
        log: whether it is logarithmic.
    """

    label: str = ""
    limits: Range | None = None
    log: bool = False


def line_height(size: float) -> float:
    """Give the height of a line of text with its share of free space."""
    return _LINE * size


def vertical(axis: Axis, values: Sequence[float], room: float) -> Scale:
    """Choose the scale of a vertical axis for values; its place is set later."""
    count = max(2, round(room / 42))
    known = [value for value in (*values, *(axis.limits or ())) if math.isfinite(value)]
    # Counts have no fractions; shares that happen to be 0 and 1 have.
    whole = all(value == int(value) for value in known) and max(map(abs, known), default=0.0) >= 2
    if axis.limits is not None:
        return exact(*axis.limits, 1, 0, count=count, log=axis.log, whole=whole)
    return fit(values, 1, 0, log=axis.log, count=count, whole=whole)


def _room_across(width: float, y: Axis, up: Scale, right: Axis, other: Scale | None) -> float:
    """Give the width of a plot between its vertical axes, in a scene of some width."""
    beside = 0.0 if other is None else _name(right) + _widest(written(other)) + 6
    return width - 2 * MARGIN - _name(y) - _widest(written(up)) - 6 - beside


def horizontal(
    axis: Axis,
    values: Sequence[float],
    room: float,
    *,
    pad: float = 0.0,
    about: Sequence[float] | None = None,
    each: bool = False,
) -> Scale:
    """Choose a horizontal scale.

    Args:
        axis: what is known of it.
        values: what it must show.
        room: its length, in points.
        pad: a free share at both ends.
        about: the places that count; whole ones have whole ticks.
        each: whether every whole place has a tick where there is room, as the few bars of a chart want it.
    """
    count = max(2, round(room / 62))
    whole = all(value == int(value) for value in (values if about is None else about))
    low, high = axis.limits if axis.limits is not None else (min(values), max(values))
    if each and whole and high - low <= _FEW:
        count = max(count, math.ceil(high - low))
    if axis.limits is None and pad:
        if axis.log:
            factor = (high / low) ** pad
            low, high = low / factor, high * factor
        else:
            low, high = low - pad * (high - low), high + pad * (high - low)
    while True:
        scale = exact(low, high, 0, room, whole=whole, count=count, log=axis.log)
        if count <= 2 or _fits(scale):
            return replace(scale, start=0, end=1)
        count -= 1


def _fits(scale: Scale) -> bool:
    """Say whether neighboring labels of a horizontal axis leave room between them."""
    places = [(scale(value), text_width(_label(label), TICK)) for value, label in scale.ticks]
    return all(b - a > (first + second) / 2 + 8 for (a, first), (b, second) in pairwise(places))


def frame(
    size: tuple[float, float], above: float, x: Axis, y: Axis, right: Axis, scales: tuple[Scale, Scale, Scale | None]
) -> Frame:
    """Lay out a plot: leave room for what stands above it, tick labels and names of axes.

    Args:
        size: width and height of the scene.
        above: the room above the plot.
        x: the horizontal axis.
        y: the left axis.
        right: the right axis.
        scales: of the three axes, None for a right axis that is not there.
    """
    across, up, other = (None if scale is None else written(scale) for scale in scales)
    assert across is not None and up is not None
    left = MARGIN + _name(y) + _widest(up) + 6
    far = size[0] - MARGIN
    if other is not None:
        far -= _name(right) + _widest(other) + 6
    elif across.ticks:  # the last label may stand half outside of the plot
        last, label = across.ticks[-1]
        free = (1 - across(last)) * (far - left)
        far -= max(0.0, text_width(label, TICK) / 2 - free)
    bottom = size[1] - MARGIN - (line_height(TICK) + 4 if across.ticks else 0) - _name(x)
    top = MARGIN + above + (TICK / 2 if not above else 0)
    return Frame(
        left, top, far, bottom,
        replace(across, start=left, end=far),
        replace(up, start=bottom, end=top),
        None if other is None else replace(other, start=bottom, end=top),
    )  # fmt: skip


def axes(place: Frame, x: Axis, y: Axis, right: Axis, *, rows: bool = True, columns: bool = True) -> list[Shape]:
    """Draw the grid, the axes, their numbers and their names.

    Args:
        place: where the plot is.
        x: the horizontal axis.
        y: the left axis.
        right: the right axis, drawn when the frame has its scale.
        rows: whether there are horizontal lines.
        columns: whether there are vertical lines.
    """
    left, top, far, bottom = place.left, place.top, place.right, place.bottom
    shapes: list[Shape] = []
    for value, label in place.up.ticks:
        at = place.up(value)
        if rows:
            shapes.append(Path(((left, at), (far, at)), _GRID))
        shapes.append(Text((left - 6, at), label, TICK, "muted", "end"))
    drop = 5 + TICK / 2 + _lowered(place)
    for value, label in place.across.ticks:
        at = place.across(value)
        if columns:
            shapes.append(Path(((at, top), (at, bottom)), _GRID))
        shapes.append(Text((at, bottom + drop), label, TICK, "muted", "middle"))
    shapes.append(Path(((left, top), (left, bottom), (far, bottom)), _AXIS))
    if place.other is not None:
        shapes.append(Path(((far, top), (far, bottom)), _AXIS))
        for value, label in place.other.ticks:
            shapes.append(Text((far + 6, place.other(value)), label, TICK, "muted"))
    return shapes + _names(place, x, y, right)


def _lowered(place: Frame) -> float:
    """Say how much lower the numbers below a chart are where the first would touch the lowest of the left axis."""
    if not place.across.ticks or not place.up.ticks or place.up(place.up.ticks[0][0]) < place.bottom - 4:
        return 0.0
    value, label = place.across.ticks[0]
    return 3.0 if place.across(value) - text_width(label, TICK) / 2 < place.left - 3 else 0.0


def _names(place: Frame, x: Axis, y: Axis, right: Axis) -> list[Shape]:
    middle, center = (place.left + place.right) / 2, (place.top + place.bottom) / 2
    shapes: list[Shape] = []
    if x.label:
        below = place.bottom + (line_height(TICK) + 4 if place.across.ticks else 0) + line_height(LABEL) / 2
        shapes.append(Text((middle, below), x.label, LABEL, "ink", "middle"))
    if y.label:
        before = place.left - 6 - _widest(place.up) - 5 - line_height(LABEL) / 2
        shapes.append(Text((before, center), y.label, LABEL, "ink", "middle", angle=90.0))
    if right.label and place.other is not None:
        behind = place.right + 6 + _widest(place.other) + 5 + line_height(LABEL) / 2
        shapes.append(Text((behind, center), right.label, LABEL, "ink", "middle", angle=90.0))
    return shapes


def written(scale: Scale) -> Scale:
    """Give tick labels a real minus, and powers of ten as formulas, which every back end can set."""
    return replace(scale, ticks=tuple((value, _label(label)) for value, label in scale.ticks))


@lru_cache(maxsize=4096)
def _label(label: str) -> str:
    base, power = label.rstrip(_RAISED), label[len(label.rstrip(_RAISED)) :]
    if power:
        factor, _, ten = base.rpartition("·")
        before = rf"\mathsf{{{factor.replace('-', '−')}}} \cdot " if factor else ""
        return rf"${before}\mathsf{{{ten}}}^{{\mathsf{{{power.translate(_LOWERED).replace('-', '−')}}}}}$"
    return label.replace("-", "−")


def short(value: float, digits: int = 3) -> str:
    """Write a number with so many digits, a very small or large one as a formula with a power of ten.

    >>> short(-0.12345), short(2e-7).count("mathsf")
    ('−0.123', 3)
    """
    factor, _, power = f"{value:.{digits}g}".partition("e")
    return _label(raised(factor, int(power)) if power else factor)


def _name(axis: Axis) -> float:
    return line_height(LABEL) + 5 if axis.label else 0.0


def _widest(scale: Scale) -> float:
    return max((text_width(label, TICK) for _, label in scale.ticks), default=0.0)


def segments(xs: Iterable[float | None], ys: Iterable[float | None], *, log: bool = False) -> list[list[Point]]:
    """Cut a line where a value is missing, not a number or, on a logarithmic axis, not positive."""
    found: list[list[Point]] = [[]]
    for x, y in zip(xs, ys, strict=True):
        if x is not None and y is not None and math.isfinite(y) and (y > 0 or not log):
            found[-1].append((x, y))
        elif found[-1]:
            found.append([])
    return [part for part in found if part]


def clipped(points: Sequence[Point], place: Frame) -> list[list[Point]]:
    """Cut a line at the edges of the plot; a line inside stays as it is."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    left, right, top, bottom = place.left - SLACK, place.right + SLACK, place.top - SLACK, place.bottom + SLACK
    if left <= min(xs) and max(xs) <= right and top <= min(ys) and max(ys) <= bottom:
        return [list(points)]
    found: list[list[Point]] = []
    for a, b in pairwise(points):
        piece = _cut(a, b, place)
        if piece is None:
            continue
        if found and found[-1][-1] == piece[0]:
            found[-1].append(piece[1])
        else:
            found.append(list(piece))
    return found


def _clipped_area(points: Sequence[Point], place: Frame) -> list[Point]:
    """Cut a filled shape at the edges of the plot (Sutherland and Hodgman); [] when nothing is left."""
    found = list(points)
    edges = ((0, place.left, 1.0), (0, place.right, -1.0), (1, place.top, 1.0), (1, place.bottom, -1.0))
    for axis, edge, side in edges:
        given, found = found, []
        for a, b in zip([given[-1], *given[:-1]] if given else [], given, strict=True):
            before, after = side * (a[axis] - edge), side * (b[axis] - edge)
            if (before < 0) != (after < 0):
                part = before / (before - after)
                found.append((a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])))
            if after >= 0:
                found.append(b)
    return found


def _cut(a: Point, b: Point, place: Frame) -> tuple[Point, Point] | None:
    """Keep the part of a straight piece that lies in the plot (Liang and Barsky)."""
    (x, y), dx, dy = a, b[0] - a[0], b[1] - a[1]
    first, last = 0.0, 1.0
    for step, free in (
        (-dx, x - place.left),
        (dx, place.right - x),
        (-dy, y - place.top),
        (dy, place.bottom - y),
    ):
        if step == 0:
            if free < 0:
                return None
        elif step < 0:
            first = max(first, free / step)
        else:
            last = min(last, free / step)
    if first > last:
        return None
    start = (x + first * dx, y + first * dy) if first > 0 else a
    return start, ((x + last * dx, y + last * dy) if last < 1 else b)
