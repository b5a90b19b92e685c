"""The words on an unrolled translator."""

from itertools import pairwise

import pytest

from lamina.drawing._collisions import overlaps
from lamina.drawing.parts import edges
from lamina.drawing.scene import Circle, Text, box
from lamina.pages.chapters.ch5.translation._drawing import conversation

READ, WRITTEN = ["the", "sun", "is", "shining", "<end>"], ["die", "sonne", "scheint", "<end>"]


def test_words_stand_below_what_is_read_and_above_what_is_written():
    scene = conversation(READ, WRITTEN)
    texts = [shape for shape in scene.shapes if isinstance(shape, Text)]
    assert [text.content for text in texts] == READ + WRITTEN
    middle = scene.height / 2
    assert all(text.at[1] > middle for text in texts[:5]) and all(text.at[1] < middle for text in texts[5:])
    assert edges(scene).count(("h<5>", "h<6>")) == 1, "the state after the last word is all that is passed on"
    assert ("u<5>", "h<5>") in edges(scene) and ("h<6>", "y<6>") in edges(scene) and len(edges(scene)) == 9 + 8


@pytest.mark.parametrize("count", [4, 12, 20])
def test_words_never_touch_each_other_in_either_form(count):
    scene = conversation(["Donaudampfschiff", *["on"] * count, "<end>"], [*["Feuerwehrleute"] * count, "<end>"])
    for form in filter(None, (scene, scene.narrower and scene.narrower())):
        assert overlaps(form) == []
        assert all(0 <= box(text)[1] and box(text)[3] <= form.height for text in form.shapes if isinstance(text, Text))


def test_what_a_visitor_types_is_no_formula():
    scene = conversation(["$x$", "<end>"], ["a"])
    assert r"\$x\$" in [shape.content for shape in scene.shapes if isinstance(shape, Text)]


def test_arrows_between_states_have_room_for_their_heads():
    for scene in (conversation(READ, WRITTEN), conversation(READ, WRITTEN, upright=True)):
        states = [shape for shape in scene.shapes if isinstance(shape, Circle) and shape.title.startswith("h<")]
        gaps = [b.center[0] - a.center[0] - a.radius - b.radius for a, b in pairwise(states)]
        assert len(gaps) == len(READ) + len(WRITTEN) - 1 and min(gaps) >= 9.9
