"""A nerve cell as a schematic: dendrites receive, the cell body gathers, the axon sends."""

import math
from collections.abc import Sequence

from lamina.drawing.scene import Circle, Path, Point, Polygon, Scene, Shape, Stroke, Text, fitted

_DENDRITES = (
    # direction in degrees (0 is right, 90 is up), length, and how it bends on the way
    (100, 88, -14),
    (138, 96, 12),
    (172, 104, -12),
    (208, 98, 14),
    (246, 90, -12),
    (58, 66, 16),
    (298, 66, -16),
)
_SOMA = (0.0, 0.0)


def neuron(*, labels: bool = True) -> Scene:
    """Draw a biological neuron in the colors of the networks: green where inputs arrive, red where the output leaves.

    Notes: N1.01 (§1, Fig. 1).

    Args:
        labels: name the parts.

    >>> words = [shape.content for shape in neuron().shapes if hasattr(shape, "content")]
    >>> {"dendrites", "cell body", "axon"} <= set(words)
    True
    """
    limbs = [(limb, "input") for angle, length, bend in _DENDRITES for limb in _dendrite(angle, length, bend)]
    limbs += [(limb, "output") for limb in _axon()]
    body = _body()
    shapes: list[Shape] = [Polygon(points, None, Stroke(f"{role}!60!ink", 2.2)) for points, role in limbs]
    shapes.append(Polygon(body, None, Stroke("hidden!40!ink", 2.2)))
    shapes += [Polygon(points, f"{role}!45", None, title=_TITLES[role]) for points, role in limbs]
    shapes += _sheaths()
    shapes.append(Polygon(body, "hidden!28", None, title="cell body"))
    shapes.append(Circle((-3, 2), 13, "hidden!55", Stroke("hidden!60!ink", 1.0), title="nucleus"))
    shapes.append(Circle((-6, -1), 4.5, "hidden!80", None))
    shapes += _terminals()
    if labels:
        shapes += _labels()
    words = "Dendrites receive electrical inputs, the cell body gathers them, the axon sends the output to other cells."
    return fitted(shapes, title="Biological neuron", description=words)


_TITLES = {"input": "dendrite", "output": "axon"}


def _turned(angle: float, length: float, start: Point = _SOMA) -> Point:
    """Go from a point in a direction; angles count as one reads them, up being 90 degrees."""
    return start[0] + length * math.cos(math.radians(angle)), start[1] - length * math.sin(math.radians(angle))


def _bezier(points: Sequence[Point], t: float) -> Point:
    a, b, c, d = points
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    pairs = tuple(zip(weights, (a, b, c, d), strict=True))
    return sum(w * p[0] for w, p in pairs), sum(w * p[1] for w, p in pairs)


def _limb(line: Sequence[Point], first: float, last: float, steps: int = 14) -> tuple[Point, ...]:
    """Give a curve a width that shrinks from `first` to `last`: the outline as a polygon."""
    spots = [_bezier(line, k / steps) for k in range(steps + 1)]
    left, right = [], []
    for k, (x, y) in enumerate(spots):
        (ax, ay), (bx, by) = spots[max(k - 1, 0)], spots[min(k + 1, steps)]
        length = math.hypot(bx - ax, by - ay) or 1.0
        half = (first + (last - first) * k / steps) / 2
        nx, ny = -(by - ay) / length * half, (bx - ax) / length * half
        left.append((x + nx, y + ny))
        right.append((x - nx, y - ny))
    return (*left, *reversed(right))


def _dendrite(angle: float, length: float, bend: float) -> list[tuple[Point, ...]]:
    """Draw a trunk that leaves the body and forks twice, each branch thinner than the one before."""
    found = []
    start, fork = _turned(angle, 20), _turned(angle, length)
    trunk = (start, _turned(angle + bend, 0.45 * length), _turned(angle - bend, 0.75 * length), fork)
    found.append(_limb(trunk, 11, 4.6))
    for side, share in ((24, 0.52), (-26, 0.46)):
        tip = _turned(angle + side, share * length, fork)
        near = _turned(angle + 0.2 * side, 0.2 * length, fork)
        found.append(_limb((fork, near, _turned(angle + side, 0.3 * length, fork), tip), 4.6, 1.4))
    middle = _bezier(trunk, 0.62)
    tip = _turned(angle - 1.8 * bend - 18 * math.copysign(1, bend), 0.42 * length, middle)
    found.append(_limb((middle, _turned(angle, 9, middle), _turned(angle - 2 * bend, 24, middle), tip), 4.0, 1.2))
    return found


