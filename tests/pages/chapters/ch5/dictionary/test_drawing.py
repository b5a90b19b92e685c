"""Tokens stand in boxes that neither overlap nor leave the picture."""

from itertools import pairwise

from lamina.drawing.scene import Rectangle, Text
from lamina.pages.chapters.ch5.dictionary._drawing import numbered


def test_boxes_break_into_lines_and_do_not_overlap():
    words = ["internationalization"] * 12
    scene = numbered(words, range(12), width=400)
    boxes = [shape for shape in scene.shapes if isinstance(shape, Rectangle)]
    assert len(boxes) == 12 and len({box.corner[1] for box in boxes}) > 1
    for before, after in pairwise(boxes):
        if before.corner[1] == after.corner[1]:
            assert before.corner[0] + before.size[0] < after.corner[0]
    assert all(box.corner[0] + box.size[0] <= 400 and box.corner[1] + box.size[1] <= scene.height for box in boxes)


def test_an_unknown_word_has_a_dashed_frame_and_typed_words_are_no_formulas():
    scene = numbered(["$x", "moon", "a\nb"], [5, 1, 6])
    dashed = [bool(shape.stroke.dash) for shape in scene.shapes if isinstance(shape, Rectangle)]
    assert dashed == [False, True, False]
    assert [shape.content for shape in scene.shapes if isinstance(shape, Text)][::2] == [r"\$x", "moon", "a↵b"]
