"""The drawings of a study: parallel coordinates, progress, slices, heat maps. Everywhere down is better."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from lamina._markup import Markup, join, tag
from lamina.drawing.scales import Scale, exact, fit
from lamina.report._figures import (
    BOTTOM,
    HEIGHT,
    LEFT,
    MARKS,
    RIGHT,
    TOP,
    WIDTH,
    Line,
    _at,
    _grid,
    _polyline,
    _svg,
    curves,
)
from lamina.report._findings import metric
from lamina.report._formatting import number
from lamina.report._study_record import Axis, StudyRecord, Tried, levels

WIDE, TALL = 1120, 330
LINES = 1200
"""So many configurations are drawn as lines at most: the best ones, and others at equal distances."""
LEADERS = 10
LOG_FROM = 8.0
_SPREAD = 0.618033988749895


def scale_of(errors: Sequence[float], start: float, end: float) -> Scale:
    """Choose the axis of errors, logarithmic from a ratio of 8 on; an error of 0 stands at half of the smallest."""
    positive = [error for error in errors if error > 0]
    if positive and min(errors) >= 0 and max(positive) >= LOG_FROM * min(positive):
        return fit([min(positive) / (2 if min(errors) == 0 else 1), max(positive)], start, end, log=True)
    return fit(errors, start, end)


def place_of(scale: Scale, error: float) -> float:
    """Give the place of an error, kept within the axis."""
    return scale(min(scale.high, max(scale.low, error)))


def words_of(record: StudyRecord, tried: Tried) -> str:
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
    ups = [_axis_scale(axis, bottom, top) for axis in record.axes]
    leaders = [tried for tried in record.ranked if tried.number in known][:LEADERS]
    others = [tried for tried, _ in record.known if tried not in leaders]
    shown = others[:: math.ceil(len(others) / LINES)] if others else []
    shown.sort(key=lambda tried: -known[tried.number])
    drawn = []
    for tried in [*shown, *reversed(leaders)]:
        points = [(x, _height(axis, up, tried)) for x, axis, up in zip(xs, record.axes, ups, strict=False)]
        kind = "best" if tried is leaders[0] else "lead" if tried in leaders else "rest"
        path = _path([*points, (xs[-1], place_of(last, known[tried.number]))])
        drawn.append(tag("path", tag("title", words_of(record, tried)), d=path, class_=f"run {kind}"))
    posts = [_post(x, axis, up) for x, axis, up in zip(xs, record.axes, ups, strict=False)]
    posts.append(_post_of(xs[-1], error_name(record), last.ticks, last, end=True))
    return tag(
        "svg", tag("g", drawn, class_="runs"), tag("g", posts, class_="axes posts"), viewBox=f"0 0 {WIDE} {TALL}",
        role="img", aria_label="parallel coordinates", class_="figure wide",
    )  # fmt: skip


def _axis_scale(axis: Axis, bottom: float, top: float) -> Scale:
    if axis.ends is None:
        count = len(axis.values)
        margin = 0.5 if count > 1 else 1.0
        ticks = tuple((float(i), value) for i, value in enumerate(axis.values))
        return Scale(-margin, count - 1 + margin, bottom, top, ticks)
    if axis.log:
        whole = fit(axis.ends, bottom, top, log=True)
        ticks = tuple((v, label) for v, label in whole.ticks if axis.ends[0] * 0.99 <= v <= axis.ends[1] * 1.01)
        return Scale(*axis.ends, bottom, top, ticks, True)
    return exact(*axis.ends, bottom, top)


def _height(axis: Axis, up: Scale, tried: Tried) -> float | None:
    value = tried.values.get(axis.name)
    if value is None:
        return None
    if axis.ends is None:
        # Lines through one value fan out a little, so that many look like many.
        fan = (tried.number * _SPREAD % 1 - 0.5) * 0.5
        return up(axis.values.index(value) + fan)
    return up(float(value))


def _path(points: Sequence[tuple[float, float | None]]) -> str:
    """Draw smooth curves from axis to axis; where a value is missing, straight to the next one that has one."""
    known = [(x, y) for x, y in points if y is not None]
    parts = [f"M{_at(known[0][0])} {_at(known[0][1])}"]
    for (x0, y0), (x1, y1) in pairwise(known):
        reach = (x1 - x0) * 0.42
        parts.append(f"C{_at(x0 + reach)} {_at(y0)} {_at(x1 - reach)} {_at(y1)} {_at(x1)} {_at(y1)}")
    return "".join(parts)


def _post(x: float, axis: Axis, up: Scale) -> Markup:
    return _post_of(x, axis.name, up.ticks, up)


def _post_of(x: float, name: str, ticks: Sequence[tuple[float, str]], up: Scale, *, end: bool = False) -> Markup:
    """Draw one vertical axis with its name above and its values beside it."""
    side, anchor = (x + 8, "start") if end else (x - 8, "end")
    labels = [tag("text", _cut(label), x=_at(side), y=_at(up(v) + 3.5), text_anchor=anchor) for v, label in ticks]
    marks = [tag("line", class_="tick", x1=_at(x - 3), x2=_at(x + 3), y1=_at(up(v)), y2=_at(up(v))) for v, _ in ticks]
    line = tag("line", class_="base", x1=_at(x), x2=_at(x), y1=_at(up.start), y2=_at(up.end))
    shown = tag("text", name.replace("_", " "), class_="name", x=_at(x), y=_at(up.end - 18), text_anchor="middle")
    return tag("g", line, marks, labels, shown)


def progress(record: StudyRecord) -> Markup:
    """Draw every configuration's error over its number, and the best so far as a staircase."""
    if not record.known:
        return Markup("")
    across = exact(0, max(tried.number for tried in record.tried) or 1, LEFT, RIGHT, whole=True)
    up = scale_of([error for _, error in record.known], BOTTOM, TOP)
    dots = [_dot(record, tried, across(tried.number), place_of(up, error)) for tried, error in _thinned(record.known)]
    stairs: list[tuple[float, float]] = []
    low = math.inf
    for tried, error in record.known:
        if error < low and tried.state == "finished":
            if stairs:
                stairs.append((across(tried.number), place_of(up, low)))
            low = error
            stairs.append((across(tried.number), place_of(up, low)))
    if stairs:
        stairs.append((RIGHT, stairs[-1][1]))
    line = tag("g", _polyline(stairs), class_="valid") if len(stairs) > 1 else None
    axes = _grid(across, up, "configuration")
    return _svg(WIDTH, HEIGHT, "errors in order", axes, tag("g", dots, class_="train"), line)


