"""The drawings of the page tools/search: numbers by hand, and what the notes say of them."""

import math

from lamina.pages.chapters.tools.search._drawing import cell_map, shade


def test_the_picture_has_a_cell_for_each_network_and_marks():
    from lamina.drawing.scene import Rectangle, Text

    values = [[0.1, 0.9], [None, math.nan]]
    scene = cell_map(values, ["a", "b"], ["c", "d"], x_label="x", y_label="y", best=(0, 1), tried=[(0, 0)])
    boxes = [shape for shape in scene.shapes if isinstance(shape, Rectangle)]
    words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert len(boxes) == 4 + 1 + 1 and {"10.0", "90.0", "×", "a", "d"} <= set(words)
    assert shade(0.9) < shade(0.97) < shade(0.98) < shade(1.0) == 1
