"""The drawing of the page on k-means."""

from collections.abc import Sequence
from typing import Any

from lamina.drawing.charts import Series, chart
from lamina.drawing.colors import css
from lamina.drawing.scene import Scene
from lamina.pages.chapters.ch1._shared import COLORS, Place, columns
from lamina.pages.kit._hands import point_titles

Points = Sequence[Sequence[float]]


def clusters(
    points: Points,
    labels: Sequence[int] | None,
    centroids: Points,
    trails: Sequence[Points] = (),
    *,
    around: tuple[Place, Place] | None = None,
    title: str = "",
    size: tuple[float, float] = (400.0, 340.0),
) -> Scene:
    """Draw points in the colors of their clusters, each tied to its centroid, and the paths of the centroids.

    Args:
        points: one a row.
        labels: their clusters; None for none.
        centroids: those of the clusters.
        trails: where each of them has been.
        around: the ends of both axes; by default those of the `plane` of all.
        title: above the plot.
        size: width and height in points.

    >>> clusters([[0.0, 0.0], [2.0, 0.0]], [0, 0], [[1.0, 0.0]]).width
    400.0
    """
    ties, marks = [], []
    if labels is None:
        marks.append(Series("", *columns(points), "line6!70", size=2.8, titles=point_titles(len(points))))
    else:
        for cluster, centroid in enumerate(centroids):
            own = [(place, point) for place, point in enumerate(points, 1) if labels[place - 1] == cluster]
            xs = [x for _, point in own for x in (point[0], centroid[0], centroid[0])]
            ys = [y for _, point in own for y in (point[1], centroid[1], None)]
            colors, names = (
                cluster_colors(cluster),
                ([f"{word} {place}" for place, _ in own] for word in ("tie", "point")),
            )
            ties.append(Series("", xs, ys, colors["tie"], size=0.8, titles=next(names)))
            own_points = columns([point for _, point in own])
            marks.append(Series("", *own_points, colors["point"], size=2.8, titles=next(names)))
    for cluster, centroid in enumerate(centroids):
        color, name = COLORS[cluster % len(COLORS)], f"centroid {cluster + 1}"
        if cluster < len(trails) and len(trails[cluster]) > 1:
            ties.append(Series("", *columns(trails[cluster]), color, "dashed", size=1.6, titles=[f"path of {name}"]))
        marks.append(Series("", [centroid[0]], [centroid[1]], "paper", "cross", size=9.0, titles=[name]))
        marks.append(Series("", [centroid[0]], [centroid[1]], color, "cross", size=7.0, titles=[name]))
    x_range, y_range = around or plane([*points, *centroids])
    return chart(
        ties, marks, title=title, x_range=x_range, y_range=y_range, width=size[0], height=size[1],
        x_label="$u_1$", y_label="$u_2$",
    )  # fmt: skip


def cluster_colors(cluster: int) -> dict[str, str]:
    """Give the colors of the points of a cluster, and of what ties them to its centroid.

    >>> cluster_colors(0)
    {'point': 'line2!80', 'tie': 'line2!35'}
    """
    color = COLORS[cluster % len(COLORS)]
    return {"point": f"{color}!80", "tie": f"{color}!35"}


def following(centroids: Points, half_steps: int) -> dict[str, Any]:
    """Say how the drawing follows when a point is dragged, for `kit.data_hands`.

    >>> following([[0.0, 1.0]], 3)["firsts"]
    [[0.0, 1.0]]
    """
    colors = [{key: css(color) for key, color in cluster_colors(j).items()} for j in range(len(centroids))]
    return {"follow": "means", "firsts": centroids, "steps": half_steps, "colors": colors}


def plane(points: Points) -> tuple[Place, Place]:
    """Give the ends of both axes around points.

    >>> plane([[0.0, 1.0], [1.0, 1.0]])
    ((-0.11, 1.11), (0.95, 1.05))
    """
    wide, tall = columns(points)
    return _around(wide), _around(tall)


def _around(values: Sequence[float]) -> Place:
    low, high = min(values), max(values)
    room = 0.06 * (high - low) + 0.05
    return low - room, high + room
