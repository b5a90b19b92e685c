"""The drawings of a study: parallel coordinates, progress, slices, heat maps. Everywhere down is better."""

import math
from collections.abc import Sequence
from itertools import pairwise

from lamina._markup import Markup, join, tag
from lamina.drawing.axes import Frame
from lamina.drawing.charts import Series, draw
from lamina.drawing.scales import Scale, exact, fit
from lamina.drawing.scene import Circle, Path, Point, Scene, Shape, Stroke, Text
from lamina.report._figures import BOTTOM, LEFT, MARKS, RIGHT, TOP, Line, curves, embedded, figure, plot, shown
from lamina.report._findings import metric
from lamina.report._formatting import number
from lamina.report._study_record import Axis, StudyRecord, Tried, levels

WIDE, TALL = 1120, 330
LINES = 1200
"""The largest number of configurations drawn as lines: the best ones, and others at equal distances."""
LEADERS = 10
LOG_FROM = 8.0
_REST, _LEAD, _BEST = Stroke("muted", 1.0, opacity=0.22), Stroke("line1", 1.6, opacity=0.8), Stroke("line2", 3.0)
_SPREAD = 0.618033988749895


def scale_of(errors: Sequence[float], start: float, end: float) -> Scale:
    """Choose the axis of errors, logarithmic from a ratio of 8 on; an error of 0 stands at half of the smallest."""
    positive = [error for error in errors if error > 0]
    if positive and min(errors) >= 0 and max(positive) >= LOG_FROM * min(positive):
        return fit([min(positive) / (2 if min(errors) == 0 else 1), max(positive)], start, end, log=True)
    return fit(errors, start, end)


def _place_of(scale: Scale, error: float) -> float:
    """Give the place of an error, kept within the axis."""
    return scale(min(scale.high, max(scale.low, error)))


def _words_of(record: StudyRecord, tried: Tried) -> str:
    """Name a configuration and its value, for a tooltip."""
    said = ", ".join(
        f"{axis.name} {_text(tried.values[axis.name])}" for axis in record.axes if axis.name in tried.values
    )
    return f"#{tried.number}: {metric(record.score, tried.value)} with {said}"


def parallel(record: StudyRecord) -> Markup:
    """Draw a line through the values of each configuration, with its error at the right; the best are colored."""
    known = {tried.number: error for tried, error in record.known}
    if len(known) < 2:
        return Markup("")
    left, right, top, bottom = 60.0, WIDE - 64.0, 44.0, TALL - 22.0
    count = len(record.axes) + 1
    xs = [left + (right - left) * i / (count - 1) for i in range(count)]
    last = scale_of(list(known.values()), bottom, top)
    ups = [_scale(axis, bottom, top) for axis in record.axes]
    leaders = [tried for tried in record.ranked if tried.number in known][:LEADERS]
    others = [tried for tried, _ in record.known if tried not in leaders]
    shown_lines = others[:: math.ceil(len(others) / LINES)] if others else []
    shown_lines.sort(key=lambda tried: -known[tried.number])
    shapes: list[Shape] = []
    for tried in [*shown_lines, *reversed(leaders)]:
        points = [(x, _at(axis, up, tried, 0.5)) for x, axis, up in zip(xs, record.axes, ups, strict=False)]
        kind = _BEST if tried is leaders[0] else _LEAD if tried in leaders else _REST
        points.append((xs[-1], _place_of(last, known[tried.number])))
        shapes += _curve([(x, y) for x, y in points if y is not None], kind, _words_of(record, tried))
    for x, axis, up in zip(xs, record.axes, ups, strict=False):
        shapes += _post(x, axis.name, up)
    shapes += _post(xs[-1], _error_name(record), last, end=True)
    return embedded(Scene(WIDE, TALL, tuple(shapes), "parallel coordinates"), "figure wide")


def _scale(axis: Axis, start: float, end: float) -> Scale:
    if axis.ends is None:
        ticks = tuple((float(i), shown(_cut(value))) for i, value in enumerate(axis.values))
        return Scale(-0.5, len(axis.values) - 0.5, start, end, ticks)
    if not axis.log:
        return exact(*axis.ends, start, end)
    low, high = axis.ends
    ticks = tuple(tick for tick in fit(axis.ends, start, end, log=True).ticks if 0.99 * low <= tick[0] <= 1.01 * high)
    return Scale(low, high, start, end, ticks, True)


