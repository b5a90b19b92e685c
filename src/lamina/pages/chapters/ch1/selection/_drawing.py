"""The drawings of the page on choosing a model."""

import math
from collections.abc import Sequence
from functools import partial

from lamina.data.splits import PARTS
from lamina.drawing.colors import letters_on, resolve
from lamina.drawing.palettes import amount
from lamina.drawing.scene import Circle, Path, Rectangle, Scene, Shape, Stroke, Text, narrowed
from lamina.drawing.text import width as text_width
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
    across: float = 400.0,
) -> Scene:
    """Color a table of positive errors by their logarithm, light where they are low, with names of rows and columns.

    >>> grid_map([[1.0, 0.1]], ("a", "b"), ("c",), labels=("x", "y"), best=(1, 0)).title
    'errors'
    """
    given = locals().copy()
    wide, tall, left, bottom = across / len(columns), 240.0 / len(rows), 78.0, 250.0
    known = [math.log(value) for row in values for value in row if value is not None]
    low, high = min(known), max(known)
    shapes: list[Shape] = []
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            share = 0.5 if value is None or high == low else (math.log(value) - low) / (high - low)
            fill = "grid" if value is None else "#{:02x}{:02x}{:02x}".format(*amount(share))
            corner = (left + j * wide, bottom - (i + 1) * tall)
            words = "no number" if value is None else f"{value:.3g}"
            shapes.append(Rectangle(corner, (wide, tall), fill, None, title=f"{columns[j]}, {rows[i]}: {words}"))
            if numbers:
                ink = "ink" if value is None else letters_on(fill)
                shapes.append(Text((corner[0] + 6, corner[1] + tall - 11), "–" if value is None else words, 11, ink))

    def center(cell: tuple[int, int]) -> Place:
        return left + (cell[0] + 0.5) * wide, bottom - (cell[1] + 0.5) * tall

    if len(way) > 1:
        shapes.append(Path(tuple(map(center, way)), Stroke(resolve("line5"), 3.0), "end"))
    shapes.append(Circle(center(best), 7.0, None, Stroke(resolve("line2"), 3.0)))
    shapes += [Text((center((j, 0))[0], bottom + 13), name, 11, "muted", "middle") for j, name in enumerate(columns)]
    shapes += [Text((left - 6, center((0, i))[1]), name, 11, "muted", "end") for i, name in enumerate(rows)]
    shapes.append(Text((left + across / 2, bottom + 32), labels[0], 12, "ink", "middle"))
    shapes.append(Text((14, bottom - 120), labels[1], 12, "ink", "middle", angle=90.0))
    slim = partial(grid_map, **{**given, "across": 280.0}) if across > 280 else None
    return Scene(across + 90, 294.0, tuple(shapes), "errors", f"errors over {labels[0]} and {labels[1]}", slim)


def split_bar(sizes: Sequence[int], width: float = 560.0, height: float = 62.0) -> Scene:
    """Draw the sizes of training, validation and test part as one bar.

    >>> split_bar([4, 1, 1]).width
    560.0
    """
    given = locals().copy()
    wide, left, shapes, centers = width - 16.0, 8.0, list[Shape](), list[float]()
    whole = max(1, sum(sizes))
    colors = ("line3", "line5", "line4")
    for name, size, color in zip(PARTS, sizes, colors, strict=True):
        part = wide * size / whole
        shapes.append(Rectangle((left, 24), (max(part, 0.5), 30), f"{color}!35", None, title=f"{name}: {size}"))
        if part > 26:
            shapes.append(Text((left + part / 2, 39), f"{size:,}", 13, "ink", "middle", bold=True))
        centers.append(left + part / 2)
        left += part
    places = _apart(centers, [text_width(name, 12) for name in PARTS], 8.0, width - 8.0)
    shapes += [Text((x, 12), name, 12, color, "middle") for x, name, color in zip(places, PARTS, colors, strict=True)]
    words = ", ".join(f"{size} {name}" for name, size in zip(PARTS, sizes, strict=True))
    return Scene(width, height, tuple(shapes), "split", words, narrowed(split_bar, given))


def _apart(
    centers: Sequence[float], widths: Sequence[float], low: float, high: float, gap: float = 10.0
) -> list[float]:
    """Move words apart that would overlap, each as little as those on its left and then those on its right ask for.

    >>> _apart([50.0, 90.0, 95.0], [20.0, 20.0, 20.0], 0.0, 100.0)
    [30.0, 60.0, 90.0]
    """
    found, free = list[float](), low
    for x, wide in zip(centers, widths, strict=True):
        found.append(max(x, free + wide / 2))
        free = found[-1] + wide / 2 + gap
    free = high
    for place in reversed(range(len(found))):
        found[place] = min(found[place], free - widths[place] / 2)
        free = found[place] - widths[place] / 2 - gap
    return found
