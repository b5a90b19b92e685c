"""What a reader could not read is found."""

import pytest

from lamina.drawing._collisions import overlaps
from lamina.drawing.scene import (
    Circle,
    Path,
    Picture,
    Polygon,
    Rectangle,
    Scene,
    Text,
)
from lamina.drawing.table import TABLE


def crowd(*shapes):
    return Scene(100, 100, shapes, "a crowd")


def test_overlaps_finds_texts_in_the_way():
    word = Text((50, 50), "word", 12, anchor="middle")
    assert overlaps(crowd(word)) == []
    assert overlaps(crowd(word, Text((60, 52), "other"))) == [("word", "other")]
    assert overlaps(crowd(Text((90, 50), "long word"))) == [("long word", "the edge of the sheet")]
    assert overlaps(crowd(Rectangle((50, 40), (40, 20), None), word)) == [("word", "a rectangle")]
    assert overlaps(crowd(Rectangle((20, 30), (60, 40)), word)) == []
    assert overlaps(crowd(word, Rectangle((20, 30), (60, 40)))) == [("word", "a rectangle")]
    assert overlaps(crowd(Circle((50, 50), 30), word)) == []
    assert overlaps(crowd(Circle((50, 50), 10), word)) == [("word", "a circle")]
    assert overlaps(crowd(Polygon(((50, 0), (100, 100), (50, 100))), word)) == [("word", "a polygon")]
    assert overlaps(crowd(word, Picture((40, 40), (20, 20), [[0]]))) == [("word", "a picture")]


def test_a_filled_shape_shields_a_text_from_what_is_below():
    line, word = Path(((0, 50), (100, 50))), Text((50, 50), "word", 12, anchor="middle")
    assert overlaps(crowd(line, word)) == []
    assert overlaps(crowd(line, word), lines=True) == [("word", "a path")]
    assert overlaps(crowd(line, Rectangle((20, 40), (60, 20)), word), lines=True) == []
    assert overlaps(crowd(line, Rectangle((20, 40), (60, 20), opacity=0.5), word), lines=True) == [("word", "a path")]


@pytest.mark.parametrize("name", TABLE)
def test_nothing_overlaps_in_any_drawing(name):
    assert overlaps(TABLE[name].make(), lines=True) == []
