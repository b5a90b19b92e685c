"""The drawings of the page on convolution."""

from collections.abc import Sequence

from lamina._types import Float, Tensor
from lamina.drawing.grids import Cell, Numbers, put_grid, written
from lamina.drawing.palettes import readable, signed_fill
from lamina.drawing.parts import Board
from lamina.drawing.scene import Rectangle, Scene, Stroke
from lamina.pages.chapters.ch3._shared import CELL


def named_grids(
    grids: Sequence[tuple[str, Numbers, Sequence[Cell]]], *, title: str, fill: str = "output!25", gap: float = 40.0
) -> Scene:
    """Draw matrices side by side, each with its name above and some cells marked.

    >>> named_grids([("$Y$", [[1, 2]], [(0, 1)])], title="one row").description
    '$Y$: 1 2.'
    """
    board, left = Board(), 0.0
    for name, numbers, marked in grids:
        rows, columns = len(numbers), len(numbers[0])
        corner = (left, -rows * CELL / 2)
        put_grid(board, corner, rows, columns, CELL, numbers=numbers, fills=dict.fromkeys(marked, fill), name=name)
        board.text((left + columns * CELL / 2, corner[1] - 16), name, size=14)
        left += columns * CELL + gap
    words = " ".join(
        f"{name}: {'; '.join(' '.join(map(written, row)) for row in numbers)}." for name, numbers, _ in grids
    )
    return board.scene(title, words)


def matrix_of_convolution(matrix: Float[Tensor, "outputs inputs"], row: int) -> Scene:
    """Draw the matrix that a convolution is on flattened images; zeros stay paper, one row is framed.

    >>> import torch
    >>> matrix_of_convolution(torch.eye(2), 0).description
    '2 x 2 entries, 2 of them not zero.'
    """
    board, (rows, columns) = Board(), matrix.shape
    side = 23.5 if columns <= 25 else 15.0
    numbers, most = matrix.tolist(), matrix.nan_to_num(0, 0, 0).abs().max().clamp(min=1e-12).item()
    for i in range(rows):
        for j in range(columns):
            at, share = (j * side, i * side), numbers[i][j] / most
            board.add(Rectangle(at, (side, side), signed_fill(share), Stroke("grid", 0.8), title=f"A({i + 1},{j + 1})"))
            if numbers[i][j] and columns <= 25:
                middle = (at[0] + side / 2, at[1] + side / 2)
                board.text(middle, written(numbers[i][j]), size=9.5, color=readable(share))
    board.add(Rectangle((0, row * side), (columns * side, side), None, Stroke("ink", 2.2), title="row"))
    words = f"{rows} x {columns} entries, {int(matrix.ne(0).sum())} of them not zero."
    return board.scene("A convolution as a matrix", words)
