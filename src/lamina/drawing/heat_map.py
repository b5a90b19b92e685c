"""Numbers on a grid as colors, with lines of equal height: losses over two parameters, responses, weights."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

from lamina._errors import ArgumentError
from lamina.drawing.axes import LABEL, MARGIN, TICK, TITLE, Axis, Frame, Range, axes, frame, line_height, written
from lamina.drawing.charts import Note, Series, draw
from lamina.drawing.palettes import UNKNOWN, amount
from lamina.drawing.scales import Scale, exact
from lamina.drawing.scene import Path, Picture, Point, Scene, Shape, Stroke, Text, narrowed
from lamina.drawing.text import width as text_width

_BAR = 12.0
Grid = Sequence[Sequence[float]]


def heat_map(
    values: Grid,
    x_range: Range,
    y_range: Range,
    *,
    lines: Sequence[Series] = (),
    points: Sequence[Series] = (),
    notes: Sequence[Note] = (),
    contours: int = 0,
    log: bool = False,
    title: str = "",
    description: str = "",
    x_label: str = "",
    y_label: str = "",
    bar_label: str = "",
    width: float = 360.0,
    height: float = 300.0,
) -> Scene:
    """Color a grid of numbers, dark where they are high, with a bar that says what a color means.

    Args:
        values: rows from bottom (the low end of y) to top, each from left to right; the numbers stand for the
            centers of equal cells.
        x_range: the ends of the horizontal axis.
        y_range: the ends of the vertical axis.
        lines: drawn above the colors, such as the path of an optimizer.
        points: drawn above the lines.
        notes: words above everything.
        contours: how many lines of equal height; 0 for none.
        log: color by the logarithm; the numbers must be positive.
        title: above the plot.
        description: what it shows, for those who do not see it.
        x_label: the name of the horizontal axis.
        y_label: the name of the vertical axis.
        bar_label: what the numbers are.
        width: of the scene, in points.
        height: of the scene.

    >>> scene = heat_map([[0.0, 1.0], [1.0, 2.0]], (0, 1), (0, 1), contours=3)
    >>> scene.width
    360.0
    """
    given = locals().copy()
    known = [v for row in values for v in row if math.isfinite(v)]
    if not known or (log and min(known) <= 0):
        raise ArgumentError(
            f"`values` must hold {'positive ' if log else ''}finite numbers, got "
            f"{'none' if not known else f'{min(known):g}'}."
        )
    low, high = min(known), max(known)
    if low == high:
        high = low * 2 if log else low + 1
    x, y = Axis(x_label, x_range), Axis(y_label, y_range)
    above = line_height(TITLE) + 4 if title else 0.0
    bar = exact(low, high, 1, 0, count=5, log=log)
    beside = 14 + _BAR + 6 + max((text_width(label, TICK) for _, label in bar.ticks), default=0.0)
    beside += 4 + line_height(LABEL) if bar_label else 0.0
    scales = exact(*x_range, 0, 1, count=max(2, round(width / 90))), exact(*y_range, 1, 0, count=round(height / 60))
    place = frame((width - beside, height), above, x, y, Axis(), (*scales, None))
    share = _share(low, high, log)
    shapes: list[Shape] = [_colors(values, place, share)]
    for number in range(1, contours + 1):
        level = low * (high / low) ** (number / (contours + 1)) if log else low + (high - low) * number / (contours + 1)
        stroke = Stroke("#ffffff" if share(level) > 0.45 else "#3a4252", 0.8, opacity=0.8)
        shapes += [Path(tuple(part), stroke) for part in contour(values, level, place)]
    shapes += axes(place, x, y, Axis(), rows=False, columns=False)
    shapes += _bar(place, bar, bar_label)
    if title:
        middle = (place.left + place.right) / 2
        shapes.append(Text((middle, MARGIN + line_height(TITLE) / 2), title, TITLE, anchor="middle", bold=True))
    shapes += draw(place, lines, points, notes=notes)
    name = title or description or "heat map"
    return Scene(width, height, tuple(shapes), name, description, narrowed(heat_map, given))


def _share(low: float, high: float, log: bool) -> Callable[[float], float]:
    if log:
        return lambda value: math.log(value / low) / math.log(high / low)
    return lambda value: (value - low) / (high - low)


def _colors(values: Grid, place: Frame, share: Callable[[float], float]) -> Picture:
    pixels = [[amount(share(v)) if math.isfinite(v) else UNKNOWN for v in row] for row in reversed(values)]
    return Picture((place.left, place.top), (place.right - place.left, place.bottom - place.top), pixels)


def _bar(place: Frame, scale: Scale, label: str) -> list[Shape]:
    """Draw what the colors mean, to the right of the plot."""
    left, tall = place.right + 14, place.bottom - place.top
    pixels = [[amount(1 - (i + 0.5) / 64)] for i in range(64)]
    shapes: list[Shape] = [Picture((left, place.top), (_BAR, tall), pixels)]
    scale = written(replace(scale, start=place.bottom, end=place.top))
    for value, words in scale.ticks:
        shapes.append(Text((left + _BAR + 6, scale(value)), words, TICK, "muted"))
    if label:
        widest = max((text_width(words, TICK) for _, words in scale.ticks), default=0.0)
        at = left + _BAR + 6 + widest + 4 + line_height(LABEL) / 2
        shapes.append(Text((at, (place.top + place.bottom) / 2), label, LABEL, anchor="middle", angle=90.0))
    return shapes


def contour(values: Grid, level: float, place: Frame) -> list[list[Point]]:
    """Follow the line of one height through a grid, linearly between its points (marching squares).

    >>> side = exact(0, 1, 0, 4)
    >>> contour([[0.0, 0.0], [1.0, 1.0]], 0.5, Frame(0, 0, 4, 4, side, side))
    [[(3.0, 2.0), (1.0, 2.0)]]
    """
    rows, columns = len(values), len(values[0])
    wide, tall = (place.right - place.left) / columns, (place.bottom - place.top) / rows

    def at(row: float, column: float) -> Point:
        return place.left + (column + 0.5) * wide, place.bottom - (row + 0.5) * tall

    pieces: list[tuple[Point, Point]] = []
    above = [[value > level for value in row] for row in values]
    for i, j in product(range(rows - 1), range(columns - 1)):
        if above[i][j] == above[i][j + 1] == above[i + 1][j] == above[i + 1][j + 1]:
            continue  # most cells: the line does not pass here
        corners = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)]
        heights = [values[a][b] - level for a, b in corners]
        if not all(map(math.isfinite, heights)):
            continue
        crossed = []
        for a, b in ((0, 1), (1, 2), (2, 3), (3, 0)):
            if (heights[a] > 0) != (heights[b] > 0):
                part = heights[a] / (heights[a] - heights[b])
                (r, c), (s, d) = corners[a], corners[b]
                crossed.append(at(r + part * (s - r), c + part * (d - c)))
        pieces += [(crossed[k], crossed[k + 1]) for k in range(0, len(crossed), 2)]
    return _joined(pieces)


def _joined(pieces: Sequence[tuple[Point, Point]]) -> list[list[Point]]:
    """Put short pieces together into lines."""
    keys = [(_key(a), _key(b)) for a, b in pieces]
    ends: dict[Point, list[int]] = {}
    for number, pair in enumerate(keys):
        for key in pair:
            ends.setdefault(key, []).append(number)
    left, lines = set(range(len(pieces))), []
    while left:
        number = left.pop()
        line, outer = deque(pieces[number]), list(keys[number])
        for end in (-1, 0):
            while True:
                key = outer[end]
                found = next((k for k in ends[key] if k in left), None)
                if found is None:
                    break
                left.remove(found)
                other = int(keys[found][0] == key)
                (line.append if end else line.appendleft)(pieces[found][other])
                outer[end] = keys[found][other]
        lines.append(list(line))
    return lines


def _key(point: Point) -> Point:
    return round(point[0], 6), round(point[1], 6)
