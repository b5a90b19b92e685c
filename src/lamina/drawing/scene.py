"""A scene: plain shapes and texts on a sheet, before any file format.

Lengths are points, x grows to the right and y grows downward from the top left corner. Shapes are painted in their
order. Everything is frozen and holds numbers and words only, so that a scene can be compared, moved and tested; the
back ends (`svg`, `tikz`, `raster`) all draw the same scene.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from lamina._errors import ArgumentError, choice
from lamina.drawing.text import MIDDLE, layout

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
Pixels = Sequence[Sequence[float | Sequence[float]]]
Anchor = Literal["start", "middle", "end"]
Arrow = Literal["none", "end", "both"]
NARROW, FROM = 300.0, 340.0
"""The width in points for a phone or a narrow column, and the one from which a scene is drawn for it anew."""


@dataclass(frozen=True)
class Stroke:
    """How a line is drawn: its color (a role of `colors`, a mixture or "#rrggbb"), width, dashes and opacity."""

    color: str = "ink"
    width: float = 1.0
    dash: tuple[float, ...] = ()
    opacity: float = 1.0


@dataclass(frozen=True)
class Circle:
    """A disc with its border. `opacity` is that of the filling, `title` a tooltip."""

    center: Point
    radius: float
    fill: str | None = "paper"
    stroke: Stroke | None = Stroke()
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True)
class Rectangle:
    """A rectangle from its top left corner; `radius` rounds its corners."""

    corner: Point
    size: Point
    fill: str | None = "paper"
    stroke: Stroke | None = Stroke()
    radius: float = 0.0
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True)
class Polygon:
    """A closed polygon."""

    points: tuple[Point, ...]
    fill: str | None = "paper"
    stroke: Stroke | None = Stroke()
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True)
class Path:
    """An open line through points, with arrow heads at will.

    With `curve`, the points are a start and then triples: two control points and the end of each cubic Bezier piece.
    """

    points: tuple[Point, ...]
    stroke: Stroke = Stroke()
    arrow: Arrow = "none"
    curve: bool = False
    title: str = ""

    def __post_init__(self) -> None:
        choice("arrow", self.arrow, ("none", "end", "both"))
        if len(self.points) < 2 or (self.curve and len(self.points) % 3 != 1):
            raise ArgumentError(
                "`points` must be at least 2, or with `curve` a start and three points for each piece "
                f"(4, 7, 10, ...), got {len(self.points)}."
            )


@dataclass(frozen=True)
class Text:
    """Words and formulas (see `drawing.text`); `at` lies on the middle of their height, at the anchor's side.

    `angle` turns the text about `at` in degrees, counterclockwise as it is read.
    """

    at: Point
    content: str
    size: float = 12.0
    color: str = "ink"
    anchor: Anchor = "start"
    angle: float = 0.0
    bold: bool = False
    title: str = ""

    def __post_init__(self) -> None:
        choice("anchor", self.anchor, ("start", "middle", "end"))
        layout(self.content, self.size, self.bold)


@dataclass(frozen=True)
class Picture:
    """A raster image with sharp pixels: rows of gray values, of red, green, blue, or of these and opacity, 0..255."""

    corner: Point
    size: Point
    pixels: Pixels
    title: str = ""

    def __post_init__(self) -> None:
        lengths = {len(row) for row in self.pixels}
        if len(lengths) != 1 or not lengths.pop():
            raise ArgumentError(
                f"`pixels` must be rows of one length, got lengths {sorted({len(r) for r in self.pixels})}."
            )


Shape = Circle | Rectangle | Polygon | Path | Text | Picture


@dataclass(frozen=True, repr=False)
class Scene:
    """A sheet of `width` by `height` points with shapes; `title` and `description` are read aloud by screen readers.

    `narrower` draws the same for a narrow place, where this one would have to be shown with too small letters.
    """

    width: float
    height: float
    shapes: tuple[Shape, ...]
    title: str
    description: str = ""
    narrower: "Callable[[], Scene] | None" = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ArgumentError(f"`{name}` must be a positive number of points, got {value!r}.")

    def __repr__(self) -> str:
        return f"Scene({self.title!r}, {self.width:.0f} x {self.height:.0f} points, {len(self.shapes)} shapes)"

    def _repr_svg_(self) -> str:
        from lamina.drawing.svg import svg

        return svg(self)

    def moved(self, dx: float, dy: float) -> "Scene":
        """Move every shape; the sheet stays."""
        return replace(self, shapes=tuple(moved(shape, dx, dy) for shape in self.shapes))


def narrowed(draw: Callable[..., Scene], given: Mapping[str, Any]) -> Callable[[], Scene] | None:
    """Say how a function that takes `width` and `height` draws the same for a narrow place; None where it fits there.

    >>> narrowed(Scene, {"width": 600, "height": 450, "shapes": (), "title": "a sheet"})()
    Scene('a sheet', 300 x 250 points, 0 shapes)
    """
    width, height = given["width"], given["height"]
    if width <= FROM:
        return None
    tall = max(height * NARROW / width, min(height, 250.0))
    return partial(draw, **{**given, "width": NARROW, "height": tall})


def moved(shape: Shape, dx: float, dy: float) -> Shape:
    """Move a shape.

    >>> moved(Circle((1, 2), 3), 10, 0).center
    (11.0, 2.0)
    """
    if isinstance(shape, Path | Polygon):
        return replace(shape, points=tuple((x + float(dx), y + float(dy)) for x, y in shape.points))
    place = "center" if isinstance(shape, Circle) else "at" if isinstance(shape, Text) else "corner"
    x, y = getattr(shape, place)
    return replace(shape, **{place: (x + float(dx), y + float(dy))})  # type: ignore[arg-type]


def text_box(text: Text) -> Box:
    """Measure the box of a text: left, top, right, bottom."""
    runs = layout(text.content, text.size, text.bold)
    width = max((run.x + run.width for run in runs), default=0.0)
    left = {"start": 0.0, "middle": -width / 2, "end": -width}[text.anchor]
    base = MIDDLE * text.size
    top = base - max((run.extent[0] for run in runs), default=0.0)
    bottom = base + max((run.extent[1] for run in runs), default=0.0)
    turn = math.radians(text.angle)
    cos, sin = math.cos(turn), math.sin(turn)
    corners = [(x * cos + y * sin, y * cos - x * sin) for x in (left, left + width) for y in (top, bottom)]
    xs, ys = [text.at[0] + x for x, _ in corners], [text.at[1] + y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


def box(shape: Shape) -> Box:
    """Give the box of a shape: left, top, right, bottom, with its border and arrow heads.

    >>> box(Rectangle((1, 1), (4, 2), stroke=None))
    (1, 1, 5, 3)
    """
    if isinstance(shape, Text):
        return text_box(shape)
    if isinstance(shape, Circle):
        (x, y), half = shape.center, shape.radius + (shape.stroke.width / 2 if shape.stroke else 0.0)
        return x - half, y - half, x + half, y + half
    if isinstance(shape, Rectangle | Picture):
        (x, y), (w, h) = shape.corner, shape.size
        points: Sequence[Point] = ((x, y), (x + w, y + h))
    else:
        points = outline(shape) if isinstance(shape, Path) else shape.points
    stroke = None if isinstance(shape, Picture) else shape.stroke
    edge = stroke.width / 2 if stroke else 0
    if isinstance(shape, Path) and shape.arrow != "none":
        edge = max(edge, _head_size(shape.stroke)[1] / 2)
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs) - edge, min(ys) - edge, max(xs) + edge, max(ys) + edge


def outline(path: Path, steps: int = 16) -> list[Point]:
    """Follow a path as straight pieces; curves become `steps` pieces each."""
    if not path.curve:
        return list(path.points)
    found = [path.points[0]]
    for place in range(0, len(path.points) - 1, 3):
        a, b, c, d = path.points[place : place + 4]
        for step in range(1, steps + 1):
            t = step / steps
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            pairs = tuple(zip(weights, (a, b, c, d), strict=True))
            found.append((sum(w * p[0] for w, p in pairs), sum(w * p[1] for w, p in pairs)))
    return found


def _head_size(stroke: Stroke) -> Point:
    """Give the length and the width of an arrow head for a line."""
    return 3.6 + 2.4 * stroke.width, 2.6 + 2.0 * stroke.width


def _unit(start: Point, end: Point) -> Point:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    return dx / length, dy / length


def _head(points: Sequence[Point], stroke: Stroke) -> tuple[Point, tuple[Point, Point, Point]]:
    """Put a head on the last of `points`: where the line now ends, and the triangle."""
    tip = points[-1]
    before = next((p for p in reversed(points) if p != tip), tip)
    (ux, uy), (length, width) = _unit(before, tip), _head_size(stroke)
    x, y = tip[0] - length * ux, tip[1] - length * uy
    left, right = (x - uy * width / 2, y + ux * width / 2), (x + uy * width / 2, y - ux * width / 2)
    return (x + 0.2 * length * ux, y + 0.2 * length * uy), (tip, left, right)


def _arrow_parts(path: Path) -> tuple[tuple[Point, ...], tuple[tuple[Point, Point, Point], ...]]:
    """Split a path into its line, shortened, and the triangles of its heads."""
    points, heads = list(path.points), []
    if path.arrow != "none":
        end, head = _head(path.points, path.stroke)
        points[-1] = end
        heads.append(head)
    if path.arrow == "both":
        start, head = _head(path.points[::-1], path.stroke)
        points[0] = start
        heads.append(head)
    return tuple(points), tuple(heads)


def fitted(shapes: Iterable[Shape], *, title: str, description: str = "", margin: float = 8.0) -> Scene:
    """Make the scene whose sheet fits tightly around shapes.

    >>> scene = fitted([Circle((0, 0), 10, stroke=None)], title="a disc", margin=5)
    >>> scene.width, scene.shapes[0].center
    (30.0, (15.0, 15.0))
    """
    shapes = tuple(shapes)
    if not shapes:
        raise ArgumentError("`shapes` must hold at least 1 shape, got 0: an empty scene has no size.")
    boxes = [box(shape) for shape in shapes]
    left, top = min(b[0] for b in boxes) - margin, min(b[1] for b in boxes) - margin
    right, bottom = max(b[2] for b in boxes) + margin, max(b[3] for b in boxes) + margin
    return Scene(right - left, bottom - top, shapes, title, description).moved(-left, -top)


def beside(*scenes: Scene, gap: float = 24.0, align: str = "middle", title: str = "", description: str = "") -> Scene:
    """Put scenes next to each other, from left to right.

    >>> one = fitted([Circle((0, 0), 10, stroke=None)], title="a disc", margin=0)
    >>> beside(one, one, gap=4).width
    44.0
    """
    choice("align", align, ("top", "middle", "bottom"))
    made = _in_line(scenes, gap, _SHARES[align], title, description, down=False)
    below = partial(_below, scenes, gap, made.title, made.description)
    return replace(made, narrower=below) if made.width > FROM and len(scenes) > 1 else made


def _below(scenes: Sequence[Scene], gap: float, title: str, description: str) -> Scene:
    """Put scenes below each other instead, each as narrow as it can be drawn."""
    slim = [scene.narrower() if scene.narrower else scene for scene in scenes]
    return _in_line(slim, gap, 0.5, title, description, down=True)


def stacked(*scenes: Scene, gap: float = 16.0, align: str = "middle", title: str = "", description: str = "") -> Scene:
    """Put scenes below each other, from top to bottom.

    >>> one = fitted([Circle((0, 0), 10, stroke=None)], title="a disc", margin=0)
    >>> stacked(one, one, gap=4).height
    44.0
    """
    choice("align", align, ("left", "middle", "right"))
    made = _in_line(scenes, gap, _SHARES[align], title, description, down=True)
    slimmer = any(scene.narrower for scene in scenes)
    return replace(made, narrower=partial(_below, scenes, gap, made.title, made.description)) if slimmer else made


_SHARES = {"top": 0.0, "left": 0.0, "middle": 0.5, "bottom": 1.0, "right": 1.0}


def _in_line(scenes: Sequence[Scene], gap: float, share: float, title: str, description: str, *, down: bool) -> Scene:
    width, height = max(scene.width for scene in scenes), max(scene.height for scene in scenes)
    at, shapes = 0.0, list[Shape]()
    for scene in scenes:
        place = (share * (width - scene.width), at) if down else (at, share * (height - scene.height))
        shapes.extend(scene.moved(*place).shapes)
        at += (scene.height if down else scene.width) + gap
    size = (width, at - gap) if down else (at - gap, height)
    return Scene(*size, tuple(shapes), title or _joined(scenes), description or _descriptions(scenes))


def _joined(scenes: Sequence[Scene]) -> str:
    return "; ".join(dict.fromkeys(s.title for s in scenes if s.title))


def _descriptions(scenes: Sequence[Scene]) -> str:
    return " ".join(dict.fromkeys(s.description for s in scenes if s.description))
