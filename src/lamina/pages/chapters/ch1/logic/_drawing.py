"""The drawing of the page on logical functions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamina.drawing.charts import Band, Series, chart
from lamina.drawing.scene import Scene

if TYPE_CHECKING:
    pass
from lamina.pages.chapters.ch1._shared import Place, columns

EDGE = (-0.5, 1.5)
"""The ends of both axes around the four inputs of a logical function."""


def half_planes(
    weight: Place, bias: float, targets: Sequence[int], inputs: Sequence[Sequence[float]], *, title: str = ""
) -> Scene:
    """Draw the four inputs of a logical function and the side on which a neuron fires.

    >>> half_planes((1.0, 1.0), -0.5, [0, 1], [[0.0, 0.0], [1.0, 1.0]]).width
    340.0
    """
    bands, lines = _firing(weight, bias)
    marks = []
    for value, color, style in ((0, "line1", "ring"), (1, "line2", "dot")):
        own = [point for point, target in zip(inputs, targets, strict=True) if target == value]
        marks.append(Series(f"wanted {value}", *columns(own), color, style, size=7.0))
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
