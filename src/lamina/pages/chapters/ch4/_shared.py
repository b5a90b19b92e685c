"""The drawing that several pages of chapter 4 use."""

from collections.abc import Mapping, Sequence
from typing import Any

from lamina.drawing.axes import Range
from lamina.drawing.charts import Series, chart
from lamina.drawing.scene import Scene
from lamina.experiments.wording import spelled


def race_chart(
    rows: Sequence[Mapping[str, Any]],
    colors: Mapping[str, str],
    key: str,
    *,
    until: int,
    y_label: str,
    y_range: Range,
    log_y: bool = False,
    size: tuple[float, float] = (360, 240),
) -> Scene:
    """Draw one number of networks that learn side by side, over their steps.

    >>> race_chart([], {"a": "line1"}, "loss", until=10, y_label="loss", y_range=(0, 1)).width
    360
    """
    known = {name: [row[name] for row in rows if key in row.get(name, {})] for name in colors}
    lines = [
        Series(
            spelled(name),
            [item["step"] for item in known[name]] or [0],
            [item[key] for item in known[name]] or [None],
            color,
        )
        for name, color in colors.items()
    ]
    return chart(
        lines,
        x_label="step",
        y_label=y_label,
        x_range=(0, until),
        y_range=y_range,
        log_y=log_y,
        width=size[0],
        height=size[1],
    )
