"""Charts as the pages draw them: each axis is its name, or its name and its ends."""

from typing import TYPE_CHECKING, Any

from lamina.drawing import charts
from lamina.drawing.scene import Scene
from lamina.pages.kit._blocks import svg

if TYPE_CHECKING:
    from marimo import Html

Axis = str | tuple[str, float, float]
"""The name of an axis, and its range where that should stay fixed."""

MAIN, BESIDE, ALONE = (380.0, 350.0), (340.0, 310.0), (430.0, 290.0)
"""The sizes of charts that fill the stage of a lab, from a phone to a projector: two side by side, and one."""


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


def plot(label: str, *marks: Any, caption: str = "", wide: int | None = None, **options: Any) -> "Html":
    """Show a chart.

    Args:
        label: what it shows, for those who cannot see it.
        marks: as `chart` takes them.
        caption: words below it, Markdown.
        wide: the largest width in CSS pixels, as `svg` takes it.
        options: those of `chart`.
    """
    return svg(chart(*marks, **options), label, caption=caption, width=wide)
