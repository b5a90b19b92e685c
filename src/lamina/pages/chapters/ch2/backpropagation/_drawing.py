"""The drawing of the page on backpropagation."""

from collections.abc import Sequence
from itertools import pairwise
from math import hypot

from lamina.drawing.scene import Circle, Path, Scene, Shape, Stroke, Text


def counted_network(
    widths: Sequence[int],
    values: Sequence[Sequence[str]],
    below: Sequence[Sequence[str]],
    weights: Sequence[Sequence[Sequence[str]]],
    *,
    active: Sequence[int] = (),
    passed: Sequence[int] = (),
) -> Scene:
    """Draw a small network with numbers: in each node its value, below it another one, on each arrow its weight.

    >>> counted_network((1, 1), [["1"], ["2"]], [[""], ["0.5"]], [[["2"]]]).title
    'network with numbers'
    """
    column, row, radius = 168.0, 98.0, 25.0
    tall = max(widths) * row + 24
    spots = [
        [(44 + layer * column, (tall - (width - 1) * row) / 2 + node * row - 6) for node in range(width)]
        for layer, width in enumerate(widths)
    ]
    shapes: list[Shape] = []
    for place, (left, right) in enumerate(pairwise(spots)):
        shapes += _arrows(left, right, weights[place], radius, place in passed)
    for layer, (nodes, words, under) in enumerate(zip(spots, values, below, strict=True)):
        role = "input" if layer == 0 else "output" if layer == len(widths) - 1 else "hidden"
        for node, (spot, word, gradient) in enumerate(zip(nodes, words, under, strict=True)):
            thick = 3.4 if layer in active else 1.4
            shapes.append(Circle(spot, radius, f"{role}!16", Stroke(role, thick)))
            shapes.append(Text(spot, word, 12, "ink", "middle"))
            name = f"$y_{{{node + 1}}}^{{[{layer}]}}$"
            shapes.append(Text((spot[0], spot[1] - radius - 11), name, 11, "muted", "middle"))
            if gradient:
                shapes.append(Text((spot[0], spot[1] + radius + 12), gradient, 12, "accent", "middle", bold=True))
    return Scene(88 + (len(widths) - 1) * column, tall, tuple(shapes), "network with numbers")


def _arrows(
    left: Sequence[tuple[float, float]],
    right: Sequence[tuple[float, float]],
    words: Sequence[Sequence[str]],
    radius: float,
    used: bool,
) -> list[Shape]:
    """Draw the arrows between two layers, each with its weight near its end so that crossings stay readable."""
    shapes: list[Shape] = []
    labels: list[Shape] = []
    for i, (u, v) in enumerate(right):
        for j, (x, y) in enumerate(left):
            word = words[i][j]
            start, end = (x + radius, y), (u - radius - 2, v)
            stroke = Stroke("accent" if used else "arrow", 2.4 if used else 1.2, opacity=1.0 if used else 0.75)
            shapes.append(Path((start, end), stroke, "end"))
            if word:
                share = 0.3 if len(left) > 1 or len(right) > 1 else 0.5
                dx, dy = end[0] - start[0], end[1] - start[1]
                away = (9.0 + 6.0 * abs(dy) / hypot(dx, dy)) / hypot(dx, dy)
                at = (start[0] + share * dx + away * dy, start[1] + share * dy - away * dx)
                labels.append(Text(at, word, 10.5, "ink", "middle"))
    return [*shapes, *labels]
