"""The drawing of the page on backpropagation."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from math import hypot
from typing import Any

from lamina.drawing.scene import FROM, Circle, Path, Scene, Shape, Stroke, Text


def counted_network(
    widths: Sequence[int],
    values: Sequence[Sequence[str]],
    below: Sequence[Sequence[str]],
    weights: Sequence[Sequence[Sequence[str]]],
    biases: Sequence[Sequence[str]],
    *,
    sums: Sequence[int] = (),
    active: Sequence[int] = (),
    passed: Sequence[int] = (),
    column: float = 188.0,
) -> Scene:
    """Draw a small network with numbers: in each node its value and its bias, below it a gradient, on arrows weights.

    The titles of the shapes are what `hands_of` calls them; the nodes of layers in `sums` show z, the others y.

    >>> counted_network((1, 1), [["1"], ["2"]], [[""], ["0.5"]], [[["2"]]], [["-1"]]).title
    'network with numbers'
    """
    given = locals().copy()
    row, radius = 112.0, 34.0
    tall = max(widths) * row + 20
    spots = [
        [(44 + layer * column, (tall - (width - 1) * row) / 2 + node * row - 6) for node in range(width)]
        for layer, width in enumerate(widths)
    ]
    shapes: list[Shape] = []
    for place, (left, right) in enumerate(pairwise(spots)):
        shapes += _arrows(left, right, weights[place], radius, place in passed, place)
    for layer, (nodes, words, under) in enumerate(zip(spots, values, below, strict=True)):
        role = "input" if layer == 0 else "output" if layer == len(widths) - 1 else "hidden"
        for node, (spot, word, gradient) in enumerate(zip(nodes, words, under, strict=True)):
            thick = 3.4 if layer in active else 1.4
            title, up = f"y[{layer}]({node + 1})", 0 if layer == 0 else 7
            shapes.append(Circle(spot, radius, f"{role}!16", Stroke(role, thick), title=title))
            shapes.append(Text((spot[0], spot[1] - up), word or " ", 12, "ink", "middle", bold=True, title=title))
            if layer:
                where = f"b[{layer - 1}]({node + 1})"
                shapes.append(Text((spot[0] - 17, spot[1] + 11), "$b$", 11, "ink", "middle"))
                shapes.append(
                    Text((spot[0] + 4, spot[1] + 11), biases[layer - 1][node], 11, "ink", "middle", title=where)
                )
            name = f"${'z' if layer in sums else 'y'}_{{{node + 1}}}^{{[{layer}]}}$"
            shapes.append(Text((spot[0], spot[1] - radius - 11), name, 11, "muted", "middle"))
            if gradient:
                shapes.append(Text((spot[0], spot[1] + radius + 12), gradient, 12, "accent", "middle", bold=True))
    wide = 88 + (len(widths) - 1) * column
    slim = partial(counted_network, **{**given, "column": 122.0}) if wide > FROM and column > 122 else None
    return Scene(wide, tall, tuple(shapes), "network with numbers", narrower=slim)


def _arrows(
    left: Sequence[tuple[float, float]],
    right: Sequence[tuple[float, float]],
    words: Sequence[Sequence[str]],
    radius: float,
    used: bool,
    layer: int,
) -> list[Shape]:
    """Draw the arrows between two layers, each with its weight near its start so that crossings stay readable."""
    shapes: list[Shape] = []
    labels: list[Shape] = []
    for i, (u, v) in enumerate(right):
        for j, (x, y) in enumerate(left):
            word = words[i][j]
            start, end = (x + radius, y), (u - radius - 2, v)
            stroke = Stroke("accent" if used else "arrow", 2.4 if used else 1.2, opacity=1.0 if used else 0.75)
            title = f"W[{layer}]({i + 1},{j + 1})"
            shapes.append(Path((start, end), stroke, "end", title=title))
            if word:
                dx, dy = end[0] - start[0], end[1] - start[1]
                share = 0.5 if abs(dy) < 1 else 0.3 if dx > 100 else 0.25 if dy > 0 else 0.4  # beside no other line
                away = (9.0 + 6.0 * abs(dy) / hypot(dx, dy)) / hypot(dx, dy)
                at = (start[0] + share * dx + away * dy, start[1] + share * dy - away * dx)
                labels.append(Text(at, word, 12, "ink", "middle", title=title))
    return [*shapes, *labels]


def hands_of(
    inputs: Sequence[float],
    weights: Sequence[Sequence[Sequence[float]]],
    biases: Sequence[Sequence[float]],
    shown: Sequence[str],
    into: str,
) -> dict[str, Any]:
    """Let weights and biases be changed where they stand, and nodes say the sum they are made of.

    Args:
        inputs: the sample.
        weights: those of the network.
        biases: those of the network.
        shown: what the nodes of each layer show: an activation of the sum, "identity" for the sum, "" for nothing yet.
        into: the widget that lists changes.

    >>> found = hands_of([1.0], [[[2.0]]], [[3.0]], ["tanh"], "changes")
    >>> found["y[1](1)"]["sum"], found["b[0](1)"]["edit"]["key"]
    ([['W[0](1,1)', 'y[0](1)'], ['b[0](1)', 1]], 'b0 1')
    """
    hands: dict[str, Any] = {f"y[0]({j})": {"value": value} for j, value in enumerate(inputs, 1)}
    for layer, (matrix, vector, then) in enumerate(zip(weights, biases, shown, strict=True)):
        for i, (row, bias) in enumerate(zip(matrix, vector, strict=True), 1):
            hands[f"b[{layer}]({i})"] = {"value": bias, "edit": {"into": into, "key": f"b{layer} {i}"}}
            for j, weight in enumerate(row, 1):
                place = {"into": into, "key": f"W{layer} {i} {j}"}
                hands[f"W[{layer}]({i},{j})"] = {"value": weight, "edit": place}
            pairs: list[list[Any]] = [[f"W[{layer}]({i},{j})", f"y[{layer}]({j})"] for j in range(1, len(row) + 1)]
            node = {"name": f"z[{layer + 1}]({i})", "sum": [*pairs, [f"b[{layer}]({i})", 1]]}
            hands[f"y[{layer + 1}]({i})"] = {**node, "then": then} if then else {**node, "shown": False}
    return hands
