"""The drawing of the page on k-means."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamina.drawing.charts import Series, chart
from lamina.drawing.scene import Scene

if TYPE_CHECKING:
    pass
from lamina.pages.chapters.ch1._shared import COLORS, Place, columns


def clusters(
    points: Sequence[Sequence[float]],
    labels: Sequence[int] | None,
    centroids: Sequence[Sequence[float]],
    trails: Sequence[Sequence[Sequence[float]]] = (),
    *,
    title: str = "",
    size: tuple[float, float] = (400.0, 340.0),
) -> Scene:
    """Draw points in the colors of their clusters, each tied to its centroid, and the paths of the centroids.

    >>> clusters([[0.0, 0.0], [2.0, 0.0]], [0, 0], [[1.0, 0.0]]).width
    400.0
    """
    ties, marks = [], []
    if labels is None:
        marks.append(Series("", *columns(points), "line6!70", size=2.8))
    else:
        for cluster, centroid in enumerate(centroids):
            own = [point for point, label in zip(points, labels, strict=True) if label == cluster]
            xs = [x for point in own for x in (point[0], centroid[0], centroid[0])]
            ys = [y for point in own for y in (point[1], centroid[1], None)]
            color = COLORS[cluster % len(COLORS)]
            ties.append(Series("", xs, ys, f"{color}!35", size=0.8))
            marks.append(Series("", *columns(own), f"{color}!80", size=2.8))
    for cluster, centroid in enumerate(centroids):
        color = COLORS[cluster % len(COLORS)]
        if cluster < len(trails) and len(trails[cluster]) > 1:
            ties.append(Series("", *columns(trails[cluster]), color, "dashed", size=1.6))
        marks.append(Series("", [centroid[0]], [centroid[1]], "paper", "cross", size=9.0))
        marks.append(Series("", [centroid[0]], [centroid[1]], color, "cross", size=7.0))
    wide, tall = columns([*points, *centroids])
    return chart(
        ties, marks, title=title, x_range=_around(wide), y_range=_around(tall), width=size[0], height=size[1],
        x_label="$u_1$", y_label="$u_2$",
    )  # fmt: skip


def _around(values: Sequence[float]) -> Place:
    low, high = min(values), max(values)
    room = 0.06 * (high - low) + 0.05
    return low - room, high + room