def _at(axis: Axis, scale: Scale, tried: Tried, fan: float) -> float | None:
    """Place a configuration on an axis; those with one value of a list fan out, so that many look like many."""
    value = tried.values.get(axis.name)
    if value is None or axis.ends is not None:
        return None if value is None else scale(float(value))
    return scale(axis.values.index(value) + (tried.number * _SPREAD % 1 - 0.5) * fan)


def _curve(known: Sequence[Point], stroke: Stroke, words: str) -> list[Shape]:
    """Draw a smooth curve from axis to axis; where a value is missing, it goes straight to the next one."""
    points = list(known[:1])
    for (x0, y0), (x1, y1) in pairwise(known):
        reach = (x1 - x0) * 0.42
        points += [(x0 + reach, y0), (x1 - reach, y1), (x1, y1)]
    return [Path(tuple(points), stroke, curve=True, title=words)] if len(known) > 1 else []


def _post(x: float, name: str, up: Scale, *, end: bool = False) -> list[Shape]:
    """Draw one vertical axis with its name above and its values beside it."""
    side = x + 8 if end else x - 8
    shapes: list[Shape] = [Path(((x, up.start), (x, up.end)), Stroke("muted"))]
    for value, label in up.ticks:
        at = up(value)
        shapes.append(Path(((x - 3, at), (x + 3, at)), Stroke("muted")))
        shapes.append(Text((side, at), _cut(label), anchor="start" if end else "end"))
    return [*shapes, Text((x, up.end - 22), shown(name.replace("_", " ")), anchor="middle", bold=True)]


def progress(record: StudyRecord) -> Markup:
    """Draw every configuration's error over its number, and the best so far as a staircase."""
    if not record.known:
        return Markup("")
    end = max(tried.number for tried in record.tried) or 1
    up = scale_of([error for _, error in record.known], BOTTOM, TOP)
    place = plot(exact(0, end, LEFT, RIGHT, whole=True), up)
    dots = [_dot(record, tried, place.across(tried.number), up, error, "line1") for tried, error in _thinned(record)]
    stairs: list[Point] = []
    for tried, error in record.known:
        if tried.state == "finished" and (not stairs or error < stairs[-1][1]):
            stairs.append((tried.number, error))
    line = _line(place, [*stairs, (end, stairs[-1][1])], "line2", style="step") if stairs else []
    return figure(place, "errors in order", [*dots, *line], "configuration")


def _line(place: Frame, points: Sequence[Point], color: str, style: str = "solid") -> list[Shape]:
    xs, errors = zip(*points, strict=True)
    inside = [min(place.up.high, max(place.up.low, error)) for error in errors]
    return draw(place, [Series("", xs, inside, color, style, size=2.0)]) if len(points) > 1 else []


def _thinned(record: StudyRecord) -> Sequence[tuple[Tried, float]]:
    return record.known[:: math.ceil(len(record.known) / LINES)]


def _dot(record: StudyRecord, tried: Tried, x: float, up: Scale, error: float, color: str) -> Circle:
    return Circle((x, _place_of(up, error)), 2.6, color, None, opacity=0.5, title=_words_of(record, tried))


def leaders_curves(record: StudyRecord) -> Markup:
    """Draw how the leaders learned, and the middle one of all for comparison."""
    shown = [tried for tried in record.ranked if len(tried.curve) > 1 and tried.state == "finished"][:5]
    if not shown:
        return Markup("")
    length = max(len(tried.curve) for tried in shown)
    xs = [float(i + 1) for i in range(length)]
    epochs = shown[0].epochs
    if epochs and epochs != length:
        xs = [x * epochs / length for x in xs]
    lines = []
    finished = [tried.curve for tried in record.tried if tried.state == "finished"]
    middle = [_median([record.as_error(c[i]) for c in finished if i < len(c)]) for i in range(length)]
    lines.append(Line("the median of those that finished", middle, "muted"))
    for place, tried in reversed(list(enumerate(shown, 1))):
        errors = [record.as_error(value) for value in tried.curve]
        color = "valid" if place == 1 else "train"
        lines.append(Line(f"place {place}", errors + [None] * (length - len(errors)), color))
    errors = [record.as_error(value) for value in shown[0].curve]
    known = [error for error in errors if error is not None and math.isfinite(error)]
    counts = xs[errors.index(min(known))] if known else None  # a configuration is judged by its best check
    return curves(xs, lines, axis="epoch", label="learning curves of the leaders", best=counts)


