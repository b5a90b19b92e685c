"""Drawings with live numbers for the pages on convolutional networks."""

from collections.abc import Mapping, Sequence

import torch

from lamina._errors import choice
from lamina._types import Float, Tensor
from lamina.drawing.grids import Cell, Numbers, put_grid, written
from lamina.drawing.heat_map import ramp_color
from lamina.drawing.parts import Board, Spot
from lamina.drawing.scene import Circle, Path, Picture, Rectangle, Scene, Stroke
from lamina.functional.convolution import windows
from lamina.functional.pooling import average_pool, max_pool

CELL = 32.0


def pixels(picture: Float[Tensor, "..."]) -> list[list[int]] | list[list[list[int]]]:
    """Turn a gray picture (rows, columns) or a color one (3, rows, columns) from [0, 1] into bytes for a drawing.

    >>> pixels(torch.tensor([[0.0, 1.0]]))
    [[0, 255]]
    """
    shown = picture.movedim(0, -1) if picture.ndim == 3 else picture
    found: list[list[int]] = (shown.clamp(0, 1) * 255).round().int().tolist()
    return found


def shades(values: Float[Tensor, "rows columns"], most: float | None = None) -> list[list[list[int]]]:
    """Color numbers: red above zero, blue below, the stronger the larger; white is zero.

    Args:
        values: the numbers.
        most: the size that has the full color; the largest by default.

    >>> shades(torch.tensor([[0.0, 2.0, -2.0]]))
    [[[255, 255, 255], [204, 16, 22], [11, 83, 196]]]
    """
    share = (values / (most or values.abs().max().clamp(min=1e-12))).clamp(-1, 1)[..., None]
    red, blue = torch.tensor([204.0, 16.0, 22.0]), torch.tensor([11.0, 83.0, 196.0])
    full = torch.where(share >= 0, red.to(values), blue.to(values))
    found: list[list[list[int]]] = (255 + (full - 255) * share.abs()).round().int().tolist()
    return found


def named_grids(
    grids: Sequence[tuple[str, Numbers, Sequence[Cell]]], *, title: str, fill: str = "output!25", gap: float = 40.0
) -> Scene:
    """Draw matrices side by side, each with its name above and some cells marked.

    Args:
        grids: name, rows of numbers, and the marked cells, counted from 0.
        title: of the scene.
        fill: the color of the marked cells.
        gap: between two matrices.

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

    Args:
        matrix: what `functional.convolution.convolution_matrix` gives.
        row: the framed row, counted from 0.

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


def pooling_entry(
    image: Numbers, place: Cell = (1, 1), *, kind: str = "max", kernel_size: int = 2, stride: int = 2, padding: int = 0
) -> Scene:
    """Draw the pooling of a matrix: every window tinted, the one of an entry framed, and the result.

    Args:
        image: the rows of numbers.
        place: the index (from 1) of the entry.
        kind: max or average.
        kernel_size: the size m of a window.
        stride: how far it moves.
        padding: rings around the image: of minus infinity for max, of zeros for average.

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
        marked[inside[values.index(answer)]] = "pooling!75"
    _pooling_grids(board, padded, marked, (top, left), kernel_size, padding)
    x = padded.shape[1] * CELL
    middle = padded.shape[0] * CELL / 2
    board.arrow(((x + 10, middle), (x + 62, middle)))
    board.text((x + 34, middle - 12), "max" if kind == "max" else "mean", size=12, color="muted")
    fills = {(i, j): _tint(i, j) for i in range(result.shape[0]) for j in range(result.shape[1])}
    fills[(place[0] - 1, place[1] - 1)] = "pooling!75"
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


def seen_pixels(influence: Float[Tensor, "rows columns"], window: tuple[Cell, Cell]) -> Scene:
    """Color pixels by their influence on a unit and frame what the unit can see; rows count from the top.

    Args:
        influence: one number a pixel.
        window: the first and the last row, the first and the last column of the frame.

    >>> seen_pixels(torch.tensor([[0.0, 1.0]]), ((0, 0), (1, 1))).description
    'The frame holds rows 0 to 0 and columns 1 to 1.'
    """
    (top, bottom), (left, right) = window
    rows, columns = influence.shape
    share = influence / influence.max().clamp(min=1e-12)
    colors = [[ramp_color(value) for value in line] for line in share.tolist()]
    side, board = 11.0, Board()
    board.add(Picture((0, 0), (columns * side, rows * side), colors, title="influence"))
    corner, size = (left * side, top * side), ((right - left + 1) * side, (bottom - top + 1) * side)
    board.add(Rectangle(corner, size, None, Stroke("#e0560a", 2.6), title="field"))
    for place in sorted({0, top, bottom, rows - 1}):
        board.text((-6, (place + 0.5) * side), str(place), size=10, color="muted", anchor="end")
    for place in sorted({0, left, right, columns - 1}):
        board.text(((place + 0.5) * side, -9), str(place), size=10, color="muted")
    words = f"The frame holds rows {top} to {bottom} and columns {left} to {right}."
    return board.scene("What a unit sees", words)


def thinned_network(kept: Sequence[Sequence[bool]]) -> Scene:
    """Draw a dense network in which dropout has removed some units with all their arrows.

    Args:
        kept: for each layer, whether each of its units is there.

    >>> thinned_network([[True, True], [True, False]]).description
    'Of 4 units 1 is dropped; 2 of 4 arrows are left.'
    """
    board = Board()
    tallest = max(map(len, kept))
    spots: list[list[Spot]] = []
    for layer, units in enumerate(kept):
        role = "input" if layer == 0 else "output" if layer == len(kept) - 1 else "hidden"
        row = []
        for k, there in enumerate(units):
            at = (100.0 * layer, 38.0 * (k + (tallest - len(units)) / 2))
            row.append(board.node(at, "", role, name=f"unit {layer}.{k + 1}", radius=13) if there else _gone(board, at))
        spots.append(row)
    count = left = 0
    for layer in range(len(kept) - 1):
        for a, here in zip(spots[layer], kept[layer], strict=True):
            for b, there in zip(spots[layer + 1], kept[layer + 1], strict=True):
                count += 1
                if here and there:
                    left += 1
                    board.link(a, b, line=0.9)
    total, dropped = sum(map(len, kept)), sum(not there for units in kept for there in units)
    verb = "is" if dropped == 1 else "are"
    words = f"Of {total} units {dropped} {verb} dropped; {left} of {count} arrows are left."
    return board.scene("A network with dropout", words)


def _gone(board: Board, at: tuple[float, float]) -> Spot:
    """Put down a unit that is dropped: a dashed circle with a cross."""
    x, y = at
    gray = Stroke("stage", 1.1, (2.5, 2.0))
    board.add(Circle(at, 13, None, gray, title="dropped"))
    for slope in (1, -1):
        board.add(Path(((x - 6, y - 6 * slope), (x + 6, y + 6 * slope)), Stroke("output", 1.6)))
    return Spot("dropped", at, (13, 13), round=True)
