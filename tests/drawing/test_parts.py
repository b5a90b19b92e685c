"""Parts with borders, and drawings that are read back as graphs."""

import math

import pytest

from lamina._errors import ArgumentError
from lamina.drawing.parts import Board, Spot, _plate_width, edges, named


def test_borders_of_round_and_of_square_parts():
    assert Spot("a", (0, 0), (10, 10), round=True).border((30, 0)) == (10.0, 0.0)
    assert Spot("a", (0, 0), (10, 5)).border((30, 30), gap=math.sqrt(2)) == pytest.approx((6, 6))
    spot = Spot("a", (1, 2), (3, 4))
    assert (spot.left, spot.right, spot.top, spot.bottom) == ((-2, 2), (4, 2), (1, -2), (1, 6))


def test_a_drawing_is_read_back():
    board = Board()
    board.link(board.node((0, 0), name="u"), board.plate((60, 0), "BN", name="h"))
    assert edges(board.scene("a pair")) == [("u", "h")] and named(board.scene("a pair")) == ["u", "h"]
    assert _plate_width("BN") == 34.0


def test_unknown_joints_are_refused():
    with pytest.raises(ArgumentError, match="`kind` must be"):
        Board().joint((0, 0), "minus")
