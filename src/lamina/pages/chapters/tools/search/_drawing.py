"""The drawing of the page on search: a grid of networks as cells."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from lamina.drawing.colors import letters_on
from lamina.drawing.palettes import amount
from lamina.drawing.scene import FROM, NARROW, Path, Picture, Point, Rectangle, Scene, Shape, Stroke, Text
from lamina.drawing.text import width as text_width

LOW, HIGH = 0.9, 0.01
"""Shares of mistakes that have the lightest and the darkest color."""

TICKS = (0.1, 0.5, 0.8, 0.9, 0.95, 0.97, 0.99)


def in_full(value: float) -> str:
    """Write a number without a power of ten, as hyperparameters are read.

    >>> in_full(1e-05), in_full(0.3), in_full(16), in_full(0.0)
    ('0.00001', '0.3', '16', '0')
    """
    return f"{value:.8f}".rstrip("0").rstrip(".")


def shade(accuracy: float) -> float:
    """Turn an accuracy into a share of the color ramp: evenly in the logarithm of the mistakes.

    >>> shade(0.1), shade(1.0), round(shade(0.9), 3)
    (0.0, 1.0, 0.488)
    """
    mistakes = min(LOW, max(HIGH, 1 - accuracy))
    return 1 - math.log(mistakes / HIGH) / math.log(LOW / HIGH)


def _hex(share: float) -> str:
    return "#{:02x}{:02x}{:02x}".format(*amount(share))


def cell_map(
    values: Sequence[Sequence[float | None]],
    across: Sequence[str],
    up: Sequence[str],
    *,
    x_label: str,
    y_label: str,
    best: tuple[int, int] | None = None,
    tried: Sequence[tuple[int, int]] = (),
    moves: Sequence[tuple[int, int]] = (),
    width: float = 430.0,
    height: float = 360.0,
) -> Scene:
    """Draw one cell for each network, dark where it makes few mistakes.

    >>> cell_map([[0.5, None], [0.9, float("nan")]], ["a", "b"], ["c", "d"], x_label="x", y_label="y").width
    430.0
    """
    given = locals().copy()
    rows, columns = len(values), len(values[0])
    left, right = 30.0 + max(text_width(name, 10.0) for name in up), width - 10.0
    longest = max(text_width(name, 10.0) for name in across)
    turned = longest + 8 > (right - left) / len(across)
    below = longest + 6 if turned else 17.0
    slim = right - left < 300
    top, bottom = 12.0, height - below - (83.0 if slim else 67.0)
    wide, tall = (right - left) / columns, (bottom - top) / rows

    def corner(row: int, column: int) -> Point:
        return left + column * wide, bottom - (row + 1) * tall

    def spot(row: int, column: int) -> Point:  # below the number
        x, y = corner(row, column)
        return x + 0.84 * wide, y + 0.8 * tall

    small = wide < 24 or tall < 12
    shapes = (
        _pixels(values, (left, top), (right - left, bottom - top)) if small else _boxes(values, corner, (wide, tall))
    )
    for i, name in enumerate(across):
        place = left + (i + 0.5) * (right - left) / len(across)
        if turned:
            shapes.append(Text((place, bottom + 5), name, 10.0, "muted", anchor="end", angle=90.0))
        else:
            shapes.append(Text((place, bottom + 11), name, 10.0, "muted", anchor="middle"))
    for i, name in enumerate(up):
        place = bottom - (i + 0.5) * (bottom - top) / len(up)
        shapes.append(Text((left - 6, place), name, 10.0, "muted", anchor="end"))
    shapes.append(Text(((left + right) / 2, bottom + below + 11), x_label, 12.0, anchor="middle"))
    shapes.append(Text((11, (top + bottom) / 2), y_label, 12.0, anchor="middle", angle=90.0))
    for cell in tried:
        x, y = corner(*cell)
        box = (x + 2.5, y + 2.5), (wide - 5, tall - 5)
        shapes.append(Rectangle(*box, None, Stroke("line2", 1.6, (4, 2)), 2.0) if not small
                      else Rectangle((x, y), (wide, tall), None, Stroke("line2", 1.2)))  # fmt: skip
    if len(moves) > 1:
        shapes.append(Path(tuple(spot(*cell) for cell in moves), Stroke("line2", 2.4), arrow="end"))
    if best is not None:
        x, y = corner(*best)
        shapes.append(Rectangle((x - 1, y - 1), (wide + 2, tall + 2), None, Stroke("accent", 3.0), 3.0))
    shapes += _legend(left, right, bottom + below + 29, slim=slim)
    name = "validation accuracy of each network"
    slimmer = partial(cell_map, **{**given, "width": NARROW, "height": 320.0}) if width > FROM else None
    return Scene(width, height, tuple(shapes), name, narrower=slimmer)


def _boxes(values: Sequence[Sequence[float | None]], corner: Any, size: Point) -> list[Shape]:
    shapes: list[Shape] = []
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            x, y = corner(i, j)
            box, place = (x + 1, y + 1), (x + size[0] / 2, y + size[1] / 2)
            if value is None or math.isnan(value):
                shapes.append(Rectangle(box, (size[0] - 2, size[1] - 2), "grid", None, 3.0, 0.5))
                words, color = ("", "muted") if value is None else ("×", "line2")
            else:
                share = shade(value)
                shapes.append(Rectangle(box, (size[0] - 2, size[1] - 2), _hex(share), None, 3.0))
                words, color = f"{100 * value:.1f}", letters_on(_hex(share))
            if words:
                shapes.append(Text(place, words, 10.0, color, anchor="middle"))
    return shapes


def _pixels(values: Sequence[Sequence[float | None]], corner: Point, size: Point) -> list[Shape]:
    gray = (150, 150, 150)
    rows = [[gray if v is None or math.isnan(v) else amount(shade(v)) for v in row] for row in reversed(values)]
    return [Picture(corner, size, rows)]


def _legend(left: float, right: float, y: float, *, slim: bool) -> list[Shape]:
    """Draw what the colors mean; in a narrow place the words stand above the colors."""
    shapes: list[Shape] = [Text((left, y + 5), "validation accuracy", 10.0, "muted")]
    start, y = (left, y + 16) if slim else (left + 112, y)
    shapes += [
        Picture((start, y), (right - start, 9.0), [[amount((i + 0.5) / 64) for i in range(64)]]),
    ]
    for tick in TICKS[::2] if slim else TICKS:
        place = start + (right - start) * shade(tick)
        anchor: Any = "start" if tick == TICKS[0] else "end" if tick == TICKS[-1] else "middle"
        shapes.append(Text((place, y + 18), f"{tick:.0%}", 9.0, "muted", anchor=anchor))
    return shapes
