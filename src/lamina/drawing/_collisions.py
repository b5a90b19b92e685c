"""What a reader could not read: texts that overlap, leave the sheet, or are crossed or covered by shapes."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from lamina.drawing.scene import Box, Circle, Path, Picture, Point, Polygon, Rectangle, Scene, Shape, Text, box, outline

SLACK = 0.75
"""The number of points by which boxes may overlap: the ink of a letter hardly fills its box."""


def overlaps(scene: Scene, *, lines: bool = False) -> list[tuple[str, str]]:
    """List what is in the way of the texts of a scene, as pairs of a text and what it meets.

    A text must not overlap another text, leave the sheet, be crossed by the border of a shape that it is not inside of,
    or lie below a filled shape painted later. A filled shape behind a text shields it from what is painted before.

    Args:
        scene: what to look at.
        lines: also report paths that cross a text.

    >>> from lamina.drawing.scene import Scene, Text
    >>> overlaps(Scene(80, 20, (Text((4, 10), "one"), Text((16, 10), "two")), "too near"))
    [('one', 'two')]
    """
    found = []
    for place, shape in enumerate(scene.shapes):
        if isinstance(shape, Text) and shape.content.strip():
            here = _shrunk(box(shape))
            if here[0] < 0 or here[1] < 0 or here[2] > scene.width or here[3] > scene.height:
                found.append((shape.content, "the edge of the sheet"))
            found.extend((shape.content, name) for name in _met(scene.shapes, place, here, lines))
    return found


def _shrunk(given: Box) -> Box:
    return given[0] + SLACK, given[1] + SLACK, given[2] - SLACK, given[3] - SLACK


def _met(shapes: Sequence[Shape], place: int, here: Box, lines: bool) -> Iterator[str]:
    """Name what meets the text at `place`."""
    start = max((i for i, s in enumerate(shapes[:place]) if _shields(s, here)), default=0)
    for other, shape in enumerate(shapes[start:], start):
        match shape:
            case Text():
                if other > place and shape.content.strip() and _meet(here, _shrunk(box(shape))):
                    yield shape.content
            case Path():
                if lines and any(_crosses(a, b, here) for a, b in pairwise(outline(shape))):
                    yield "a path"
            case Picture():
                if other > place and _meet(here, box(shape)):
                    yield "a picture"
            case _:
                if _crossed(shape, here) or (other > place and shape.fill and _inside(shape, here)):
                    yield f"a {type(shape).__name__.lower()}"


def _shields(shape: Shape, here: Box) -> bool:
    if isinstance(shape, Text | Path | Picture):
        return False
    return bool(shape.fill) and shape.opacity == 1 and _inside(shape, here)


def _meet(one: Box, two: Box) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def _inside(shape: Circle | Rectangle | Polygon, here: Box) -> bool:
    """Say whether a text lies within a shape."""
    if isinstance(shape, Circle):
        return max(math.dist(shape.center, p) for p in _marks(here)) <= shape.radius
    if isinstance(shape, Rectangle):
        (x, y), (w, h) = shape.corner, shape.size
        return x <= here[0] and y <= here[1] and here[2] <= x + w and here[3] <= y + h
    return all(_within(p, shape.points) for p in _corners(here)) and not _crossed(shape, here)


def _crossed(shape: Circle | Rectangle | Polygon, here: Box) -> bool:
    """Say whether the border of a shape crosses a text."""
    if isinstance(shape, Circle):
        x, y = shape.center
        near = math.hypot(max(here[0] - x, 0, x - here[2]), max(here[1] - y, 0, y - here[3]))
        return near < shape.radius and not _inside(shape, here)
    if isinstance(shape, Rectangle):
        (x, y), (w, h) = shape.corner, shape.size
        return _meet(here, (x, y, x + w, y + h)) and not _inside(shape, here)
    closed = (*shape.points, shape.points[0])
    return any(_crosses(a, b, here) for a, b in pairwise(closed))


def _corners(here: Box) -> list[Point]:
    return [(x, y) for x in (here[0], here[2]) for y in (here[1], here[3])]


def _marks(here: Box) -> list[Point]:
    """Give the corners of a text's box, cut: letters do not fill them, and in a disc they stick out."""
    cut = 0.2 * min(here[2] - here[0], here[3] - here[1])
    xs, ys = ((here[0], cut), (here[2], -cut)), ((here[1], cut), (here[3], -cut))
    return [p for x, dx in xs for y, dy in ys for p in ((x + dx, y), (x, y + dy))]


def _within(point: Point, corners: Sequence[Point]) -> bool:
    x, y = point
    odd = False
    for (ax, ay), (bx, by) in pairwise((*corners, corners[0])):
        if (ay > y) != (by > y) and x < ax + (bx - ax) * (y - ay) / (by - ay):
            odd = not odd
    return odd


def _crosses(a: Point, b: Point, here: Box) -> bool:
    """Say whether the piece from `a` to `b` enters a box (Liang-Barsky)."""
    low, high = 0.0, 1.0
    for axis in (0, 1):
        step = b[axis] - a[axis]
        edges = here[axis] - a[axis], here[axis + 2] - a[axis]
        if step == 0:
            if not edges[0] < 0 < edges[1]:
                return False
            continue
        near, far = sorted((edges[0] / step, edges[1] / step))
        low, high = max(low, near), min(high, far)
    return low < high
