"""The drawing of the page on padding, stride and pooling."""

from collections.abc import Mapping, Sequence

import torch

from lamina._errors import choice
from lamina._types import Tensor
from lamina.drawing.grids import Cell, Numbers, put_grid, written
from lamina.drawing.parts import Board
from lamina.drawing.scene import Rectangle, Scene, Stroke
from lamina.functional.convolution import windows
from lamina.functional.pooling import average_pool, max_pool
from lamina.pages.chapters.ch3._shared import CELL


def pooling_entry(
    image: Numbers, place: Cell = (1, 1), *, kind: str = "max", kernel_size: int = 2, stride: int = 2, padding: int = 0
) -> Scene:
    """Draw the pooling of a matrix: every window tinted, the one of an entry framed, and the result.

    >>> pooling_entry([[1, 3], [-2, 4]]).description
    'Entry (1,1) is max(1, 3, −2, 4) = 4.'
    >>> pooling_entry([[1, 3], [-2, 4]], kind="average").description
    'Entry (1,1) is (1 + 3 − 2 + 4) / 4 = 1.5.'
    """
    choice("kind", kind, ("max", "average"))
    y = torch.tensor(image, dtype=torch.float64)
    pool = max_pool if kind == "max" else average_pool
    result = pool(y[None], kernel_size, stride, padding)[0]
    outside = -torch.inf if kind == "max" else 0.0
    padded = torch.nn.functional.pad(y, (padding,) * 4, value=outside)
    corners = windows(padded.shape[0], padded.shape[1], kernel_size, stride)
    top, left = corners[(place[0] - 1) * result.shape[1] + place[1] - 1]
    inside = [(top + a, left + b) for a in range(kernel_size) for b in range(kernel_size)]
    values = [padded[cell].item() for cell in inside]
    board = Board()
    marked = _tints(corners, kernel_size, stride, result.shape[1])
    answer = result[place[0] - 1, place[1] - 1].item()
    if kind == "max":
        marked[inside[values.index(answer)]] = "pooling!40"
    _pooling_grids(board, padded, marked, (top, left), kernel_size, padding)
    x = padded.shape[1] * CELL
    middle = padded.shape[0] * CELL / 2
    board.arrow(((x + 10, middle), (x + 62, middle)))
    board.text((x + 34, middle - 12), "max" if kind == "max" else "mean", size=12, color="muted")
    fills = {(i, j): _tint(i, j) for i in range(result.shape[0]) for j in range(result.shape[1])}
    fills[(place[0] - 1, place[1] - 1)] = "pooling!40"
    corner = (x + 76, middle - result.shape[0] * CELL / 2)
    rows, columns = result.shape
    put_grid(board, corner, rows, columns, CELL, numbers=result.tolist(), fills=fills, name="result ")
    total = written(answer)
    if kind == "max":
        words = f"max({', '.join('−∞' if v == -torch.inf else written(v) for v in values)})"
    else:
        words = f"({_sum(values)}) / {len(values)}"
    return board.scene(f"{kind} pooling", f"Entry ({place[0]},{place[1]}) is {words} = {total}.")


def _sum(values: Sequence[float]) -> str:
    """Write a sum without double signs.

    >>> _sum([1.0, -2.0])
    '1 − 2'
    """
    parts = [written(values[0])]
    for value in values[1:]:
        parts += ["−" if value < 0 else "+", written(abs(value))]
    return " ".join(parts)


def _tint(i: int, j: int) -> str:
    return "hidden!16" if (i + j) % 2 else "input!16"


def _tints(corners: Sequence[Cell], kernel_size: int, stride: int, columns: int) -> dict[Cell, str]:
    """Tint windows like a chess board where they do not overlap."""
    if stride < kernel_size:
        return {}
    return {
        (top + a, left + b): _tint(*divmod(number, columns))
        for number, (top, left) in enumerate(corners)
        for a in range(kernel_size)
        for b in range(kernel_size)
    }


def _pooling_grids(
    board: Board, padded: Tensor, marked: Mapping[Cell, str], corner: Cell, kernel_size: int, padding: int
) -> None:
    """Draw the padded matrix and the frame of one window."""
    tall, wide = padded.shape
    core = range(padding, tall - padding), range(padding, wide - padding)
    ring = {(i, j) for i in range(tall) for j in range(wide) if i not in core[0] or j not in core[1]}
    numbers = padded.where(padded.isfinite(), 0.0).tolist()
    put_grid(
        board, (0, 0), tall, wide, CELL, numbers=numbers if not ring else None, fills=marked, faint=ring, name="Y "
    )
    if ring:
        for i in range(tall):
            for j in range(wide):
                value = padded[i, j].item()
                words = "−∞" if value == -torch.inf else written(value)
                color = "muted" if (i, j) in ring else "ink"
                board.text(((j + 0.5) * CELL, (i + 0.5) * CELL), words, size=0.42 * CELL, color=color)
    side = kernel_size * CELL
    at = (corner[1] * CELL, corner[0] * CELL)
    board.add(Rectangle(at, (side, side), None, Stroke("pooling", 3.2), title="window"))
