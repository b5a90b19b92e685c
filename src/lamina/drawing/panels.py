"""Several scenes as one: panels in rows, with letters, and pictures in a grid."""

from collections.abc import Sequence

from lamina._errors import ArgumentError, at_least
from lamina.drawing.scene import Picture, Pixels, Rectangle, Scene, Shape, Stroke, Text, beside, stacked

CAPTION = 13.0
"""The size of the words under or above a panel."""


def panels(scenes: Sequence[Scene], columns: int, *, gap: float = 16.0, title: str, description: str = "") -> Scene:
    """Put scenes in rows of so many columns.

    Args:
        scenes: the panels, row by row.
        columns: how many are side by side.
        gap: the distance between them, in points.
        title: of the whole.
        description: what it shows, for those who do not see it.

    >>> from lamina.drawing.charts import Series, chart
    >>> one = chart([Series("", [0, 1], [0, 1])], width=100, height=80)
    >>> panels([one] * 3, 2, gap=10, title="three lines").height
    170.0
    """
    at_least("columns", columns, 1)
    if not scenes:
        raise ArgumentError("`scenes` must hold at least 1 panel, got 0.")
    rows = [beside(*scenes[start : start + columns], gap=gap, align="top") for start in range(0, len(scenes), columns)]
    return stacked(*rows, gap=gap, title=title, description=description)


def lettered(number: int, words: str) -> str:
    """Name a panel as the notes do, from (a) on.

    >>> lettered(1, "sigmoid")
    '(b) sigmoid'
    """
    return f"({chr(ord('a') + number)}) {words}"


def picture_grid(
    pictures: Sequence[Pixels],
    columns: int,
    *,
    cell: float = 28.0,
    gap: float = 2.0,
    labels: Sequence[str] = (),
    caption: str = "",
    title: str = "pictures",
    description: str = "",
) -> Scene:
    """Draw pictures of one size in rows.

    Args:
        pictures: rows of gray values 0 to 255, or of red, green, blue.
        columns: how many are side by side.
        cell: the width of one picture, in points; its height follows.
        gap: the distance between two.
        labels: words above each picture, or none.
        caption: words above all.
        title: of the scene.
        description: what it shows, for those who do not see it.

    >>> picture_grid([[[0, 255], [255, 0]]] * 6, 3, cell=10, gap=2).width
    50.0
    """
    at_least("columns", columns, 1)
    if not pictures:
        raise ArgumentError("`pictures` must hold at least 1 picture, got 0.")
    margin, size = 8.0, 11.0
    tall = cell * len(pictures[0]) / len(pictures[0][0])
    above = 1.5 * size if labels else 0.0
    top = margin + (1.8 * CAPTION if caption else 0.0)
    count, rows = min(columns, len(pictures)), -(-len(pictures) // columns)
    width = 2 * margin + count * (cell + gap) - gap
    shapes: list[Shape] = []
    if caption:
        shapes.append(Text((width / 2, margin + 0.7 * CAPTION), caption, CAPTION, anchor="middle", bold=True))
    for place, pixels in enumerate(pictures):
        row, column = divmod(place, columns)
        left, at = margin + column * (cell + gap), top + row * (tall + above + gap)
        if labels:
            shapes.append(Text((left + cell / 2, at + above / 2), labels[place], size, anchor="middle"))
        shapes.append(Picture((left, at + above), (cell, tall), pixels))
        shapes.append(Rectangle((left, at + above), (cell, tall), None, Stroke("grid", 0.6)))
    height = top + rows * (tall + above + gap) - gap + margin
    return Scene(float(width), float(height), tuple(shapes), title, description)
