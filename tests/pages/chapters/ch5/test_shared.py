"""What the pages share in ch5: numbers by hand, and what the notes say of them."""

from itertools import pairwise

import pytest

from lamina.drawing._collisions import overlaps
from lamina.drawing.scene import Text
from lamina.drawing.text import width as text_width
from lamina.pages.chapters.ch5._shared import cell_grid


def test_words_of_a_visitor_are_no_formulas():
    scene = cell_grid([[0.0, 1.0]], ["$x", "averyveryverylongword"])
    words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert words == ["unit", r"\$x", "averyveryverylongword"]


def test_words_stand_upright_where_they_do_not_fit_and_never_overlap():
    flat = cell_grid([[0.0, 1.0]], ["the", "cat"], cell=(46.0, 14.0))
    assert [shape.angle for shape in flat.shapes if isinstance(shape, Text)][1:] == [0.0, 0.0]
    many = ["sometimes"] * 40
    scene = cell_grid([[0.5] * 40], many, cell=(330 / 40, 1.1))  # eight points for a word of eleven
    words = [shape for shape in scene.shapes if isinstance(shape, Text)][1:]
    assert [word.content for word in words] == many and {word.angle for word in words} == {90.0}
    apart = [after.at[0] - before.at[0] for before, after in pairwise(words)]
    assert min(apart) >= 13.0 - 1e-9, "a line of type has eleven points"
    assert scene.height >= words[0].at[1] + text_width("sometimes", 11)
    assert scene.width >= words[-1].at[0] + 5.5


@pytest.mark.parametrize("words", [["the"] * 8, ["the"]])
def test_a_title_wider_than_the_grid_is_broken_and_stays_on_the_sheet(words):
    title = "one column per word, one row per entry of the dictionary"
    wide = cell_grid([[0.5] * len(words)] * 3, words, title=title, cell=(56.0, 11.0))
    for scene in (wide, wide.narrower() if wide.narrower else wide):
        assert overlaps(scene) == []
    said = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert said[:2] == ["one column per word,", "one row per entry of the dictionary"]
    fits = cell_grid([[0.5] * 12], ["garden"] * 12, title="update gate: light is closed, dark is open", upright=True)
    said = [shape.content for shape in fits.shapes if isinstance(shape, Text)]
    assert said[:2] == ["update gate", "light is closed, dark is open"], "a comma is kept where there is room"
