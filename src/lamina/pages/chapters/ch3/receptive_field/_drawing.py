"""The drawing of the page on the receptive field."""

from lamina._types import Float, Tensor
from lamina.drawing.grids import Cell
from lamina.drawing.palettes import amount
from lamina.drawing.parts import Board
from lamina.drawing.scene import Picture, Rectangle, Scene, Stroke


def seen_pixels(influence: Float[Tensor, "rows columns"], window: tuple[Cell, Cell]) -> Scene:
    """Color pixels by their influence on a unit and frame what the unit can see; rows count from the top.

    >>> import torch
    >>> seen_pixels(torch.tensor([[0.0, 1.0]]), ((0, 0), (1, 1))).description
    'The frame holds rows 0 to 0 and columns 1 to 1.'
    """
    (top, bottom), (left, right) = window
    rows, columns = influence.shape
    share = influence / influence.nan_to_num(0, 0, 0).max().clamp(min=1e-12)
    colors = [[amount(value) for value in line] for line in share.tolist()]
    side, board = 11.0, Board()
    board.add(Picture((0, 0), (columns * side, rows * side), colors, title="influence"))
    corner, size = (left * side, top * side), ((right - left + 1) * side, (bottom - top + 1) * side)
    board.add(Rectangle(corner, size, None, Stroke("accent", 2.6), title="field"))
    for place in sorted({0, top, bottom, rows - 1}):
        board.text((-6, (place + 0.5) * side), str(place), size=10, color="muted", anchor="end")
    for place in sorted({0, left, right, columns - 1}):
        board.text(((place + 0.5) * side, -9), str(place), size=10, color="muted")
    words = f"The frame holds rows {top} to {bottom} and columns {left} to {right}."
    return board.scene("What a unit sees", words)
