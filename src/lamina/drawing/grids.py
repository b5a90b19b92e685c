"""Grids of cells, with or without numbers: images, kernels, feature maps, and their padding."""

from collections.abc import Collection, Mapping, Sequence

from lamina._errors import ArgumentError
from lamina.drawing.parts import Board
from lamina.drawing.scene import Point, Rectangle, Stroke
from lamina.drawing.text import width

Cell = tuple[int, int]
Numbers = Sequence[Sequence[float]]


def put_grid(
    board: Board,
    corner: Point,
    rows: int,
    columns: int,
    cell: float,
    *,
    numbers: Numbers | None = None,
    fills: Mapping[Cell, str] | None = None,
    faint: Collection[Cell] = (),
    fill: str = "paper",
    line: str = "ink",
    name: str = "",
) -> None:
    """Draw a grid of cells; `fills` colors single cells, `faint` ones have dashed gray borders and gray numbers."""
    if numbers is not None and (len(numbers) != rows or any(len(row) != columns for row in numbers)):
        got = f"{len(numbers)} x {len(numbers[0]) if len(numbers) else 0}"
        raise ArgumentError(f"`numbers` must be {rows} x {columns}, got {got}: give one number for each cell.")
    fills = fills or {}
    places = sorted(((i, j) for i in range(rows) for j in range(columns)), key=lambda place: place not in faint)
    for i, j in places:  # faint cells first, so that their dashes do not cut the solid borders
        pale = (i, j) in faint
        border = Stroke("stage", 0.8, (2.5, 2.0)) if pale else Stroke(line, 1.0)
        color = fills.get((i, j), "paper" if pale else fill)
        at = (corner[0] + j * cell, corner[1] + i * cell)
        board.add(Rectangle(at, (cell, cell), color, border, title=f"{name}({i + 1},{j + 1})" if name else ""))
    if numbers is None:
        return
    widest = max(width(written(value), 1.0) for row in numbers for value in row)
    size = min(0.42, 0.86 / widest) * cell
    for i, j in places:
        at = (corner[0] + (j + 0.5) * cell, corner[1] + (i + 0.5) * cell)
        board.text(at, written(numbers[i][j]), size=size, color="muted" if (i, j) in faint else "ink")


def _put_sign(board: Board, at: Point, *, total: bool) -> None:
    """Write what is done with the marked cells: multiply them one by one, or add the products up."""
    x, y = at
    if total:
        board.arrow(((x + 6, y), (x + 52, y)))
        board.text((x + 28, y - 11), "sum", size=12, color="muted")
    else:
        board.text((x + 22, y), r"$\odot$", size=18)


def written(value: float) -> str:
    """Write a number into a cell: whole numbers without a point, others with three digits."""
    words = f"{value:.0f}" if float(value).is_integer() else f"{value:.3g}"
    return words.replace("-", "−")