def _body() -> tuple[Point, ...]:
    """Give the cell body the shape of a rounded star, with a tip at each dendrite and a cone toward the axon."""
    found = []
    for step in range(180):
        angle = 2.0 * step
        pull = max(math.exp(-((_apart(angle, a) / 11) ** 2)) for a, _, _ in _DENDRITES)
        cone = math.exp(-((_apart(angle, 0.0) / 15) ** 2))
        found.append(_turned(angle, 30 + 9 * pull + 16 * cone))
    return tuple(found)


def _apart(one: float, two: float) -> float:
    return abs((one - two + 180) % 360 - 180)


_AXON = ((36.0, 0.0), (130.0, 2.0), (230.0, 34.0), (350.0, 10.0))
_ENDS = ((42, 66), (14, 74), (-14, 74), (-44, 66))


def _axon() -> list[tuple[Point, ...]]:
    """Draw the axon and the branches at its end."""
    end = _AXON[-1]
    found = [_limb(_AXON, 13, 6, steps=28)]
    for angle, length in _ENDS:
        near, far = _turned(0.2 * angle, 22, end), _turned(angle, 0.6 * length, end)
        found.append(_limb((end, near, far, _turned(angle, length, end)), 5.6, 2.4))
    return found


def _sheaths() -> list[Shape]:
    """Draw the sheaths around the axon, with gaps between them."""
    found: list[Shape] = []
    for start in (0.17, 0.35, 0.53, 0.71):
        spots = [_bezier(_AXON, start + 0.14 * k / 3) for k in range(4)]
        a, d = spots[0], spots[3]
        b = (a[0] + (d[0] - a[0]) / 3, a[1] + (d[1] - a[1]) / 3)
        c = (a[0] + 2 * (d[0] - a[0]) / 3, a[1] + 2 * (d[1] - a[1]) / 3)
        outline = _rounded((a, b, c, d), 19.0)
        found.append(Polygon(outline, "output!14", Stroke("output!60!ink", 1.1), title="sheath"))
    return found


def _rounded(line: Sequence[Point], width: float) -> tuple[Point, ...]:
    """Give a short straight piece round ends: a pill."""
    (ax, ay), (dx, dy) = line[0], line[3]
    turn = math.degrees(math.atan2(-(dy - ay), dx - ax))
    half = width / 2
    inner_a, inner_d = _turned(turn, 5, (ax, ay)), _turned(turn + 180, 5, (dx, dy))
    ends = [_squashed(inner_d, turn, angle, half) for angle in range(-90, 91, 15)]
    ends += [_squashed(inner_a, turn, angle, half) for angle in range(90, 271, 15)]
    return tuple(ends)


def _squashed(center: Point, turn: float, angle: float, half: float) -> Point:
    along, across = 5 * math.cos(math.radians(angle)), half * math.sin(math.radians(angle))
    return _turned(turn + 90, across, _turned(turn, along, center))


def _terminals() -> list[Shape]:
    tips = [_turned(angle, length, _AXON[-1]) for angle, length in _ENDS]
    return [Circle(tip, 5.5, "output!60", Stroke("output!60!ink", 1.1), title="terminal") for tip in tips]


def _labels() -> list[Shape]:
    found: list[Shape] = []
    named = (
        ("dendrites", (-112, -158), ((-106, -147), (-92, -110))),
        ("cell body", (118, -64), ((92, -54), (37, -17))),
        ("axon", (206, -34), ((206, -24), (206, 8))),
        ("axon terminals", (412, -80), ((412, -70), (404, -42))),
    )
    for words, at, line in named:
        found.append(Path(line, Stroke("muted", 1.0)))
        found.append(Text(at, words, 15.0, anchor="middle"))
    green, red = Stroke("input", 2.4), Stroke("output", 2.4)
    found.append(Text((-236, 0), "inputs", 15.0, "input!80!ink", "end"))
    found.append(Path(((-228, 0), (-176, 0)), green, "end"))
    found.append(Path(((438, 10), (482, 10)), red, "end"))
    found.append(Text((490, 10), "output", 15.0, "output!80!ink"))
    return found
