"""Drawings with live numbers for the pages of chapter 2."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import hypot

from lamina.drawing.axes import Axis, Range, axes, frame
from lamina.drawing.charts import Series, draw
from lamina.drawing.colors import channels
from lamina.drawing.heat_map import contour
from lamina.drawing.network import RADIUS, network
from lamina.drawing.scales import exact
from lamina.drawing.scene import Circle, Path, Picture, Rectangle, Scene, Shape, Stroke, Text

CLASS_COLORS = ("#2f6fd0", "#e0701a", "#2c9c5a", "#9a4fc0", "#c8a415", "#c23a5e", "#2aa5ad", "#6b7280")
"""The colors of classes, of points and of the plane behind them; they stand on light and dark pages alike."""
POSITIVE, NEGATIVE = "#cc1016", "#0b53c4"
_PALE = (246, 246, 243)

Grid = Sequence[Sequence[float]]


def mixed(color: str, share: float) -> tuple[int, int, int]:
    """Mix a share of a color with near white.

    >>> mixed("#000000", 1.0), mixed("#000000", 0.0)
    ((0, 0, 0), (246, 246, 243))
    """
    pairs = zip(channels(color), _PALE, strict=True)
    return tuple(round(share * a + (1 - share) * b) for a, b in pairs)  # type: ignore[return-value]


def signed_pixels(values: Grid) -> list[list[tuple[int, int, int]]]:
    """Color numbers from -1 (blue) over 0 (near white) to 1 (red), the row of the highest y first.

    >>> signed_pixels([[0.0], [1.0]])
    [[(204, 16, 22)], [(246, 246, 243)]]
    """
    return [[_signed(round(24 * min(1.0, max(-1.0, value)))) for value in row] for row in reversed(values)]


@cache
def _signed(step: int) -> tuple[int, int, int]:
    return mixed(POSITIVE if step >= 0 else NEGATIVE, abs(step) / 24)


def decision_surface(
    shares: Sequence[Grid],
    x_range: Range,
    y_range: Range,
    points: Sequence[Series],
    *,
    x_label: str = "$u_1$",
    y_label: str = "$u_2$",
    width: float = 380.0,
    height: float = 330.0,
) -> Scene:
    """Color the plane by the probabilities of the classes, with the border where the most likely class changes.

    Args:
        shares: one grid of probabilities for each class; rows from bottom to top, numbers at the centers of cells.
        x_range: the ends of the horizontal axis.
        y_range: the ends of the vertical axis.
        points: the examples.
        x_label: the name of the horizontal axis.
        y_label: the name of the vertical axis.
        width: of the scene.
        height: of the scene.

    >>> scene = decision_surface([[[1.0, 0.0]] * 2, [[0.0, 1.0]] * 2], (0, 1), (0, 1), [])
    >>> scene.width, scene.title
    (380.0, 'decision surface')
    """
    x, y = Axis(x_label, x_range), Axis(y_label, y_range)
    scales = exact(*x_range, 0, 1, count=max(2, round(width / 80))), exact(*y_range, 1, 0, count=round(height / 60))
    place = frame((width, height), 0.0, x, y, Axis(), (*scales, None))
    rows, columns = len(shares[0]), len(shares[0][0])
    pixels = [[_blend([grid[i][j] for grid in shares]) for j in range(columns)] for i in reversed(range(rows))]
    shapes: list[Shape] = [
        Picture((place.left, place.top), (place.right - place.left, place.bottom - place.top), pixels)
    ]
    margins = _margins(shares)
    for margin in margins[: 1 if len(shares) == 2 else None]:
        shapes += [Path(tuple(part), Stroke("#1b1f24", 1.6)) for part in contour(margin, 0.0, place)]
    shapes += axes(place, x, y, Axis(), rows=False, columns=False)
    shapes += draw(place, points=points)
    return Scene(width, height, tuple(shapes), "decision surface")


def _blend(shares: Sequence[float]) -> tuple[int, int, int]:
    """Mix the colors of the classes by their probabilities, paler than the points."""
    red, green, blue = 0.0, 0.0, 0.0
    for place, share in enumerate(shares):
        r, g, b = _pale(place)
        red, green, blue = red + share * r, green + share * g, blue + share * b
    return round(red), round(green), round(blue)


@cache
def _pale(place: int) -> tuple[int, int, int]:
    return mixed(CLASS_COLORS[place % len(CLASS_COLORS)], 0.5)


def _margins(shares: Sequence[Grid]) -> list[list[list[float]]]:
    """Give for each class how far its probability is above the largest other one."""
    found = []
    for place, grid in enumerate(shares):
        others = [other for number, other in enumerate(shares) if number != place]
        found.append(
            [
                [value - max(other[i][j] for other in others) for j, value in enumerate(row)]
                for i, row in enumerate(grid)
            ]
        )
    return found


def pictured_network(
    widths: Sequence[int], weights: Sequence[Grid], pictures: Sequence[Sequence[Grid]], *, most: int = 8
) -> Scene:
    """Draw a network whose nodes are small maps of what they answer over the plane, with its weights as arrows.

    Args:
        widths: the nodes of each layer, the input first.
        weights: the matrices, as `network` takes them.
        pictures: for each layer and node a grid of numbers from -1 to 1.
        most: how many nodes of a layer are drawn at most.

    >>> scene = pictured_network((1, 1), [[[2.0]]], [[[[0.0]]], [[[1.0]]]])
    >>> sum(isinstance(shape, Picture) for shape in scene.shapes)
    2
    """
    scene = network(widths, most=most, labels=False, weights=weights)
    order = [(layer, node) for layer, width in enumerate(widths) for node in _drawn(width, most)]
    shapes: list[Shape] = []
    nodes = iter(order)
    for shape in scene.shapes:
        if not isinstance(shape, Circle):
            shapes.append(shape)
            continue
        layer, node = next(nodes)
        (x, y), half = shape.center, RADIUS - 1
        pixels = signed_pixels(pictures[layer][node])
        shapes.append(Picture((x - half, y - half), (2 * half, 2 * half), pixels, title=f"y[{layer}] {node + 1}"))
        shapes.append(Rectangle((x - half, y - half), (2 * half, 2 * half), None, shape.stroke))
    return replace(scene, shapes=tuple(shapes))


def _drawn(width: int, most: int) -> list[int]:
    """Name the nodes that `network` draws of a layer.

    >>> _drawn(3, 8), _drawn(12, 4)
    ([0, 1, 2], [0, 1, 2, 11])
    """
    return list(range(width)) if width <= most else [*range(most - 1), width - 1]


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

    Args:
        widths: the nodes of each layer, at most four each.
        values: the words in the nodes, "" for none.
        below: the words below the nodes, for gradients.
        weights: the words on the arrows, a row for each node that they enter.
        active: layers of nodes that are computed now.
        passed: numbers of the matrices whose arrows are used now.

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


def counted_grid(matrix: Sequence[Sequence[int]], names: Sequence[str], *, cell: float = 30.0) -> Scene:
    """Draw a confusion matrix: rows are what it is, columns what it was taken for; right answers green, others red.

    Args:
        matrix: the counts.
        names: of the classes.
        cell: the side of a cell.

    >>> counted_grid([[3, 1], [0, 4]], ("no", "yes")).description
    '7 of 8 are right.'
    """
    left, top = 46.0, 40.0
    shapes: list[Shape] = [
        Text((left + len(names) * cell / 2, 10.0), "taken for", 12, "muted", "middle"),
        Text((9.0, top + len(names) * cell / 2), "is", 12, "muted", "middle", angle=90.0),
    ]
    for place, name in enumerate(names):
        shapes.append(Text((left + (place + 0.5) * cell, top - 11), name, 12, "ink", "middle"))
        shapes.append(Text((left - 8, top + (place + 0.5) * cell), name, 12, "ink", "end"))
    for i, row in enumerate(matrix):
        total = max(1, sum(row))
        for j, count in enumerate(row):
            share = round(100 * (count / total) ** 0.6)
            color = "input" if i == j else "output"
            fill = f"{color}!{min(70, share if i == j else 2 * share)}" if count else "paper"
            corner = (left + j * cell, top + i * cell)
            shapes.append(Rectangle(corner, (cell, cell), fill, Stroke("grid", 0.8)))
            if count:
                shapes.append(Text((corner[0] + cell / 2, corner[1] + cell / 2), str(count), 11, "ink", "middle"))
    right = sum(row[i] for i, row in enumerate(matrix))
    words = f"{right} of {sum(map(sum, matrix))} are right."
    size = (left + len(names) * cell + 6, top + len(names) * cell + 6)
    return Scene(*size, tuple(shapes), "confusion matrix", words)
