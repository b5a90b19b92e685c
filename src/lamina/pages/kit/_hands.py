"""What a reader's hands can do with a drawing, for `svg(..., hands=...)`; `static/hands.js` does it.

A table gives a hand to shapes by their titles:

- `value`: the number it shows; `sum`: or that it is a sum of products of others, `then` put through an activation.
  Pointing at it lights what it is made of and says the sum with its numbers.
- `edit`: clicking it changes the number, in the drawing at once, and in a widget of the page: `into` is the widget by
  its name in the address, with `row` and `column` for a typed matrix, or `key` for a list such as "W0 1 2=0.5".
- `drag`: it can be dragged, and `set`s widgets.
- `choose`: clicking it sets widgets.

Under the name `points` it may hold data points that can be dragged, the shapes `point 1`, `point 2`, ..., and say what
follows from them (see `data_hands`).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lamina._errors import ArgumentError, DataError
from lamina._types import Float, Tensor
from lamina.drawing.scene import Circle, Path, Point, Scene, Stroke
from lamina.pages.kit._blocks import note

if TYPE_CHECKING:
    from marimo import Html
    from marimo import ui as marimo_ui

Hands = dict[str, dict[str, Any]]
Range = tuple[float, float]
FARTHEST = 1000.0
"""How far from 0 a moved point may lie."""
MOVES = 20_000
"""Characters of what says which points were moved, for about a thousand of them."""
_MOVED = re.compile(r"(\d{1,6})\s*=\s*([-+.e\d]{1,24})\s+([-+.e\d]{1,24})", re.ASCII | re.IGNORECASE)


def axes_of(scene: Scene, x_range: Range, y_range: Range) -> dict[str, list[float]]:
    """Find the axes of a chart: where each begins and ends in the scene, and its values there.

    >>> from lamina.drawing.charts import Series, chart
    >>> found = axes_of(chart([Series("", [0, 1], [0, 1])], x_range=(0, 1), y_range=(0, 2)), (0, 1), (0, 2))
    >>> found["across"][2:], found["up"][2:], found["across"][0] < found["across"][1]
    ([0, 1], [0, 2], True)
    """
    for shape in scene.shapes:
        if isinstance(shape, Path) and len(shape.points) == 3:
            (left, top), (corner, bottom), (right, last) = shape.points
            if left == corner < right and top < bottom == last:
                return {"across": [left, right, *x_range], "up": [bottom, top, *y_range]}
    raise ArgumentError(f"`scene` must be a chart with axes, got {scene!r}.")


def grip(
    scene: Scene, title: str, at: Point, x_range: Range, y_range: Range, sets: Sequence[str], **drag: Any
) -> tuple[Scene, Hands]:
    """Put a disc onto a chart that can be dragged, in the colors of a handle.

    Args:
        scene: the chart, with linear axes.
        title: what the disc is called.
        at: where it is, in the values of the axes.
        x_range: the ends of the horizontal axis.
        y_range: the ends of the vertical one.
        sets: the widgets that it moves, by their names in the address.
        drag: more about it, for `hands.js`.

    >>> from lamina.drawing.charts import Series, chart
    >>> drawn = chart([Series("", [0, 1], [0, 1])], x_range=(0, 1), y_range=(0, 1))
    >>> grip(drawn, "start", (0.5, 0.5), (0, 1), (0, 1), ("x", "y"))[1]["start"]["drag"]["set"]
    ['x', 'y']
    """
    axes = axes_of(scene, x_range, y_range)
    (left, right, low, high), (bottom, top, below, above) = axes["across"], axes["up"]
    center = (
        left + (right - left) * (at[0] - low) / (high - low),
        bottom + (top - bottom) * (at[1] - below) / (above - below),
    )
    disc = Circle(center, 7.5, "#ffffff", Stroke("#111111", 2.4), title=title)
    held, slim = replace(scene, shapes=(*scene.shapes, disc)), scene.narrower
    if slim is not None:
        held = replace(held, narrower=partial(_gripped, slim, title, at, x_range, y_range))
    return held, {title: {"drag": {**axes, "set": list(sets), **drag}}}


def _gripped(slim: Callable[[], Scene], title: str, at: Point, x_range: Range, y_range: Range) -> Scene:
    return grip(slim(), title, at, x_range, y_range, ())[0]


def matrix_hands(name: str, rows: Sequence[Sequence[float]], into: str, *, turned: bool = False) -> Hands:
    """Let every cell of a drawn matrix be changed where it stands.

    Args:
        name: as in the titles of its cells, `name (1,1)`.
        rows: its numbers as they are drawn.
        into: the widget in which the matrix is typed.
        turned: whether it is drawn with rows and columns in reverse.

    >>> matrix_hands("K", [[1, 2]], "kernel-k", turned=True)["K (1,1)"]
    {'value': 1, 'edit': {'into': 'kernel-k', 'row': 0, 'column': 1}}
    """
    tall, wide = len(rows), len(rows[0])
    return {
        f"{name} ({i + 1},{j + 1})": {
            "value": value,
            "edit": {
                "into": into,
                "row": tall - 1 - i if turned else i,
                "column": wide - 1 - j if turned else j,
            },
        }
        for i, row in enumerate(rows)
        for j, value in enumerate(row)
    }


def window_hands(shape: tuple[int, int], kernel: tuple[int, int]) -> Hands:
    """Let every cell of a result light its window, the kernel, and the sum behind it.

    Args:
        shape: rows and columns of the result.
        kernel: those of the kernel, whose cells are called `K (1,1)`; those of the image are `Y (1,1)`.

    >>> window_hands((1, 2), (1, 2))["result (1,2)"]["sum"]
    [['Y (1,2)', 'K (1,1)'], ['Y (1,3)', 'K (1,2)']]
    """
    return {
        f"result ({i + 1},{j + 1})": {
            "name": f"entry ({i + 1},{j + 1})",
            "sum": [
                [f"Y ({i + a + 1},{j + b + 1})", f"K ({a + 1},{b + 1})"]
                for a in range(kernel[0])
                for b in range(kernel[1])
            ],
        }
        for i in range(shape[0])
        for j in range(shape[1])
    }


def point_titles(count: int, name: str = "point") -> list[str]:
    """Call data points as hands know them.

    >>> point_titles(2)
    ['point 1', 'point 2']
    """
    return [f"{name} {place + 1}" for place in range(count)]


def moved_points(label: str = "moved points") -> "marimo_ui.text":
    """Make the field that says which points were moved where; dragging writes into it, and so may a reader.

    Args:
        label: its name, from which its name in the address is made.
    """
    import marimo as mo

    return mo.ui.text(label=label, placeholder="3=0.5 -1", full_width=True)


def moved(points: Float[Tensor, "point 2"], text: str) -> Float[Tensor, "point 2"]:
    """Put moved points into a copy of points; what other points had is left out.

    Args:
        points: one a row.
        text: what `moved_points` says, such as "3=0.5 -1; 7=2 0"; points are counted from 1.

    Raises:
        DataError: a part of it cannot be read, or it is too long.

    >>> import torch
    >>> moved(torch.zeros(2, 2), "2=0.5 −1; 9=1 1").tolist()
    [[0.0, 0.0], [0.5, -1.0]]
    """
    if len(text) > MOVES:
        raise DataError(f"the list of moved points must have at most {MOVES:,} characters, got {len(text):,}.")
    found = points.clone()
    for part in filter(None, (word.strip() for word in text.replace("−", "-").split(";"))):
        match = _MOVED.fullmatch(part)
        place = [_near(word) for word in match.groups()[1:]] if match else []
        if match is None or None in place:
            raise DataError(
                f"a moved point must look like 3=0.5 -1, its number and its two coordinates of at most {FARTHEST:g}, "
                f"got {part[:30]!r}."
            )
        if 0 < int(match[1]) <= len(found):
            found[int(match[1]) - 1] = found.new_tensor(place)
    return found


def taken(points: Float[Tensor, "point 2"], text: str) -> "tuple[Float[Tensor, 'point 2'], list[Html]]":
    """Put moved points into a copy of points as `moved` does; what cannot be read becomes a note for the controls."""
    try:
        return moved(points, text), []
    except DataError as error:
        return points, [note(str(error), "bad")]


def _near(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if abs(value) <= FARTHEST else None


def data_hands(
    scene: Scene,
    points: Sequence[Sequence[float]],
    x_range: Range,
    y_range: Range,
    *,
    into: str = "moved-points",
    follow: str = "",
    **given: Any,
) -> Hands:
    """Let the data points of a chart be dragged, the marks called `point_titles`.

    Args:
        scene: the chart, with linear axes.
        points: one a row; () for one that is not drawn.
        x_range: the ends of the horizontal axis.
        y_range: the ends of the vertical one.
        into: the `moved_points` by their name in the address.
        follow: what follows from them in the same frame, a function of `static/follow.js`; "" for nothing.
        given: what that function needs besides the points.

    >>> from lamina.drawing.charts import Series, chart
    >>> drawn = chart(points=[Series("", [0], [1], titles=point_titles(1))], x_range=(0, 1), y_range=(0, 1))
    >>> found = data_hands(drawn, [[0.0, 1.0]], (0, 1), (0, 1), follow="line", yours=(0, 1))["points"]
    >>> found["at"], found["across"][2:], found["given"]
    ([[0.0, 1.0]], [0, 1], {'yours': (0, 1)})
    """
    at = [[round(value, 6) for value in point] for point in points]
    return {"points": {**axes_of(scene, x_range, y_range), "at": at, "into": into, "follow": follow, "given": given}}
