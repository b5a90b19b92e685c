"""The parts that drawings share: labeled nodes and boxes, small operation circles, and arrows between their borders.

A `Board` collects shapes in the order of painting. What it puts down is a `Spot`, from whose border arrows start and at
whose border they end; an arrow's tooltip names its two ends, so that a drawing can be read back as a graph.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from lamina._errors import choice
from lamina.drawing.scene import Circle, Path, Point, Rectangle, Scene, Shape, Stroke, Text, fitted
from lamina.drawing.text import width

LINE = 1.2
"""The width of arrows and borders."""
JOINTS = ("concatenate", "product", "sum", "one minus")


@dataclass(frozen=True)
class Spot:
    """Where a part stands: its name, its center and half its width and height; round parts are circles."""

    name: str
    center: Point
    half: Point
    round: bool = False

    def border(self, toward: Point, gap: float = 0.0) -> Point:
        """Give the point of the border in the direction of another point, `gap` points further out."""
        (x, y), (dx, dy) = self.center, (toward[0] - self.center[0], toward[1] - self.center[1])
        length = math.hypot(dx, dy) or 1.0
        ux, uy = dx / length, dy / length
        reach = self.half[0] if self.round else min(h / abs(u) for h, u in zip(self.half, (ux, uy), strict=True) if u)
        return x + (reach + gap) * ux, y + (reach + gap) * uy

    @property
    def left(self) -> Point:
        """The middle of the left border."""
        return self.center[0] - self.half[0], self.center[1]

    @property
    def right(self) -> Point:
        """The middle of the right border."""
        return self.center[0] + self.half[0], self.center[1]

    @property
    def top(self) -> Point:
        """The middle of the upper border."""
        return self.center[0], self.center[1] - self.half[1]

    @property
    def bottom(self) -> Point:
        """The middle of the lower border."""
        return self.center[0], self.center[1] + self.half[1]


class Board:
    """Collects the shapes of a drawing.

    >>> board = Board()
    >>> u, h = board.node((0, 0), "$u$", "input", name="u"), board.node((60, 0), "$h$", "hidden", name="h")
    >>> board.link(u, h).title
    'u to h'
    >>> board.scene("two nodes").title
    'two nodes'
    """

    def __init__(self) -> None:
        self.shapes: list[Shape] = []

    def add(self, *shapes: Shape) -> None:
        """Paint shapes on top of the others."""
        self.shapes.extend(shapes)

    def node(
        self,
        at: Point,
        label: str = "",
        role: str = "hidden",
        *,
        name: str = "",
        radius: float = 18.0,
        size: float = 12.0,
        shade: int = 20,
    ) -> Spot:
        """Put down a circle with a label, filled with `shade` percent of its role's color."""
        line, ink = (f"{role}!30!ink", f"{role}!20!ink") if role != "paper" else ("ink", "ink")
        self.add(Circle(at, radius, f"{role}!{shade}", Stroke(line, LINE), title=name))
        if label:
            self.text(at, label, size=size, color="#16181d" if shade >= 60 and role != "paper" else ink)
        return Spot(name, at, (radius, radius), round=True)

    def plate(
        self,
        at: Point,
        label: str,
        role: str = "paper",
        *,
        name: str = "",
        size: float = 12.0,
        shade: int = 15,
        wide: float | None = None,
        high: float = 26.0,
        radius: float = 3.0,
    ) -> Spot:
        """Put down a box around a label, as wide as the label needs or `wide`."""
        wide = _plate_width(label, size) if wide is None else wide
        fill, line = (f"{role}!{shade}", role) if role != "paper" else ("paper", "ink")
        corner = (at[0] - wide / 2, at[1] - high / 2)
        self.add(Rectangle(corner, (wide, high), fill, Stroke(line, 1.4), radius=radius, title=name))
        self.text(at, label, size=size)
        return Spot(name, at, (wide / 2, high / 2))

    def joint(self, at: Point, kind: str, *, name: str = "", radius: float = 9.0) -> Spot:
        """Put down a small circle that joins wires: white to concatenate, a dot to multiply, a plus to add, or 1 -."""
        choice("kind", kind, JOINTS)
        (x, y), line = at, Stroke("ink", LINE)
        radius = 11.0 if kind == "one minus" else radius
        self.add(Circle(at, radius, "paper", line, title=name))
        if kind == "product":
            self.add(Circle(at, 2.2, "ink", None))
        elif kind == "sum":
            arm = 0.6 * radius
            self.add(Path(((x - arm, y), (x + arm, y)), line), Path(((x, y - arm), (x, y + arm)), line))
        elif kind == "one minus":
            self.text(at, "1−", size=10.0)
        return Spot(name, at, (radius, radius), round=True)

    def text(
        self,
        at: Point,
        content: str,
        *,
        size: float = 12.0,
        color: str = "ink",
        anchor: str = "middle",
        bold: bool = False,
    ) -> None:
        """Write words."""
        self.add(Text(at, content, size, color, anchor, bold=bold))  # type: ignore[arg-type]

    def dot(self, at: Point) -> None:
        """Mark that a wire forks here."""
        self.add(Circle(at, 2.4, "arrow", None))

    def link(self, start: Spot, end: Spot, *, color: str = "arrow", line: float = LINE) -> Path:
        """Draw a straight arrow from border to border."""
        points = (start.border(end.center, 1.0), end.border(start.center, 1.5))
        return self.arrow(points, title=f"{start.name} to {end.name}", color=color, line=line)

    def arrow(
        self,
        points: Iterable[Point],
        *,
        title: str = "",
        color: str = "arrow",
        line: float = LINE,
        curve: bool = False,
    ) -> Path:
        """Draw an arrow through points."""
        path = Path(tuple(points), Stroke(color, line), "end", curve, title)
        self.add(path)
        return path

    def scene(self, title: str, description: str = "", margin: float = 8.0) -> Scene:
        """Return the scene around all shapes."""
        return fitted(self.shapes, title=title, description=description, margin=margin)


def _plate_width(label: str, size: float = 12.0, least: float = 34.0) -> float:
    """Give the width of a box around a label."""
    return max(least, width(label, size) + 16.0)


def edges(scene: Scene) -> list[tuple[str, str]]:
    """Read the named arrows of a drawing back as pairs (from, to), in the order of painting."""
    titles = [shape.title for shape in scene.shapes if isinstance(shape, Path) and " to " in shape.title]
    return [(title.split(" to ")[0], title.split(" to ")[1]) for title in titles]


def named(scene: Scene) -> list[str]:
    """List the names of the nodes and boxes of a drawing, in the order of painting."""
    return [shape.title for shape in scene.shapes if isinstance(shape, Circle | Rectangle) and shape.title]
