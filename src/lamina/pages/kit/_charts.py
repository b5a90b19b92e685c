"""Charts as the pages draw them: each axis is its name, or its name and its ends."""

from typing import Any

from lamina.drawing import charts
from lamina.drawing.scene import Scene

Axis = str | tuple[str, float, float]
"""The name of an axis, and from where to where it goes when that should not move."""


def chart(*marks: Any, x: Axis = "", y: Axis = "", size: tuple[float, float] = (360.0, 240.0), **more: Any) -> Scene:
    """Draw numbers on axes as `drawing.charts.chart` does.

    >>> from lamina.drawing.charts import Series
    >>> chart([Series("loss", [0, 1], [1, 2])], x=("step", 0, 10), y="loss", size=(200, 100)).width
    200
    """
    for side, axis in (("x", x), ("y", y)):
        if axis:
            name, *ends = (axis,) if isinstance(axis, str) else axis
            more |= {f"{side}_label": name} | ({f"{side}_range": tuple(ends)} if ends else {})
    return charts.chart(*marks, width=size[0], height=size[1], **more)
