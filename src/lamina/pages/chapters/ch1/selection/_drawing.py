"""The drawings of the page on choosing a model."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamina.data.splits import PARTS
from lamina.drawing.colors import resolve
from lamina.drawing.heat_map import ramp_color
from lamina.drawing.scene import Circle, Path, Rectangle, Scene, Shape, Stroke, Text, narrowed
from lamina.drawing.text import width as text_width

if TYPE_CHECKING:
    pass
from lamina.pages.chapters.ch1._shared import Place


def grid_map(
    values: Sequence[Sequence[float | None]],
    columns: Sequence[str],
    rows: Sequence[str],
    *,
    labels: tuple[str, str],
    best: tuple[int, int],
    way: Sequence[tuple[int, int]] = (),
    numbers: bool = False,
) -> Scene:
    """Color a table of positive errors by their logarithm, light where they are low, with names of rows and columns.

    >>> grid_map([[1.0, 0.1]], ("a", "b"), ("c",), labels=("x", "y"), best=(1, 0)).title
    'errors'
    """
    wide, tall, left, bottom = 400.0 / len(columns), 240.0 / len(rows), 78.0, 250.0
    known = [math.log(value) for row in values for value in row if value is not None]
    low, high = min(known), max(known)
    shapes: list[Shape] = []
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            share = 0.5 if value is None or high == low else (math.log(value) - low) / (high - low)
            fill = "grid" if value is None else "#{:02x}{:02x}{:02x}".format(*ramp_color(share))
            corner = (left + j * wide, bottom - (i + 1) * tall)
            words = "no number" if value is None else f"{value:.3g}"
            shapes.append(Rectangle(corner, (wide, tall), fill, None, title=f"{columns[j]}, {rows[i]}: {words}"))
            if numbers:
                ink = "ink" if value is None else "#16181d" if share < 0.5 else "#ffffff"
                shapes.append(Text((corner[0] + 6, corner[1] + tall - 11), "–" if value is None else words, 11, ink))

    def center(cell: tuple[int, int]) -> Place:
        return left + (cell[0] + 0.5) * wide, bottom - (cell[1] + 0.5) * tall

    if len(way) > 1:
        shapes.append(Path(tuple(map(center, way)), Stroke(resolve("line5"), 3.0), "end"))
    shapes.append(Circle(center(best), 7.0, None, Stroke(resolve("line2"), 3.0)))
    shapes += [Text((center((j, 0))[0], bottom + 13), name, 11, "muted", "middle") for j, name in enumerate(columns)]
    shapes += [Text((left - 6, center((0, i))[1]), name, 11, "muted", "end") for i, name in enumerate(rows)]
    shapes.append(Text((left + 200, bottom + 32), labels[0], 12, "ink", "middle"))
    shapes.append(Text((14, bottom - 120), labels[1], 12, "ink", "middle", angle=90.0))
    return Scene(490.0, 294.0, tuple(shapes), "errors", f"errors over {labels[0]} and {labels[1]}")


def split_bar(sizes: Sequence[int], width: float = 560.0, height: float = 62.0) -> Scene:
    """Draw the sizes of training, validation and test part as one bar.

    >>> split_bar([4, 1, 1]).width
    560.0
    """
    given = locals().copy()
    wide, left, shapes = width - 16.0, 8.0, list[Shape]()
    whole = max(1, sum(sizes))
    for name, size, color in zip(PARTS, sizes, ("line3", "line5", "line4"), strict=True):
        part = wide * size / whole
        shapes.append(Rectangle((left, 24), (max(part, 0.5), 30), f"{color}!35", None, title=f"{name}: {size}"))
        if part > 26:
            shapes.append(Text((left + part / 2, 39), f"{size:,}", 13, "ink", "middle", bold=True))
        if part > text_width(name, 12) + 4:
            shapes.append(Text((left + part / 2, 12), name, 12, color, "middle"))
        left += part
    words = ", ".join(f"{size} {name}" for name, size in zip(PARTS, sizes, strict=True))
    return Scene(width, height, tuple(shapes), "split", words, narrowed(split_bar, given))
