"""What a reader's hands can do with a drawing, for `svg(..., hands=...)`; `static/hands.js` does it.

A table gives a hand to shapes by their titles:

- `value`: the number it shows; `sum`: or that it is a sum of products of others, `then` put through an activation.
  Pointing at it lights what it is made of and says the sum with its numbers.
- `edit`: clicking it changes the number, in the drawing at once, and in a widget of the page: `into` is the widget by
  its name in the address, with `row` and `column` for a typed matrix, or `key` for a list such as "W0 1 2=0.5".
- `drag`: it can be dragged, and `set`s widgets.
- `choose`: clicking it sets widgets.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from lamina._errors import ArgumentError
from lamina.drawing.scene import Circle, Path, Point, Scene, Stroke

Hands = dict[str, dict[str, Any]]
Range = tuple[float, float]


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
