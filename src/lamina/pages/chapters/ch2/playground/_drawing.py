"""The drawings of the feedforward playground."""

from collections.abc import Sequence
from dataclasses import replace

from lamina.drawing.axes import Axis, Range, axes, frame
from lamina.drawing.charts import Series, draw
from lamina.drawing.heat_map import contour
from lamina.drawing.network import RADIUS, network
from lamina.drawing.palettes import mixed_classes, signed_pixels
from lamina.drawing.scales import exact
from lamina.drawing.scene import Circle, Path, Picture, Rectangle, Scene, Shape, Stroke, narrowed

Grid = Sequence[Sequence[float]]


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

    >>> scene = decision_surface([[[1.0, 0.0]] * 2, [[0.0, 1.0]] * 2], (0, 1), (0, 1), [])
    >>> scene.width, scene.title
    (380.0, 'decision surface')
    """
    given = locals().copy()
    x, y = Axis(x_label, x_range), Axis(y_label, y_range)
    scales = exact(*x_range, 0, 1, count=max(2, round(width / 80))), exact(*y_range, 1, 0, count=round(height / 60))
    place = frame((width, height), 0.0, x, y, Axis(), (*scales, None))
    rows, columns = len(shares[0]), len(shares[0][0])
    pixels = [[mixed_classes([grid[i][j] for grid in shares]) for j in range(columns)] for i in reversed(range(rows))]
    shapes: list[Shape] = [
        Picture((place.left, place.top), (place.right - place.left, place.bottom - place.top), pixels)
    ]
    margins = _margins(shares)
    for margin in margins[: 1 if len(shares) == 2 else None]:
        shapes += [Path(tuple(part), Stroke("ink", 1.6)) for part in contour(margin, 0.0, place)]
    shapes += axes(place, x, y, Axis(), rows=False, columns=False)
    shapes += draw(place, points=points)
    return Scene(width, height, tuple(shapes), "decision surface", narrower=narrowed(decision_surface, given))


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
        pixels = signed_pixels(pictures[layer][node][::-1])  # the row of the highest y first
        shapes.append(Picture((x - half, y - half), (2 * half, 2 * half), pixels, title=f"y[{layer}] {node + 1}"))
        shapes.append(Rectangle((x - half, y - half), (2 * half, 2 * half), None, shape.stroke))
    return replace(scene, shapes=tuple(shapes))


def _drawn(width: int, most: int) -> list[int]:
    """Name the nodes that `network` draws of a layer.

    >>> _drawn(3, 8), _drawn(12, 4)
    ([0, 1, 2], [0, 1, 2, 11])
    """
    return list(range(width)) if width <= most else [*range(most - 1), width - 1]
