"""Grids of cells with numbers."""

import pytest

from lamina._errors import ArgumentError
from lamina.drawing.grids import put_grid, written
from lamina.drawing.parts import Board, named
from lamina.drawing.scene import Text


def test_numbers_stand_in_their_cells():
    board = Board()
    put_grid(board, (0, 0), 1, 2, 10.0, numbers=[[1.0, -2.5]], fills={(0, 1): "input"}, name="y ")
    texts = [(shape.at, shape.content) for shape in board.shapes if isinstance(shape, Text)]
    assert texts == [((5, 5), "1"), ((15, 5), "−2.5")]
    assert named(board.scene("a grid")) == ["y (1,1)", "y (1,2)"]
    assert [written(value) for value in (-3.0, 0.125, 2)] == ["−3", "0.125", "2"]


def test_numbers_must_fill_the_grid():
    with pytest.raises(ArgumentError, match="`numbers` must be 2 x 2, got 1 x 2: give one number for each cell"):
        put_grid(Board(), (0, 0), 2, 2, 10.0, numbers=[[1.0, 2.0]])
