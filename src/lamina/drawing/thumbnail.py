"""A drawing as a small picture beside its name: no words, no grid, no legend, few points, in the colors of the page."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeVar

from lamina.drawing.scene import Box, Circle, Path, Picture, Polygon, Rectangle, Scene, Shape, Text, box
from lamina.drawing.svg import number, svg

FINEST, LONGEST, MOST = 24, 32, 70
"""The most pixels along a side of a picture, points of a line, and marks."""
_FALLBACK = re.compile(r"(var\(--[\w-]+), #[0-9a-f]{6}\)")
_ATTRIBUTES = re.compile(r' stroke-linejoin="round"| font-family="[^"]*"')
_PLACES = re.compile(r'(?<= )(points|d|cx|cy|r|x|y|width|height)="([^"]*)"')
_NUMBER = re.compile(r"-?\d+\.\d+")
_STYLE = re.compile(r' style="[^"]*"')
T = TypeVar("T")


def thumbnail(scene: Scene) -> str:
    """Write the main shapes of a scene as the markup of a small picture, which says nothing to a screen reader.

    Of charts what lies in their axes is kept, of other drawings everything but words and tooltips.

    >>> from lamina.drawing.charts import Series, chart
    >>> small = thumbnail(chart([Series("loss", [0, 1, 2], [3, 1, 2])], x_label="epoch"))
    >>> small.count("<polyline"), "<text" in small, "epoch" in small
    (2, False, False)
    """
    plots = [_inner(shape) for shape in scene.shapes if _is_axes(shape)]
    kept: list[Shape] = [
        shape for shape in scene.shapes if not (isinstance(shape, Text) or _is_grid(shape) or _is_swatch(shape))
    ]
    if plots:
        kept = [shape for shape in kept if any(_within(box(shape), plot) for plot in plots)]
    kept = _fewer([_plain(shape) for shape in kept])
    boxes = [box(shape) for shape in kept]
    left, top = min(b[0] for b in boxes), min(b[1] for b in boxes)
    right, bottom = max(b[2] for b in boxes), max(b[3] for b in boxes)
    drawn = svg(Scene(scene.width, scene.height, tuple(kept), scene.title), "page").splitlines()[2:-1]
    finer = 0 if right - left > 250 else 1
    body = "".join(_grouped(_ATTRIBUTES.sub("", _FALLBACK.sub(r"\1)", line)) for line in drawn))
    body = _PLACES.sub(lambda found: f'{found[1]}="{_rounded(found[2], finer)}"', body)
    view = " ".join(number(round(length, 1)) for length in (left, top, right - left, bottom - top))
    return f'<svg class="thumb" viewBox="{view}" aria-hidden="true">{body}</svg>'


def _rounded(places: str, digits: int) -> str:
    """Round the numbers of an attribute.

    >>> _rounded("1.26,7 -0.04,2.5", 1)
    '1.3,7 0,2.5'
    """
    return _NUMBER.sub(lambda found: number(round(float(found[0]), digits)), places)


def _grouped(lines: Iterable[str]) -> Iterator[str]:
    """Say a style once for neighbors that share it.

    >>> "".join(_grouped(['<a style="fill:red" x="1"/>', '<a style="fill:red" x="2"/>']))
    '<g style="fill:red"><a x="1"/><a x="2"/></g>'
    """
    for style, some in groupby(lines, key=lambda line: found[0] if (found := _STYLE.search(line)) else ""):
        several = list(some)
        if style and len(several) > 1:
            yield f"<g{style}>{''.join(_STYLE.sub('', line, count=1) for line in several)}</g>"
        else:
            yield from several


def _is_axes(shape: Shape) -> bool:
    if not isinstance(shape, Path) or len(shape.points) != 3:
        return False
    (left, top), (corner, bottom), (right, last) = shape.points
    return left == corner < right and top < bottom == last


def _inner(shape: Shape) -> Box:
    assert isinstance(shape, Path)
    return shape.points[0][0] - 12, shape.points[0][1] - 6, shape.points[2][0] + 8, shape.points[2][1] + 6


def _is_grid(shape: Shape) -> bool:
    return isinstance(shape, Path) and shape.stroke.color == "grid"


def _is_swatch(shape: Shape) -> bool:
    """Say whether a shape is one of the squares that explain colors."""
    return isinstance(shape, Rectangle) and not shape.title and max(shape.size) <= 14


def _within(inner: Box, outer: Box) -> bool:
    return inner[0] >= outer[0] and inner[1] >= outer[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def _plain(shape: Shape) -> Shape:
    """Take tooltips and what is finer than can be seen off a shape."""
    shape = replace(shape, title="")
    if isinstance(shape, Path) and not shape.curve:
        return replace(shape, points=tuple(_every(shape.points, LONGEST)))
    if isinstance(shape, Polygon):
        return replace(shape, points=tuple(_every(shape.points, 2 * LONGEST)))
    if isinstance(shape, Picture):
        rows = _every(shape.pixels, FINEST)
        return replace(shape, pixels=[_every(row, FINEST) for row in rows])
    return shape


def _every(items: Sequence[T], most: int) -> list[T]:
    """Keep at most so many items, evenly spaced, both ends among them.

    >>> _every([0, 1, 2, 3, 4, 5, 6], 3)
    [0, 3, 6]
    """
    if len(items) <= most:
        return list(items)
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]


def _fewer(shapes: list[Shape]) -> list[Shape]:
    """Leave out marks and short lines of which there are very many, evenly, and keep the order."""
    small = [place for place, shape in enumerate(shapes) if isinstance(shape, Circle | Rectangle) or _is_short(shape)]
    gone = set(small) - set(_every(small, MOST))
    return [shape for place, shape in enumerate(shapes) if place not in gone]


def _is_short(shape: Shape) -> bool:
    return isinstance(shape, Path) and len(shape.points) <= 3 and shape.stroke.width < 1.5
