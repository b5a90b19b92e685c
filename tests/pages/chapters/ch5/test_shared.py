"""What the pages share in ch5: numbers by hand, and what the notes say of them."""

from lamina.drawing.scene import Text
from lamina.pages.chapters.ch5._shared import cell_grid


def test_words_of_a_visitor_are_no_formulas():
    scene = cell_grid([[0.0, 1.0]], ["$x", "averyveryverylongword"])
    words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert words == ["unit", r"\$x", "averyv…"]
