"""The drawing of the page ch2/classification: a confusion matrix."""

from lamina.drawing.scene import Rectangle, Text
from lamina.pages.chapters.ch2.classification._drawing import counted_grid


def test_counts_stand_in_their_cells_and_zeros_stay_empty():
    scene = counted_grid([[5, 0], [2, 3]], "ab")
    assert scene.description == "8 of 10 are right."
    words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert [word for word in words if word.isdigit()] == ["5", "2", "3"]
    fills = [shape.fill for shape in scene.shapes if isinstance(shape, Rectangle)]
    assert [fill.split("!")[0] for fill in fills] == ["input", "paper", "output", "input"]
