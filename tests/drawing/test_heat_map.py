"""Numbers on a grid as colors, with lines of equal height."""

import math

import pytest

from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.heat_map import contour, heat_map
from lamina.drawing.palettes import amount
from lamina.drawing.scene import Path, Picture, Text, box


def bowl(n):
    return [[(j / (n - 1) - 0.5) ** 2 + (i / (n - 1) - 0.5) ** 2 for j in range(n)] for i in range(n)]


def test_heat_map_is_dark_where_values_are_high_and_reads_from_bottom_to_top():
    scene = heat_map([[0.0, 1.0], [2.0, 4.0]], (0, 1), (0, 1), bar_label="loss", title="four numbers")
    picture = next(shape for shape in scene.shapes if isinstance(shape, Picture))
    assert picture.pixels == [[amount(0.5), amount(1)], [amount(0), amount(0.25)]]
    brightness = [sum(amount(k / 20)) for k in range(21)]
    assert brightness == sorted(brightness, reverse=True)
    texts = {shape.content: shape for shape in scene.shapes if isinstance(shape, Text)}
    assert not overlaps(scene) and box(texts["loss"])[0] >= box(texts["4"])[2] + 4, "letters grow on a phone"


def None_frame():
    from lamina.drawing.axes import Frame
    from lamina.drawing.scales import exact

    side = exact(0, 1, 0, 1)
    return Frame(0, 0, 1, 1, side, side)


def test_contours_lie_at_their_height():
    scene = heat_map(bowl(41), (-1, 1), (-1, 1), contours=3)
    picture = next(shape for shape in scene.shapes if isinstance(shape, Picture))
    rings = [s for s in scene.shapes if isinstance(s, Path) and len(s.points) > 20]
    assert len(rings) >= 1
    (x, y), (w, h) = picture.corner, picture.size
    # Lines of the bowl are circles about the middle; the distance is that of the level, up to the grid's step.
    first = rings[0]
    radii = [math.hypot((px - x) / w * 41 - 20.5, (py - y) / h * 41 - 20.5) / 40 for px, py in first.points]
    assert max(radii) - min(radii) < 0.01 and radii[0] == pytest.approx(math.sqrt(0.5 / 4), abs=0.01)
    assert first.points[0] == pytest.approx(first.points[-1])
    with pytest.raises(ArgumentError, match="`values` must hold positive finite numbers, got 0"):
        heat_map([[0.0, 1.0]], (0, 1), (0, 1), log=True)
    assert contour([[0.0, 0.0], [0.0, 0.0]], 1.0, None_frame()) == []
