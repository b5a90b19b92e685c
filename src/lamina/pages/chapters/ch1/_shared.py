"""Drawings and data that several pages of chapter 1 use."""

from collections.abc import Sequence

import torch

from lamina._types import Tensor
from lamina.classical.linear_regression import fit, hessian, squared_error
from lamina.data.synthetic import linear
from lamina.drawing.charts import Series
from lamina.drawing.colors import resolve
from lamina.drawing.heat_map import heat_map
from lamina.drawing.scene import Scene
from lamina.inspection.surfaces import Surface

COLORS = ("line2", "line1", "line3", "line5", "line4", "line6")
"""The colors of clusters and of methods, in their order."""

Place = tuple[float, float]


def terrain(
    surface: Surface,
    paths: Sequence[tuple[str, str, Sequence[Sequence[float]]]],
    *,
    labels: tuple[str, str] = (r"$\theta_1$", r"$\theta_2$"),
    size: tuple[float, float] = (400.0, 300.0),
) -> Scene:
    """Draw a surface as colors and the paths of optimizers on it, each with a ring where it stands.

    >>> from lamina.inspection.surfaces import bowl
    >>> terrain(bowl(), [("GD", "line1", [[-1.0, 1.0], [0.0, 0.0]])]).title
    'bowl'
    """
    # The colors of the surface are the same on light and dark pages, so those of the ways must be too.
    paths = [(name, resolve(color), points) for name, color, points in paths]
    lines = [Series(name, *columns(points), color, size=2.2) for name, color, points in paths if len(points) > 1]
    dots = [Series(name, *columns(points), color, size=2.0) for name, color, points in paths]
    heads = [Series(name, *columns(points[-1:]), color, "ring", size=4.5) for name, color, points in paths]
    lowest = Series("lowest", [surface.lowest[0]], [surface.lowest[1]], "#111111", "cross", size=4.0)
    return heat_map(
        surface.heights(36).tolist(), surface.x_range, surface.y_range, lines=lines, points=[lowest, *dots, *heads],
        contours=9, log=surface.log, x_label=labels[0], y_label=labels[1], bar_label="loss", width=size[0],
        height=size[1], description=surface.name,
    )  # fmt: skip


def columns(points: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """Give the first and the second numbers of points."""
    return [point[0] for point in points], [point[1] for point in points]


F64 = torch.float64


def regression_data(count: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    """Draw points of a noisy line and give its data matrix, with a column of ones, and its targets.

    >>> regression_data(3, 0.0, 0)[0][:, 0].tolist()
    [1.0, 1.0, 1.0]
    """
    data = linear(count, weight=(1.5,), bias=0.5, noise=noise, seed=seed)
    return torch.cat([torch.ones_like(data.inputs), data.inputs], 1), data.targets


def line_surface(inputs: Tensor, targets: Tensor) -> Surface:
    """Give the loss of a line as a surface over offset and slope, with the minimizer where it is lowest.

    >>> surface = line_surface(*regression_data(20, 0.0, 0))
    >>> [round(place, 6) for place in surface.lowest]
    [0.5, 1.5]
    """
    curvature = torch.linalg.eigvalsh(hessian(inputs))[-1].item()
    first, second = fit(inputs, targets).weight.tolist()

    def loss(theta: Tensor) -> Tensor:
        weights = theta.reshape(-1, 2)
        values = torch.vmap(squared_error, (0, None, None))(weights, inputs, targets)
        return values.reshape(theta.shape[:-1])

    return Surface("loss of a line", loss, (-2.0, 2.5), (-2.0, 3.0), (-1.5, -1.5), (first, second), curvature)
