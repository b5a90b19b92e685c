"""The drawing of the page on logical functions."""

import math
from collections.abc import Sequence

from lamina.drawing.charts import Band, Series, chart
from lamina.drawing.scene import Scene
from lamina.pages.chapters.ch1._shared import Place, columns
from lamina.pages.kit._hands import Hands, grip

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
        own = [place for place, target in enumerate(targets) if target == value]
        titles = [f"point {place + 1}" for place in own]
        marks.append(
            Series(f"wanted {value}", *columns([inputs[place] for place in own]), color, style, size=7.0, titles=titles)
        )
    return chart(
        lines, marks, bands=bands, title=title, x_label="$y_1$", y_label="$y_2$", x_range=EDGE, y_range=EDGE,
        width=340.0, height=330.0,
    )  # fmt: skip


def held_line(scene: Scene, weight: Place, bias: float, sets: Sequence[str]) -> tuple[Scene, Hands]:
    """Put two discs onto the line of a neuron: one shifts it, the other turns it about the first.

    Args:
        scene: what `half_planes` drew.
        weight: of the neuron.
        bias: of the neuron.
        sets: the widgets of both weights and of the bias, by their names in the address.

    >>> drawn = half_planes((1.0, 1.0), -0.5, [0, 1], [[0.0, 0.0], [1.0, 1.0]])
    >>> sorted(held_line(drawn, (1.0, 1.0), -0.5, ("a", "b", "c"))[1])
    ['shift the line', 'turn the line']
    """
    (first, second), center = weight, sum(EDGE) / 2
    length = math.hypot(first, second)
    if not length:
        return scene, {}
    off = (first * center + second * center + bias) / length**2
    middle = (center - off * first, center - off * second)
    end = (middle[0] - 0.6 * second / length, middle[1] + 0.6 * first / length)
    hands: Hands = {}
    for title, at, line in (
        ("shift the line", middle, [first, second]),
        ("turn the line", end, [first, second, bias, *middle]),
    ):
        if all(EDGE[0] <= place <= EDGE[1] for place in at):
            scene, found = grip(scene, title, at, EDGE, EDGE, sets, line=line)
            hands |= found
    return scene, hands


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
