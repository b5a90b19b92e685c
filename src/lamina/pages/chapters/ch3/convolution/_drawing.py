"""The drawings of the page on convolution."""

from collections.abc import Sequence

from lamina._types import Float, Tensor
from lamina.drawing.grids import Cell, Numbers, put_grid, written
from lamina.drawing.parts import Board
from lamina.drawing.scene import Rectangle, Scene, Stroke
from lamina.pages.chapters.ch3._shared import CELL, shades


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
    """Draw the matrix that a convolution is on flattened images; zeros stay white, one row is framed.

    >>> import torch
    >>> matrix_of_convolution(torch.eye(2), 0).description
    '2 x 2 entries, 2 of them not zero.'
    """
    board, (rows, columns) = Board(), matrix.shape
    colors = shades(matrix)
    side = 24.0 if columns <= 25 else 15.0
    numbers = matrix.tolist()
    for i in range(rows):
        for j in range(columns):
            red, green, blue = colors[i][j]
            fill = "paper" if numbers[i][j] == 0 else f"#{red:02x}{green:02x}{blue:02x}"
            at = (j * side, i * side)
            board.add(Rectangle(at, (side, side), fill, Stroke("grid", 0.8), title=f"A({i + 1},{j + 1})"))
            if numbers[i][j] and columns <= 25:
                strong = abs(numbers[i][j]) > 0.55 * matrix.abs().max().item()
                color = "#ffffff" if strong else "#16181d"
                board.text((at[0] + side / 2, at[1] + side / 2), written(numbers[i][j]), size=9.5, color=color)
    board.add(Rectangle((0, row * side), (columns * side, side), None, Stroke("ink", 2.2), title="row"))
    words = f"{rows} x {columns} entries, {int(matrix.ne(0).sum())} of them not zero."
    return board.scene("A convolution as a matrix", words)
