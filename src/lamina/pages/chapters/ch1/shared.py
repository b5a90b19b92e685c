"""Drawings and blocks that the pages of chapter 1 share."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lamina.data.splits import PARTS
from lamina.drawing.charts import Band, Series, chart
from lamina.drawing.colors import resolve
from lamina.drawing.heat_map import heat_map, ramp_color
from lamina.drawing.scene import Circle, Path, Rectangle, Scene, Shape, Stroke, Text
from lamina.inspection.surfaces import Surface
from lamina.pages.kit import _blocks as blocks

if TYPE_CHECKING:
    from marimo import Html

COLORS = ("line2", "line1", "line3", "line5", "line4", "line6")
"""Of clusters and of methods, in their order."""
EDGE = (-0.5, 1.5)
"""The ends of both axes around the four inputs of a logical function."""

Place = tuple[float, float]


def terrain(
    surface: Surface,
    paths: Sequence[tuple[str, str, Sequence[Sequence[float]]]],
    *,
    labels: tuple[str, str] = (r"$\theta_1$", r"$\theta_2$"),
    size: tuple[float, float] = (400.0, 300.0),
) -> Scene:
    """Draw a surface as colors and the ways of optimizers on it, each with a ring where it stands.

    Args:
        surface: the function and where to look at it.
        paths: name, color and points of each way.
        labels: of both axes.
        size: width and height of the scene.

    >>> from lamina.inspection.surfaces import bowl
    >>> terrain(bowl(), [("GD", "line1", [[-1.0, 1.0], [0.0, 0.0]])]).title
    'bowl'
    """
    # The colors of the surface are the same on light and dark pages, so those of the ways must be too.
    paths = [(name, resolve(color), points) for name, color, points in paths]
    lines = [Series(name, *_columns(points), color, size=2.2) for name, color, points in paths if len(points) > 1]
    dots = [Series(name, *_columns(points), color, size=2.0) for name, color, points in paths]
    heads = [Series(name, *_columns(points[-1:]), color, "ring", size=4.5) for name, color, points in paths]
    lowest = Series("lowest", [surface.lowest[0]], [surface.lowest[1]], "#111111", "cross", size=4.0)
    return heat_map(
        surface.heights(36).tolist(), surface.x_range, surface.y_range, lines=lines, points=[lowest, *dots, *heads],
        contours=9, log=surface.log, x_label=labels[0], y_label=labels[1], bar_label="loss", width=size[0],
        height=size[1], description=surface.name,
    )  # fmt: skip


def _columns(points: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    return [point[0] for point in points], [point[1] for point in points]


def clusters(
    points: Sequence[Sequence[float]],
    labels: Sequence[int] | None,
    centroids: Sequence[Sequence[float]],
    trails: Sequence[Sequence[Sequence[float]]] = (),
    *,
    title: str = "",
    size: tuple[float, float] = (400.0, 340.0),
) -> Scene:
    """Draw points in the colors of their clusters, each tied to its centroid, and the ways of the centroids.

    Args:
        points: in the plane.
        labels: the cluster of each; None before the first assignment.
        centroids: one a cluster.
        trails: where each centroid was, from the start on.
        title: above the plot.
        size: width and height of the scene.

    >>> clusters([[0.0, 0.0], [2.0, 0.0]], [0, 0], [[1.0, 0.0]]).width
    400.0
    """
    ties, marks = [], []
    if labels is None:
        marks.append(Series("", *_columns(points), "line6!70", size=2.8))
    else:
        for cluster, centroid in enumerate(centroids):
            own = [point for point, label in zip(points, labels, strict=True) if label == cluster]
            xs = [x for point in own for x in (point[0], centroid[0], centroid[0])]
            ys = [y for point in own for y in (point[1], centroid[1], None)]
            color = COLORS[cluster % len(COLORS)]
            ties.append(Series("", xs, ys, f"{color}!35", size=0.8))
            marks.append(Series("", *_columns(own), f"{color}!80", size=2.8))
    for cluster, centroid in enumerate(centroids):
        color = COLORS[cluster % len(COLORS)]
        if cluster < len(trails) and len(trails[cluster]) > 1:
            ties.append(Series("", *_columns(trails[cluster]), color, "dashed", size=1.6))
        marks.append(Series("", [centroid[0]], [centroid[1]], "paper", "cross", size=9.0))
        marks.append(Series("", [centroid[0]], [centroid[1]], color, "cross", size=7.0))
    wide, tall = _columns([*points, *centroids])
    return chart(
        ties, marks, title=title, x_range=_around(wide), y_range=_around(tall), width=size[0], height=size[1],
        x_label="$u_1$", y_label="$u_2$",
    )  # fmt: skip


def _around(values: Sequence[float]) -> Place:
    low, high = min(values), max(values)
    room = 0.06 * (high - low) + 0.05
    return low - room, high + room


def half_planes(
    weight: Place, bias: float, targets: Sequence[int], inputs: Sequence[Sequence[float]], *, title: str = ""
) -> Scene:
    """Draw the four inputs of a logical function and the side on which a neuron fires.

    Args:
        weight: W_1 and W_2.
        bias: b.
        targets: what the function says for each input.
        inputs: the inputs.
        title: above the plot.

    >>> half_planes((1.0, 1.0), -0.5, [0, 1], [[0.0, 0.0], [1.0, 1.0]]).width
    340.0
    """
    bands, lines = _firing(weight, bias)
    marks = []
    for value, color, style in ((0, "line1", "ring"), (1, "line2", "dot")):
        own = [point for point, target in zip(inputs, targets, strict=True) if target == value]
        marks.append(Series(f"wanted {value}", *_columns(own), color, style, size=7.0))
    return chart(
        lines, marks, bands=bands, title=title, x_label="$y_1$", y_label="$y_2$", x_range=EDGE, y_range=EDGE,
        width=340.0, height=330.0,
    )  # fmt: skip


def _firing(weight: Place, bias: float) -> tuple[list[Band], list[Series]]:
    """Return the part of the square where W u + b >= 0, and its border."""
    (first, second), (low, high) = weight, EDGE
    if second == 0:
        if first == 0:
            return ([Band("fires", EDGE, [low, low], [high, high], "line2", 0.14)] if bias >= 0 else []), []
        at = min(max(-bias / first, low), high)
        ends = (at, high) if first > 0 else (low, at)
        border = [Series("border", [-bias / first] * 2, EDGE, "ink", size=2.2)] if low < -bias / first < high else []
        return [Band("fires", ends, [low, low], [high, high], "line2", 0.14)], border
    crossings = [-(bias + second * y) / first for y in EDGE] if first else []
    xs = sorted({low, high, *(x for x in crossings if low < x < high)})
    ys = [-(bias + first * x) / second for x in xs]
    cut = [min(max(y, low), high) for y in ys]
    other = [high if second > 0 else low] * len(xs)
    band = Band("fires", xs, cut if second > 0 else other, other if second > 0 else cut, "line2", 0.14)
    return [band], [Series("border", xs, ys, "ink", size=2.2)]


def grid_map(
    values: Sequence[Sequence[float | None]],
    columns: Sequence[str],
    rows: Sequence[str],
    *,
    labels: tuple[str, str],
    best: tuple[int, int],
    way: Sequence[tuple[int, int]] = (),
    numbers: bool = False,
) -> Scene:
    """Color a table of positive errors by their logarithm, light where they are low, with names of rows and columns.

    Args:
        values: rows from bottom to top; None where there is no number.
        columns: the names along the bottom.
        rows: the names at the left, from bottom to top.
        labels: of both sides.
        best: column and row of the cell with a ring.
        way: cells that a line connects.
        numbers: whether each cell says its number.

    >>> grid_map([[1.0, 0.1]], ("a", "b"), ("c",), labels=("x", "y"), best=(1, 0)).title
    'errors'
    """
    wide, tall, left, bottom = 400.0 / len(columns), 240.0 / len(rows), 78.0, 250.0
    known = [math.log(value) for row in values for value in row if value is not None]
    low, high = min(known), max(known)
    shapes: list[Shape] = []
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            share = 0.5 if value is None or high == low else (math.log(value) - low) / (high - low)
            fill = "grid" if value is None else "#{:02x}{:02x}{:02x}".format(*ramp_color(share))
            corner = (left + j * wide, bottom - (i + 1) * tall)
            words = "no number" if value is None else f"{value:.3g}"
            shapes.append(Rectangle(corner, (wide, tall), fill, None, title=f"{columns[j]}, {rows[i]}: {words}"))
            if numbers:
                ink = "ink" if value is None else "#16181d" if share < 0.5 else "#ffffff"
                shapes.append(Text((corner[0] + 6, corner[1] + tall - 11), "–" if value is None else words, 11, ink))

    def center(cell: tuple[int, int]) -> Place:
        return left + (cell[0] + 0.5) * wide, bottom - (cell[1] + 0.5) * tall

    if len(way) > 1:
        shapes.append(Path(tuple(map(center, way)), Stroke(resolve("line5"), 3.0), "end"))
    shapes.append(Circle(center(best), 7.0, None, Stroke(resolve("line2"), 3.0)))
    shapes += [Text((center((j, 0))[0], bottom + 13), name, 11, "muted", "middle") for j, name in enumerate(columns)]
    shapes += [Text((left - 6, center((0, i))[1]), name, 11, "muted", "end") for i, name in enumerate(rows)]
    shapes.append(Text((left + 200, bottom + 32), labels[0], 12, "ink", "middle"))
    shapes.append(Text((14, bottom - 120), labels[1], 12, "ink", "middle", angle=90.0))
    return Scene(490.0, 294.0, tuple(shapes), "errors", f"errors over {labels[0]} and {labels[1]}")


def split_bar(sizes: Sequence[int]) -> Scene:
    """Draw the sizes of training, validation and test part as one bar.

    Args:
        sizes: three numbers.

    >>> split_bar([4, 1, 1]).width
    560.0
    """
    wide, left, shapes = 544.0, 8.0, list[Shape]()
    whole = max(1, sum(sizes))
    for name, size, color in zip(PARTS, sizes, ("line3", "line5", "line4"), strict=True):
        part = wide * size / whole
        shapes.append(Rectangle((left, 24), (max(part, 0.5), 30), f"{color}!35", None, title=f"{name}: {size}"))
        if part > 26:
            shapes.append(Text((left + part / 2, 39), str(size), 13, "ink", "middle", bold=True))
        if part > 52:
            shapes.append(Text((left + part / 2, 12), name, 12, color, "middle"))
        left += part
    words = ", ".join(f"{size} {name}" for name, size in zip(PARTS, sizes, strict=True))
    return Scene(560.0, 62.0, tuple(shapes), "split", words)


def outcome(result: Any) -> "Html":
    """Show what an experiment gave: its table, and which claims hold in it.

    Args:
        result: an `experiments.Result`.
    """
    claims = [("holds" if claim.holds else "does not hold", claim.sentence) for claim in result.claims]
    return blocks.column(
        blocks.table(result.columns, result.rows, caption=result.title), blocks.table(("", "what is claimed"), claims)
    )


def measured(button: Any, job: Any, words: str) -> "Html":
    """Show a button and what the experiment behind it has found so far.

    Args:
        button: that starts it.
        job: an experiment in another process (`work.ch1.experiment`).
        words: what it does and how long that takes.
    """
    if job.rows:
        return blocks.column(button, outcome(job.rows[-1]["result"]))
    said = words if job.state == "idle" else f"In a process of its own: {job.words} …"
    parts = [button, blocks.note(said, "bad" if job.state == "failed" else "plain")]
    return blocks.column(*parts)
