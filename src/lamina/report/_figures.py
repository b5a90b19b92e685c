"""The charts of a run, drawn by `lamina.drawing`: curves, gradient norms, calibration, predictions, residuals.

A figure is an SVG of fixed size that scales with the page; its colors are those of the style sheet, so that light, dark
and print are one drawing. Values appear as tooltips, without a script.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lamina._markup import Markup
from lamina.data.moments import understood
from lamina.drawing.axes import TICK, Axis, Frame, axes, segments
from lamina.drawing.charts import Series, draw
from lamina.drawing.scales import Scale, dates, demands_log, exact, fit
from lamina.drawing.scene import Circle, Path, Point, Rectangle, Scene, Shape, Stroke, Text
from lamina.drawing.svg import svg
from lamina.drawing.text import width
from lamina.report._formatting import number, percent

Values = Sequence[float | None]

WIDTH, HEIGHT = 380, 236
LEFT, RIGHT, TOP, BOTTOM = 46, 372, 16, 198
SQUARE = 340
WIDE = 800
MARKS = 60
"""The largest number of points for which a line has a mark with a tooltip for each."""
DOTS = 1500
"""The largest number of examples in a scatter plot; more are thinned at equal distances."""
COLORS = {"train": "line1", "valid": "line2", "rate": "line3", "muted": "muted"}
"""The classes of the style sheet, and the roles of drawings to which it gives their colors."""
ROW, NAME = 20, 24
"""The height of a bar that lies across, and the most letters of its name."""
_DASHED = Stroke("muted", 1.0, (4.0, 4.0))


@dataclass(frozen=True)
class Line:
    """A named curve; None where there is no value. `color` is one of `COLORS` or "#rrggbb"."""

    name: str
    values: Values
    color: str


def curves(
    xs: Sequence[float], lines: Sequence[Line], *, axis: str, label: str, best: float | None = None, log: bool = False
) -> Markup:
    """Draw lines over epochs or steps, and a mark at the best check; logarithmic if told so or the values demand it."""
    known = [v for line in lines for v in line.values if v is not None]
    log = log or demands_log(known)
    known = [v for v in known if v > 0] if log else known
    if not known:
        return Markup("")
    place = plot(exact(min(xs), max(xs), LEFT, RIGHT, whole=True), fit(known, BOTTOM, TOP, log=log))
    shapes = [] if best is None else _best(place.across(best))
    for line in lines:
        color = COLORS.get(line.color, line.color)
        shapes += draw(place, [Series(line.name, xs, line.values, color, size=2.0)])
        parts = segments(xs, line.values, log=log)
        alone = [part[0] for part in parts if len(part) == 1]
        marked = [point for part in parts for point in part]
        for x, v in marked if len(marked) <= MARKS else alone:
            words = f"{line.name}: {number(v)} at {axis} {number(x)}"
            at = (place.across(x), place.up(v))
            shapes.append(Circle(at, 4.0 if (x, v) in alone else 2.4, color, None))
            shapes.append(Circle(at, 9.0, color, None, opacity=0.0, title=words))  # what a finger can hit
    return figure(place, label, shapes, axis)


def _best(x: float) -> list[Shape]:
    left = x > (LEFT + RIGHT) / 2
    words = Text((x + (-4 if left else 4), TOP - 8), "best", 10.5, anchor="end" if left else "start")
    return [Path(((x, TOP - 4), (x, BOTTOM)), Stroke("muted", 1.0, (3.0, 3.0))), words]


def plot(across: Scale, up: Scale) -> Frame:
    """Make the frame between the ends of two scales."""
    return Frame(across.start, up.end, across.end, up.start, across, up)


def figure(place: Frame, label: str, shapes: Iterable[Shape], x: str, y: str = "") -> Markup:
    """Draw axes with their names and shapes on them, wide or, where the plot is a square, square."""
    size = (WIDTH, HEIGHT) if place.right == RIGHT else (SQUARE, SQUARE)
    grid = axes(place, Axis(shown(x)), Axis(shown(y)), Axis(), columns=False)
    kind = "figure" if place.right == RIGHT else "figure square"
    return embedded(Scene(*size, (*grid, *shapes), label), kind)


def embedded(scene: Scene, kind: str) -> Markup:
    """Write a scene as a part of the page, with a class for the style sheet."""
    start = '<svg xmlns="http://www.w3.org/2000/svg"'
    return Markup(svg(scene, "page").replace(start, f'<svg class="{kind}"', 1).rstrip())


def shown(words: str) -> str:
    """Write words so that a drawing sees no formula in them."""
    return words.replace("$", r"\$")


def _square(across: Scale, up: Scale) -> tuple[Frame, Path]:
    """Make a square plot and the diagonal on which both scales agree."""
    place = plot(across, up)
    return place, Path(((place.left, place.bottom), (place.right, place.top)), _DASHED)


def calibration(confidence: Sequence[float], accuracy: Sequence[float], count: Sequence[int]) -> Markup:
    """Draw accuracy over confidence: on the diagonal a network is as sure as it is right; area is the number."""
    place, ideal = _square(exact(0, 1, LEFT, SQUARE - 8, count=5), exact(0, 1, SQUARE - 40, 10, count=5))
    shapes: list[Shape] = [ideal, *draw(place, [Series("", confidence, accuracy, size=2.0)])]
    for p, a, n in zip(confidence, accuracy, count, strict=True):
        words = f"{n} predictions, {percent(p)} confident on average, {percent(a)} correct"
        at, radius = (place.across(p), place.up(a)), 3 + 9 * math.sqrt(n / max(count))
        shapes.append(Circle(at, radius, "line1", Stroke("line1"), opacity=0.35, title=words))
    return figure(place, "calibration diagram", shapes, "confidence", "share of correct answers")


def scatter(pairs: Sequence[Point], unit: str = "") -> Markup:
    """Draw predicted against wanted values with the diagonal of perfect answers; axes may name their unit."""
    if not pairs:
        return Markup("")
    up = fit([v for pair in pairs for v in pair], SQUARE - 40, 10)
    place, ideal = _square(Scale(up.low, up.high, LEFT, SQUARE - 8, up.ticks), up)
    chosen = pairs[:: math.ceil(len(pairs) / DOTS)]
    dots = [Circle((place.across(t), up(y)), 2.6, "line1", None, opacity=0.5) for t, y in chosen]
    return figure(place, "predictions against targets", [ideal, *dots], f"target{unit}", f"prediction{unit}")


def forecast(moments: Sequence[str], pairs: Sequence[tuple[float | None, float | None]], name: str) -> Markup:
    """Draw what came and what was forecast over the moments of a series: dates, numbers, or names."""
    moments, pairs = moments[-DOTS:], pairs[-DOTS:]
    known = [value for pair in pairs for value in pair if value is not None]
    if not known:
        return Markup("")
    found = understood(moments)
    xs = [float(i) for i in range(len(moments))] if found is None else found.positions
    left, right = 56, WIDE - 30
    if found is None:
        chosen = sorted({round(i * (len(moments) - 1) / 5) for i in range(6)})
        named = tuple((float(i), shown(moments[i])) for i in chosen)
        across = replace(exact(min(xs), max(xs), left, right), ticks=named)
    else:
        count = max(1, min(8, len(xs) - 1))  # no ticks between moments
        across = (dates if found.form else exact)(min(xs), max(xs), left, right, count=count)
    place = plot(across, fit(known, BOTTOM, TOP))
    series = [
        Series("what came", xs, [target for target, _ in pairs], "line1", size=1.6),
        Series("forecast", xs, [output for _, output in pairs], "line2", size=1.6),
    ]
    shapes = draw(place, series)
    if len(xs) <= MARKS:
        for x, moment, pair in zip(xs, moments, pairs, strict=True):
            for value, words, color in zip(pair, ("came", "forecast"), ("line1", "line2"), strict=True):
                if value is not None:
                    title, at = f"{moment}: {number(value)} {words}", (across(x), place.up(value))
                    shapes += [Circle(at, 2.4, color, None), Circle(at, 9.0, color, None, opacity=0.0, title=title)]
    grid = axes(place, Axis(), Axis(shown(name)), Axis(), columns=False)
    return embedded(Scene(WIDE, HEIGHT - 12, (*grid, *shapes), "forecasts and what came"), "figure wide")


def histogram(errors: Sequence[float], unit: str = "") -> Markup:
    """Draw how often errors of each size occur, around 0; the axis may name their unit."""
    if not errors:
        return Markup("")
    low, step, counts = bins(errors)
    across = exact(low, low + step * len(counts), LEFT, SQUARE - 8, count=4)
    place = plot(across, fit([0, *counts], SQUARE - 40, 10))
    shapes: list[Shape] = []
    for i, n in enumerate(counts):
        start, end, top = across(low + i * step), across(low + (i + 1) * step), place.up(n)
        words = f"{n} errors from {number(low + i * step)} to {number(low + (i + 1) * step)}"
        size = (end - start - 1, place.bottom - top)
        shapes.append(Rectangle((start + 0.5, top), size, "line1", None, opacity=0.8, title=words))
    zero = Path(((across(0), place.bottom), (across(0), place.top)), _DASHED)
    return figure(place, "histogram of errors", [*shapes, zero], f"prediction − target{unit}", "examples")


def bars(rows: Sequence[tuple[str, float, float]], label: str, axis: str) -> Markup:
    """Draw a bar across for each named number, the first at the top, with its spread as a line; 0 is marked."""
    if not rows:
        return Markup("")
    names = [shown(name if len(name) <= NAME else name[: NAME - 1] + "…") for name, _, _ in rows]
    left, bottom = 12 + max(width(name, TICK) for name in names), TOP + ROW * len(rows)
    across = fit([0, *(v + d for _, m, s in rows for v, d in ((m, s), (m, -s)))], left, RIGHT - 8)
    ticks = tuple((i + 0.5, name) for i, name in enumerate(names))
    place = plot(across, Scale(len(rows), 0, bottom, TOP, ticks))
    shapes: list[Shape] = list(axes(place, Axis(shown(axis)), Axis(), Axis(), rows=False))
    for i, (name, mean, spread) in enumerate(rows):
        at, ends = place.up(i + 0.5), sorted((across(0), across(mean)))
        words = f"{name}: {number(mean, 3)} ± {number(spread, 3)}"
        size = (max(ends[1] - ends[0], 0.5), ROW - 6)
        shapes.append(Rectangle((ends[0], at - ROW / 2 + 3), size, "line1", None, opacity=0.8, title=words))
        shapes.append(Path(((across(mean - spread), at), (across(mean + spread), at)), Stroke("ink", 1.5)))
    shapes.append(Path(((across(0), bottom), (across(0), TOP)), _DASHED))
    return embedded(Scene(WIDTH, bottom + HEIGHT - BOTTOM, tuple(shapes), label), "figure")


def bins(values: Sequence[float]) -> tuple[float, float, list[int]]:
    """Count values in equal bins that lie symmetrically around 0; give the first edge, the width and the counts."""
    half = max(2, min(15, round(math.sqrt(len(values)) / 2 + 1)))
    reach = max(abs(v) for v in values) or 1.0
    step = reach / half
    counts = [0] * (2 * half)
    for v in values:
        counts[min(2 * half - 1, max(0, int((v + reach) / step)))] += 1
    return -reach, step, counts