def _median(values: Sequence[float | None]) -> float | None:
    known = sorted(value for value in values if value is not None)
    return known[len(known) // 2] if known else None


def slice_of(record: StudyRecord, axis: Axis) -> Markup:
    """Draw errors over one hyperparameter: all of them, the best for each value, and the others held at the best."""
    tried = [t for t, _ in record.known]
    if not tried:
        return Markup("")
    up = scale_of([error for _, error in record.known], BOTTOM, TOP)
    across = _scale(axis, LEFT, RIGHT)
    shapes: list[Shape] = [
        _dot(record, t, x, up, error, "muted")
        for t, error in _thinned(record)
        if (x := _at(axis, across, t, 0.36)) is not None
    ]
    chart = plot(across, up)
    for points, color in zip(slices(record, axis), ("line1", "line2"), strict=True):
        shapes += _line(chart, points, color) if points else []
        if 1 < len(points) <= MARKS:
            shapes += [
                Circle((across(x), _place_of(up, error)), 3.4, color, None, title=number(error)) for x, error in points
            ]
    return figure(chart, f"errors over {axis.name}", shapes, axis.name.replace("_", " "))


def slices(record: StudyRecord, axis: Axis) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Give, over the values of a list, the smallest error of each, and the error with all others as in the best one."""
    if axis.ends is not None or record.best is None:
        return [], []
    _, places = levels(axis, [t for t, _ in record.known])
    best: dict[int, float] = {}
    held: dict[int, float] = {}
    others = {name: value for name, value in record.best.values.items() if name != axis.name}
    for (tried, error), at in zip(record.known, places, strict=True):
        if at is None:
            continue
        best[at] = min(error, best.get(at, math.inf))
        if {name: value for name, value in tried.values.items() if name != axis.name} == others:
            held[at] = min(error, held.get(at, math.inf))
    return [(float(i), best[i]) for i in sorted(best)], [(float(i), held[i]) for i in sorted(held)]


def heat_map(record: StudyRecord, first: Axis, second: Axis) -> Markup:
    """Shade, for each pair of values, the best result that has them, the darker the better; none if one is fixed."""
    tried = [t for t, _ in record.known]
    rows, at_row = levels(first, tried, bins=5)
    columns, at_column = levels(second, tried, bins=5)
    cells: dict[tuple[int, int], Tried] = {}
    errors: dict[tuple[int, int], float] = {}
    for (each, error), i, j in zip(record.known, at_row, at_column, strict=True):
        if i is not None and j is not None and error < errors.get((i, j), math.inf):
            errors[i, j], cells[i, j] = error, each
    if not errors:
        return Markup("")
    order = sorted(set(errors.values()))
    share = {error: 1 - k / max(1, len(order) - 1) for k, error in enumerate(order)}
    used_rows, used_columns = (sorted({place[axis] for place in cells}) for axis in (0, 1))
    if len(used_rows) < 2 or len(used_columns) < 2:
        return Markup("")
    heads = [tag("th", _cut(columns[j]), scope="col", title=columns[j]) for j in used_columns]
    body = []
    for i in used_rows:
        shown = [_cell(record, cells.get((i, j)), share.get(errors.get((i, j), -1.0), 0.0)) for j in used_columns]
        body.append(tag("tr", tag("th", _cut(rows[i]), scope="row", title=rows[i]), shown))
    top = tag("tr", tag("th", ""), heads)
    kind = "matrix heat" + (" dense" if len(used_columns) > 4 else "")
    table = tag("table", tag("thead", top), tag("tbody", body), class_=kind)
    names = (tag("span", second.name.replace("_", " "), " →"), tag("span", first.name.replace("_", " "), " ↓"))
    return join([tag("p", names, class_="pair"), tag("div", table, class_="scroll")])


def _cell(record: StudyRecord, tried: Tried | None, share: float) -> Markup:
    if tried is None:
        return tag("td", "·", class_="zero")
    strength = 0.06 + 0.94 * share**1.5
    kind = "hit-cell" + (" strong" if strength > 0.55 else "")
    text = (
        f"{100 * tried.value:.1f}" if record.score == "accuracy" and tried.value is not None else number(tried.value, 3)
    )
    return tag("td", text, class_=kind, style=f"--v:{strength:.2f}", title=_words_of(record, tried))


def _error_name(record: StudyRecord) -> str:
    """Name what is drawn: the share of wrong answers for accuracy, else the metric itself."""
    if record.score == "accuracy":
        return "error"
    return record.score if record.direction == "minimize" else f"−{record.score}"


def _cut(text: str) -> str:
    return text if len(text) <= 12 else text[:11] + "…"


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
