"""The drawings of the page tools/search: numbers by hand, and what the notes say of them."""

import math
from dataclasses import replace

from lamina.drawing._collisions import overlaps
from lamina.drawing.scene import Text
from lamina.pages.chapters.tools.search._drawing import cell_map, in_full, shade


def test_the_picture_has_a_cell_for_each_network_and_marks():
    from lamina.drawing.scene import Rectangle

    values = [[0.1, 0.9], [None, math.nan]]
    scene = cell_map(values, ["a", "b"], ["c", "d"], x_label="x", y_label="y", best=(0, 1), tried=[(0, 0)])
    boxes = [shape for shape in scene.shapes if isinstance(shape, Rectangle)]
    words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert len(boxes) == 4 + 1 + 1 and {"10.0", "90.0", "×", "a", "d"} <= set(words)
    assert shade(0.9) < shade(0.97) < shade(0.98) < shade(1.0) == 1


def test_on_a_phone_nothing_of_the_grid_covers_anything_else():
    rates = [in_full(value) for value in (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)]
    penalties = [in_full(value) for value in (0.0, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1)]
    wide = cell_map([[0.97] * 8] * 8, rates, penalties, x_label="learning rate", y_label="penalty")
    slim = wide.narrower()
    words = [[shape.content for shape in scene.shapes if isinstance(shape, Text)] for scene in (wide, slim)]
    assert slim.width == 300 and "0.00001" in words[1] and set(words[1]) <= set(words[0])
    for scene, least in ((wide, 0.0), (slim, 11.0)):
        grown = [replace(s, size=max(least, s.size)) if isinstance(s, Text) else s for s in scene.shapes]
        assert overlaps(replace(scene, shapes=tuple(grown))) == []
    turned = [
        shape for shape in slim.shapes if isinstance(shape, Text) and shape.angle == 90 and shape.content in rates
    ]
    assert len(turned) == 8, "long names stand upright where cells are narrow"