def _thinned(known: Sequence[tuple[Tried, float]]) -> Sequence[tuple[Tried, float]]:
    return known[:: math.ceil(len(known) / LINES)]


def _dot(record: StudyRecord, tried: Tried, x: float, y: float) -> Markup:
    return tag("circle", tag("title", words_of(record, tried)), class_="dot few", cx=_at(x), cy=_at(y), r=2.6)


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
    lines.append(Line("the median of those that finished", middle, "faint"))
    for place, tried in reversed(list(enumerate(shown, 1))):
        errors = [record.as_error(value) for value in tried.curve]
        color = "valid" if place == 1 else "train"
        lines.append(Line(f"place {place}", errors + [None] * (length - len(errors)), color))
    return curves(xs, lines, axis="epoch", label="learning curves of the leaders")


def _median(values: Sequence[float | None]) -> float | None:
    known = sorted(value for value in values if value is not None)
    return known[len(known) // 2] if known else None


def slice_of(record: StudyRecord, axis: Axis) -> Markup:
    """Draw errors over one hyperparameter: all of them, the best for each value, and the others held at the best."""
    tried = [t for t, _ in record.known]
    if not tried:
        return Markup("")
    up = scale_of([error for _, error in record.known], BOTTOM, TOP)
    across, place = _across(axis)
    dots = [
        _dot(record, t, place(t), place_of(up, error)) for t, error in _thinned(record.known) if axis.name in t.values
    ]
    lowest, held = slices(record, axis)
    lines = []
    for points, kind in ((lowest, "train"), (held, "valid")):
        spots = [(across(x), place_of(up, error)) for x, error in points]
        marks = [
            tag("circle", tag("title", f"{number(error)}"), class_="mark", cx=_at(x), cy=_at(y), r=3.4)
            for (x, y), (_, error) in zip(spots, points, strict=True)
        ] if len(spots) <= MARKS else []  # fmt: skip
        if len(spots) > 1:
            lines.append(tag("g", _polyline(spots), marks, class_=kind))
    axes = _grid(across, up, axis.name.replace("_", " "))
    return _svg(WIDTH, HEIGHT, f"errors over {axis.name}", axes, tag("g", dots, class_="muted"), lines)


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


def _across(axis: Axis) -> tuple[Scale, Callable[[Tried], float]]:
    """Give the horizontal scale of a hyperparameter, and the function that places a configuration on it."""
    if axis.ends is None:
        count = len(axis.values)
        ticks = tuple((float(i), _cut(value)) for i, value in enumerate(axis.values))
        scale = Scale(-0.5, count - 0.5, LEFT, RIGHT, ticks)

        def place(tried: Tried) -> float:
            return scale(axis.values.index(tried.values[axis.name]) + (tried.number * _SPREAD % 1 - 0.5) * 0.36)

        return scale, place
    whole = fit(axis.ends, LEFT, RIGHT, log=True) if axis.log else exact(*axis.ends, LEFT, RIGHT)
    ticks = tuple((v, label) for v, label in whole.ticks if axis.ends[0] * 0.99 <= v <= axis.ends[1] * 1.01)
    scale = Scale(*axis.ends, LEFT, RIGHT, ticks, axis.log)
    return scale, lambda tried: scale(float(tried.values[axis.name]))


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
    return tag("td", text, class_=kind, style=f"--v:{strength:.2f}", title=words_of(record, tried))


def error_name(record: StudyRecord) -> str:
    """Name what is drawn: the share of wrong answers for accuracy, else the metric itself."""
    if record.score == "accuracy":
        return "error"
    return record.score if record.direction == "minimize" else f"−{record.score}"


def _cut(text: str) -> str:
    return text if len(text) <= 12 else text[:11] + "…"


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
