"""Hand-made SVG: curves, gradient norms, calibration, predictions against targets, residuals.

A figure is a `viewBox` of fixed size that scales with the page; colors come from the style sheet, so that light, dark
and print are one drawing. Values appear as tooltips through `<title>`, without a script.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lamina._markup import Markup, join, tag
from lamina.drawing.scales import Scale, demands_log, exact, fit
from lamina.report._formatting import number, percent

Values = Sequence[float | None]
Point = tuple[float, float]

WIDTH, HEIGHT = 380, 236
LEFT, RIGHT, TOP, BOTTOM = 46, 372, 16, 198
SQUARE = 340
MARKS = 60
"""Up to so many points a line gets a mark with a tooltip for each."""
DENSE = 400
"""From so many points on a line is thinned to the extremes of equal pieces."""
DOTS = 1500
"""A scatter shows at most so many examples, taken at equal distances."""


@dataclass(frozen=True)
class Line:
    """A named curve; None where there is no value. `color` is a class of the style sheet or an inline color."""

    name: str
    values: Values
    color: str


def curves(
    xs: Sequence[float], lines: Sequence[Line], *, axis: str, label: str, best: float | None = None, log: bool = False
) -> Markup:
    """Draw lines over epochs or steps.

    Args:
        xs: where the values stand.
        lines: what is drawn.
        axis: the name of the horizontal axis.
        label: what the figure shows, for those who do not see it.
        best: where to mark the best check.
        log: a logarithmic scale even if the values do not demand it.
    """
    known = [v for line in lines for v in line.values if v is not None]
    log = log or demands_log(known)
    known = [v for v in known if v > 0] if log else known
    if not known:
        return Markup("")
    across = exact(min(xs), max(xs), LEFT, RIGHT, whole=True)
    up = fit(known, BOTTOM, TOP, log=log)
    drawn = []
    for line in lines:
        points = [
            (x, v) if v is not None and (v > 0 or not log) else None for x, v in zip(xs, line.values, strict=True)
        ]
        drawn.append(_line(line, points, across, up, axis))
    return _svg(WIDTH, HEIGHT, label, _grid(across, up, axis), _best(across, best), drawn)


def _line(line: Line, points: Sequence[Point | None], across: Scale, up: Scale, axis: str) -> Markup:
    style = {"style": f"--c:{line.color}"} if "(" in line.color else {"class": line.color}
    segments = [_thin(segment) for segment in _segments(points)]
    paths = [_polyline([(across(x), up(v)) for x, v in segment]) for segment in segments if len(segment) > 1]
    alone = [segment[0] for segment in segments if len(segment) == 1]
    known = [p for p in points if p is not None]
    marked = known if len(known) <= MARKS else alone
    marks = [
        tag(
            "g",
            tag("circle", class_="hit", cx=_at(across(x)), cy=_at(up(v)), r=9),
            tag("circle", class_="mark", cx=_at(across(x)), cy=_at(up(v)), r=4 if (x, v) in alone else 2.4),
            tag("title", f"{line.name}: {number(v)} at {axis} {number(x)}"),
            class_="point",
        )
        for x, v in marked
    ]
    return tag("g", paths, marks, **style)


def _segments(points: Sequence[Point | None]) -> list[list[Point]]:
    """Cut a line where values are missing."""
    segments: list[list[Point]] = [[]]
    for point in points:
        if point is not None:
            segments[-1].append(point)
        elif segments[-1]:
            segments.append([])
    return [segment for segment in segments if segment]


def _thin(points: list[Point]) -> list[Point]:
    """Keep the smallest and the largest value of equal pieces, and both ends, so that no spike is lost."""
    if len(points) <= DENSE:
        return points
    size = math.ceil(len(points) / (DENSE // 2))
    kept = {points[0], points[-1]}
    for start in range(0, len(points), size):
        piece = points[start : start + size]
        kept |= {min(piece, key=lambda p: p[1]), max(piece, key=lambda p: p[1])}
    return sorted(kept)


def _best(across: Scale, best: float | None) -> Markup:
    if best is None:
        return Markup("")
    x = across(best)
    side = "end" if x > (LEFT + RIGHT) / 2 else "start"
    return tag(
        "g",
        tag("line", x1=_at(x), x2=_at(x), y1=TOP - 4, y2=BOTTOM),
        tag("text", "best", x=_at(x + (-4 if side == "end" else 4)), y=TOP - 4, text_anchor=side),
        class_="best",
    )


def _grid(across: Scale, up: Scale, axis: str, name: str = "") -> Markup:
    """Draw horizontal lines with numbers, numbers below, and the names of the axes."""
    left, right, bottom = across.start, across.end, up.start
    rows = [
        (tag("line", x1=_at(left), x2=_at(right), y1=_at(up(v)), y2=_at(up(v))),
         tag("text", label, x=_at(left - 6), y=_at(up(v) + 3.5), text_anchor="end"))
        for v, label in up.ticks
    ]  # fmt: skip
    columns = [
        (tag("line", class_="tick", x1=_at(across(v)), x2=_at(across(v)), y1=bottom, y2=bottom + 4),
         tag("text", label, x=_at(across(v)), y=bottom + 16, text_anchor="middle"))
        for v, label in across.ticks
    ]  # fmt: skip
    names = [tag("text", axis, class_="name", x=_at((left + right) / 2), y=bottom + 33, text_anchor="middle")]
    if name:
        middle = (up.start + up.end) / 2
        turned = f"translate(11 {_at(middle)}) rotate(-90)"
        names.append(tag("text", name, class_="name", transform=turned, text_anchor="middle"))
    base = tag("line", class_="base", x1=_at(left), x2=_at(right), y1=bottom, y2=bottom)
    return tag("g", rows, columns, base, names, class_="axes")


def calibration(confidence: Sequence[float], accuracy: Sequence[float], count: Sequence[int]) -> Markup:
    """Draw accuracy over confidence: on the diagonal a network is as sure as it is right; area is the number."""
    across, up = exact(0, 1, LEFT, SQUARE - 8, count=5), exact(0, 1, SQUARE - 40, 10, count=5)
    most = max(count, default=1)
    spots = [
        tag(
            "circle",
            tag("title", f"{n} predictions, {percent(p)} sure on average, {percent(a)} right"),
            cx=_at(across(p)),
            cy=_at(up(a)),
            r=_at(3 + 9 * math.sqrt(n / most)),
            class_="spot",
        )
        for p, a, n in zip(confidence, accuracy, count, strict=True)
    ]
    line = _polyline([(across(p), up(a)) for p, a in zip(confidence, accuracy, strict=True)])
    diagonal = tag("line", class_="ideal", x1=across(0), y1=up(0), x2=across(1), y2=up(1))
    axes = _grid(across, up, "confidence", "share of right answers")
    return _svg(SQUARE, SQUARE, "calibration diagram", axes, diagonal, tag("g", line, spots, class_="train"))


def scatter(pairs: Sequence[Point]) -> Markup:
    """Draw predicted against wanted values with the diagonal of perfect answers."""
    values = [v for pair in pairs for v in pair]
    if not values:
        return Markup("")
    up = fit(values, SQUARE - 40, 10)
    across = Scale(up.low, up.high, LEFT, SQUARE - 8, up.ticks)
    shown = pairs[:: math.ceil(len(pairs) / DOTS)]
    dots = [tag("circle", class_="dot", cx=_at(across(t)), cy=_at(up(y)), r=2.6) for t, y in shown]
    diagonal = tag("line", class_="ideal", x1=across(up.low), y1=up(up.low), x2=across(up.high), y2=up(up.high))
    axes = _grid(across, up, "target", "prediction")
    return _svg(SQUARE, SQUARE, "predictions against targets", axes, diagonal, tag("g", dots, class_="train"))


def histogram(errors: Sequence[float]) -> Markup:
    """Draw how often errors of each size occur, around 0."""
    if not errors:
        return Markup("")
    low, width, counts = bins(errors)
    across = exact(low, low + width * len(counts), LEFT, SQUARE - 8, count=4)
    up = fit([0, *counts], SQUARE - 40, 10)
    bars = [
        tag(
            "rect",
            tag("title", f"{n} errors from {number(low + i * width)} to {number(low + (i + 1) * width)}"),
            x=_at(across(low + i * width) + 0.5),
            y=_at(up(n)),
            width=_at(across(low + width) - across(low) - 1),
            height=_at(up(0) - up(n)),
            class_="bar",
        )
        for i, n in enumerate(counts)
    ]
    zero = tag("line", class_="ideal", x1=_at(across(0)), x2=_at(across(0)), y1=up.start, y2=up.end)
    axes = _grid(across, up, "prediction − target", "examples")
    return _svg(SQUARE, SQUARE, "histogram of errors", axes, tag("g", bars, class_="train"), zero)


def bins(values: Sequence[float]) -> tuple[float, float, list[int]]:
    """Count values in equal bins that lie symmetrically around 0; give the first edge, the width and the counts.

    >>> bins([-1.0, -0.9, 0.1, 1.0])
    (-1.0, 0.5, [2, 0, 1, 1])
    """
    half = max(2, min(15, round(math.sqrt(len(values)) / 2 + 1)))
    reach = max(abs(v) for v in values) or 1.0
    width = reach / half
    counts = [0] * (2 * half)
    for v in values:
        counts[min(2 * half - 1, max(0, int((v + reach) / width)))] += 1
    return -reach, width, counts


def _polyline(points: Sequence[Point]) -> Markup:
    return tag("polyline", class_="line", points=" ".join(f"{_at(x)},{_at(y)}" for x, y in points))


def _svg(width: int, height: int, label: str, *children: object) -> Markup:
    kind = "figure square" if width == height else "figure"
    return tag("svg", join(children), viewBox=f"0 0 {width} {height}", role="img", aria_label=label, class_=kind)


def _at(place: float) -> str:
    """Write a coordinate with at most one decimal, so that equal drawings are equal bytes.

    >>> _at(3.0), _at(2.26), _at(-0.01)
    ('3', '2.3', '0')
    """
    text = f"{place:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
