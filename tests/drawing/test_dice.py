"""Two dice as shifted rows."""

from fractions import Fraction

import pytest

from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.dice import CELL, _pairs, dice_rows
from lamina.drawing.scene import Rectangle, Text
from lamina.functional.convolution import dice_sum_distribution


def _rows(scene):
    """Give for each row the column of each outcome, the first outcome of the upper row being in column 0."""
    cells = {s.title: s for s in scene.shapes if isinstance(s, Rectangle)}
    zero = cells["upper 1"].corner[0]

    def column(name):
        return round((cells[name].corner[0] - zero) / CELL)

    sides = sum(name.startswith("upper") for name in cells)
    return [{x: column(f"{row} {x}") for x in range(1, sides + 1)} for row in ("upper", "lower")]


@pytest.mark.notes("N3.16")
def test_columns_add_to_nine():
    scene = dice_rows(9)
    upper, lower = _rows(scene)
    both = {(x, z) for x in upper for z in lower if upper[x] == lower[z]}
    assert both == {(3, 6), (4, 5), (5, 4), (6, 3)}
    assert list(lower.values()) == [7, 6, 5, 4, 3, 2]  # turned around and shifted by 2
    hit = {s.title for s in scene.shapes if isinstance(s, Rectangle) and s.fill == "pooling!30"}
    assert hit == {f"{row} {x}" for row in ("upper", "lower") for x in (3, 4, 5, 6)}


@pytest.mark.notes("N3.17")
def test_the_same_picture_with_probabilities():
    plain, scene = dice_rows(9), dice_rows(9, probabilities=True)
    assert _rows(scene) == _rows(plain)
    words = [s.content for s in scene.shapes if isinstance(s, Text)]
    assert words.count("1") == words.count("6") == 12
    assert words[-1] == r"$P(X + Y = 9) = 4 \cdot 1/36 = 1/9$"


@pytest.mark.notes("N3.16", "N3.17")
@pytest.mark.parametrize("total", range(2, 13))
def test_every_total(total):
    found = _pairs(total)
    assert Fraction(len(found), 36) == dice_sum_distribution()[total]
    upper, lower = _rows(dice_rows(total))
    assert {(x, z) for x in upper for z in lower if upper[x] == lower[z]} == set(found)
    for probabilities in (False, True):
        assert overlaps(dice_rows(total, probabilities=probabilities), lines=not probabilities) == []


def test_other_dice():
    assert _pairs(5, sides=4) == [(1, 4), (2, 3), (3, 2), (4, 1)]
    assert "1/16" in dice_rows(5, sides=4).shapes[-1].content
    assert not any("P(X" in getattr(s, "content", "") for s in dice_rows(result=False).shapes)


def test_refusals():
    with pytest.raises(ArgumentError, match=r"`total` must be in \[2, 12\], got 13"):
        dice_rows(13)
