"""Tensors with channels as sheets of cells: convolution of a color picture, neighborhoods of response normalization."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import torch

from lamina._errors import ArgumentError, at_least, between, choice
from lamina.drawing.grids import Cell, _put_sign, put_grid
from lamina.drawing.parts import Board
from lamina.drawing.scene import FROM, Point, Polygon, Scene, Stroke, Text, beside, fitted, stacked
from lamina.functional.convolution import convolve2d, correlate2d, output_size

Position = tuple[int, int, int]
"""Row, column and channel, counted from 1 as in the notes."""
CHANNELS = (("R", "output"), ("G", "input"), ("B", "hidden"))
"""The channels of a color picture and their colors."""


def rgb_convolution(size: int = 6, kernel_size: int = 3, *, place: Cell = (1, 1), cell: float = 22.0) -> Scene:
    """Draw the convolution of a color picture: three channels, one kernel with three sheets, one matrix as the result.

    Notes: N3.34 (§3.2, Fig. 21).

    Args:
        size: the height and width of the picture.
        kernel_size: the size m of the kernel.
        place: the index (from 1) of the entry whose window is marked.
        cell: the side of a cell; on a phone it is less.

    >>> rgb_convolution().description
    'A 6 x 6 x 3 picture and a 3 x 3 x 3 kernel give a 4 x 4 matrix (padding 0, stride 1).'
    """
    result = output_size(size, kernel_size)
    i, j = _placed(place, result)
    board, lag, gap = Board(), cell * 26 / 22, cell * 34 / 22
    window = [(i - 1 + a, j - 1 + b) for a in range(kernel_size) for b in range(kernel_size)]
    _sheets(board, (0, 0), size, cell, lag, window, "picture")
    x = size * cell + 2 * lag + gap
    middle = (size * cell - 2 * lag) / 2
    board.text((x, middle), r"$\ast$", size=22)
    whole = [(a, b) for a in range(kernel_size) for b in range(kernel_size)]
    _sheets(board, (x + gap, middle - (kernel_size * cell - 2 * lag) / 2), kernel_size, cell, lag, whole, "kernel")
    x += gap + kernel_size * cell + 2 * lag + gap
    board.text((x, middle), "$=$", size=22)
    corner = (x + gap, middle - result * cell / 2)
    put_grid(board, corner, result, result, cell, fills={(i - 1, j - 1): "pooling!35"}, name="result ")
    base = size * cell + 20
    sizes = rf"${size} \times {size} \times 3$", rf"${kernel_size} \times {kernel_size} \times 3$"
    widths = (size * cell / 2, x - gap - lag * 2 - kernel_size * cell / 2, x + gap + result * cell / 2)
    for at, words in zip(widths, (*sizes, rf"${result} \times {result}$"), strict=True):
        board.text((at, base), words, size=13)
    words = f"A {size} x {size} x 3 picture and a {kernel_size} x {kernel_size} x 3 kernel"
    scene = board.scene(
        "Convolution of a color picture", f"{words} give a {result} x {result} matrix (padding 0, stride 1)."
    )
    if scene.width <= FROM or cell < 22:
        return scene
    return replace(scene, narrower=partial(rgb_convolution, size, kernel_size, place=place, cell=17.0))


def _placed(place: Cell, result: int) -> Cell:
    between("place (row)", place[0], 1, result)
    between("place (column)", place[1], 1, result)
    return place


def _sheets(board: Board, corner: Point, size: int, cell: float, lag: float, marked: Sequence[Cell], name: str) -> None:
    """Draw the three channels behind each other, blue at the back, with some cells marked in each."""
    for depth in (2, 1, 0):
        letter, role = CHANNELS[depth]
        at = (corner[0] + depth * lag, corner[1] - depth * lag)
        fills = dict.fromkeys(marked, f"{role}!48")
        put_grid(
            board, at, size, size, cell, fills=fills, fill=f"{role}!14", line=f"{role}!70!ink", name=f"{name} {letter} "
        )


def rgb_numbers(
    picture: Sequence[Sequence[Sequence[float]]],
    kernel: Sequence[Sequence[Sequence[float]]],
    *,
    place: Cell = (1, 1),
    flip: bool = True,
    close: bool = False,
) -> Scene:
    """Draw the convolution of a color picture with its numbers: channel by channel, then the sum.

    Notes: N3.34 (§3.2, Fig. 21).

    Args:
        picture: three square matrices, red, green and blue.
        kernel: three square matrices.
        place: the index (from 1) of the entry whose windows are marked.
        flip: convolution, which lays the kernel turned around; without it correlation, as networks compute.
        close: whether everything is closer together, as on a phone.

    >>> ones = [[[1, 1], [1, 1]]] * 3
    >>> rgb_numbers(ones, [[[1]], [[2]], [[3]]]).description
    'Entry (1,1): 1 + 2 + 3 = 6.'
    """
    if len(picture) != 3 or len(kernel) != 3:
        raise ArgumentError(
            f"`picture` and `kernel` must have 3 channels, got {len(picture)} and {len(kernel)}: red, green and blue."
        )
    apply = convolve2d if flip else correlate2d
    y, k = (torch.tensor(numbers, dtype=torch.float64) for numbers in (picture, kernel))
    parts = torch.stack([apply(a, b) for a, b in zip(y, k, strict=True)])
    result, (n, m) = parts.sum(0), (y.shape[-1], k.shape[-1])
    i, j = _placed(place, len(result))
    window = [(i - 1 + a, j - 1 + b) for a in range(m) for b in range(m)]
    laid = k.flip(-1, -2) if flip else k
    board, (cell, big, after) = Board(), (22.0, 28.0, 32.0) if close else (24.0, 34.0, 44.0)
    high, right = n * cell + 22, (n + m) * cell + 44
    for row, (letter, role) in enumerate(CHANNELS):
        middle = row * high + n * cell / 2
        line, part = f"{role}!70!ink", parts[row, i - 1, j - 1].item()
        numbers, fills = y[row].tolist(), dict.fromkeys(window, f"{role}!35")
        at = (0.0, row * high)
        put_grid(board, at, n, n, cell, numbers=numbers, fills=fills, fill=f"{role}!8", line=line, name=f"Y {letter} ")
        _put_sign(board, (n * cell, middle), total=False)
        at, numbers = (n * cell + 44, middle - m * cell / 2), laid[row].tolist()
        put_grid(board, at, m, m, cell, numbers=numbers, fill=f"{role}!35", line=line, name=f"K {letter} ")
        _put_sign(board, (right, middle), total=True)
        at = (right + 60, middle - big / 2)
        put_grid(board, at, 1, 1, big, numbers=[[part]], fill=f"{role}!8", line=line, name=f"part {letter} ")
    center, join = 1.5 * high - 11, right + 100 + big
    add = board.joint((join, center), "sum", name="+")
    for row, end in enumerate((add.top, add.left, add.bottom)):
        level = row * high + n * cell / 2
        corner = [] if row == 1 else [(join, level)]
        board.arrow([(right + 60 + big, level), *corner, end], title=f"part {CHANNELS[row][0]} to +")
    size, at = len(result), (join + after, center - len(result) * big / 2)
    board.arrow([add.right, (at[0] - 2, center)], title="+ to result")
    marked = {(i - 1, j - 1): "pooling!35"}
    put_grid(board, at, size, size, big, numbers=result.tolist(), fills=marked, name="result ")
    words = ("$Y$", "$K$, turned" if flip else "$K$", r"$Y \ast K$" if flip else "correlation")
    places = ((n * cell / 2, -16.0), (right - m * cell / 2, -16.0), (at[0] + size * big / 2, at[1] - 16))
    for where, word in zip(places, words, strict=True):
        board.text(where, word, size=14)
    terms = " + ".join(f"{value:g}" for value in parts[:, i - 1, j - 1].tolist())
    total = result[i - 1, j - 1].item()
    scene = board.scene("Convolution of a color picture with numbers", f"Entry ({i},{j}): {terms} = {total:g}.")
    slim = partial(rgb_numbers, picture, kernel, place=place, flip=flip, close=True)
    return scene if close or scene.width <= FROM else replace(scene, narrower=slim)


def neighborhood(position: Position, shape: Position, size: int = 2, *, within: bool = False) -> set[Position]:
    """List the activities that local response normalization adds up for one position.

    Notes: N3.53 (§3.5, Fig. 25).

    Args:
        position: row, column and channel, counted from 1.
        shape: how many rows, columns and channels there are.
        size: the number n of neighbors: floor(n/2) to either side.
        within: neighbors in the same channel; without it those at the same pixel in other channels.

    >>> sorted(neighborhood((1, 1, 2), (3, 3, 4)))
    [(1, 1, 1), (1, 1, 2), (1, 1, 3)]
    >>> len(neighborhood((2, 2, 1), (3, 3, 4), within=True))
    9
    """
    at_least("size", size, 1)
    for name, value, bound in zip(("row", "column", "channel"), position, shape, strict=True):
        between(f"position ({name})", value, 1, bound)
    half, (i, j, k), (rows, columns, channels) = size // 2, position, shape

    def near(center: int, count: int) -> range:
        return range(max(1, center - half), min(count, center + half) + 1)

    if within:
        return {(p, q, k) for p in near(i, rows) for q in near(j, columns)}
    return {(i, j, m) for m in near(k, channels)}


def response_norm(
    position: Position, *, size: int = 2, kind: str = "channels", shape: Position = (4, 4, 4), label: bool = True
) -> Scene:
    """Draw a tensor as sheets, one for each channel, with a position (red) and what normalizes it (orange).

    Notes: N3.53 (§3.5, Fig. 25).

    Args:
        position: row, column and channel, counted from 1.
        size: the number n of neighbors.
        kind: "channels" for neighbors in other channels, "pixels" for those in the same channel.
        shape: rows, columns and channels of the tensor.
        label: write the position below.

    >>> response_norm((1, 1, 2)).title
    'Neighborhood of (1,1,2)'
    """
    choice("kind", kind, ("channels", "pixels"))
    near = neighborhood(position, shape, size, within=kind == "pixels")
    board, (rows, columns, channels) = Board(), shape
    for k in range(channels, 0, -1):
        for i in range(1, rows + 1):
            for j in range(1, columns + 1):
                here = (i, j, k)
                fill = "output!80" if here == position else "pooling!70" if here in near else "paper"
                board.add(Polygon(_slanted(here), fill, Stroke("ink!75", 0.8), title=f"Y{here}".replace(" ", "")))
        x, y = _corner(rows + 1, 1, k)
        board.text((x + columns * WIDE / 2, y + 6), str(k), size=11, color="muted")
    if label:
        left, right = _corner(rows + 1, 1, 1)[0], _corner(1, columns + 1, channels)[0]
        index = ",".join(map(str, position))
        board.text(((left + right) / 2, _corner(rows + 1, 1, 1)[1] + 28), f"$Y_{{{index}}}$", size=14)
    words = f"{len(near)} activities normalize the one at {position}."
    return board.scene(f"Neighborhood of ({','.join(map(str, position))})", words)


WIDE, SLANT, TALL, AWAY = 9.0, 5.0, 15.0, 44.0
"""The width, rise and height of a cell of a slanted sheet, and the distance between sheets."""


def _corner(i: int, j: int, k: int) -> Point:
    """Give the top left corner of the cell in row i, column j of sheet k."""
    return (k - 1) * AWAY + (j - 1) * WIDE, (i - 1) * TALL - (j - 1) * SLANT


def _slanted(position: Position) -> tuple[Point, ...]:
    i, j, k = position
    return _corner(i, j, k), _corner(i, j + 1, k), _corner(i + 1, j + 1, k), _corner(i + 1, j, k)


POSITIONS: Mapping[str, tuple[Position, ...]] = {
    "channels": ((1, 1, 1), (1, 1, 2), (1, 1, 3)),
    "pixels": ((1, 1, 1), (1, 2, 1), (2, 2, 1)),
}
"""The positions that `response_norms` shows in its two rows."""


def response_norms(size: int = 2) -> Scene:
    """Draw the neighborhoods of both kinds of local response normalization: across channels (a), within one (b).

    Notes: N3.53 (§3.5, Fig. 25).

    Args:
        size: the number n of neighbors.

    >>> response_norms().title
    'Neighborhoods of local response normalization'
    """
    rows = []
    for words, kind in (("a) across channels", "channels"), ("b) within a channel", "pixels")):
        row = beside(*(response_norm(p, size=size, kind=kind) for p in POSITIONS[kind]), gap=30)
        heading = Text((8, -6), f"{words}, $n = {size}$", 14.0)
        rows.append(fitted((*row.shapes, heading), title=words))
    title = "Neighborhoods of local response normalization"
    return stacked(*rows, gap=10, align="left", title=title)
