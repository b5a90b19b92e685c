"""How a kernel moves over an image: windows on a grid, an entry computed with numbers, and a 1-d network of nodes."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

import torch

from lamina._errors import ArgumentError, at_least, between
from lamina._types import Tensor
from lamina.drawing.grids import Cell, Numbers, _put_sign, put_grid, written
from lamina.drawing.parts import Board, Spot
from lamina.drawing.scene import FROM, Point, Rectangle, Scene, Stroke
from lamina.functional.convolution import convolve2d, correlate2d, output_size, windows

CELL, ENTRY = 30.0, 32.0
"""The side of a cell of a grid, and of one with numbers in it."""
COLORS = ("ink", "output", "input", "line4", "line5", "line1")
"""The colors of the windows in order: the first black, the second red, the third green, as in the notes."""


def convolution_windows(
    height: int = 4,
    width: int = 5,
    *,
    kernel_size: int = 3,
    stride: int = 1,
    padding: int = 0,
    places: Sequence[Cell] = ((1, 1), (1, 2), (2, 1)),
    numbers: Numbers | None = None,
) -> Scene:
    """Draw an image as a grid and some places of a kernel on it as frames; arrows say where it goes on.

    Notes: N3.24, N3.28 (§3.2, Figs. 19 and 20).

    Args:
        height: the rows of the image.
        width: its columns.
        kernel_size: the size m of the kernel.
        stride: how far it moves.
        padding: how many rings of zeros are drawn around the image.
        places: the windows to draw, by the index (from 1) of the entry that each computes.
        numbers: the entries of the image; with padding, zeros are written around them.

    >>> convolution_windows().description
    'A 3 x 3 kernel with stride 1 has 2 x 3 = 6 places on a 4 x 5 image.'
    """
    rows = output_size(height, kernel_size, padding, stride)
    columns = output_size(width, kernel_size, padding, stride)
    corners = windows(height + 2 * padding, width + 2 * padding, kernel_size, stride)
    between("len(places)", len(places), 1, len(COLORS))
    board = Board()
    tall, wide = height + 2 * padding, width + 2 * padding
    ring = _ring(tall, wide, padding)
    if numbers is not None and padding:
        side, zeros = [0.0] * padding, [[0.0] * wide for _ in range(padding)]
        numbers = [*zeros, *([*side, *row, *side] for row in numbers), *zeros]
    put_grid(board, (0, 0), tall, wide, CELL, numbers=numbers, faint=ring, line="stage", name="pixel ")
    for order, (i, j) in enumerate(places):
        between("places (row)", i, 1, rows)
        between("places (column)", j, 1, columns)
        _window(board, corners[(i - 1) * columns + j - 1], (i, j), kernel_size, order)
    for (i, j), color in zip(places[1:], COLORS[1:], strict=False):
        corner, down = corners[(i - 1) * columns + j - 1], i > places[0][0]
        _onward(board, corner, kernel_size, stride, color, down=down, outside=numbers is not None)
    _key(board, places, tall, wide)
    counts = f"{rows} x {columns} = {rows * columns} places on a {height} x {width} image"
    pad_words = f" with padding {padding}" if padding else ""
    words = f"A {kernel_size} x {kernel_size} kernel with stride {stride} has {counts}{pad_words}."
    return board.scene("Windows of a convolution", words)


def _ring(tall: int, wide: int, padding: int) -> set[Cell]:
    rows, columns = range(padding, tall - padding), range(padding, wide - padding)
    return {(i, j) for i in range(tall) for j in range(wide) if i not in rows or j not in columns}


def _window(board: Board, corner: Cell, place: Cell, kernel_size: int, order: int) -> None:
    """Draw a frame; later ones lie a little further inside, so that shared borders stay visible."""
    inset = 2.6 * order
    at = (corner[1] * CELL + inset, corner[0] * CELL + inset)
    side = kernel_size * CELL - 2 * inset
    line = Stroke(COLORS[order], 3.0 if order == 0 else 2.4)
    board.add(Rectangle(at, (side, side), None, line, title=f"window ({place[0]},{place[1]})"))


def _onward(
    board: Board, corner: Cell, kernel_size: int, stride: int, color: str, *, down: bool, outside: bool
) -> None:
    """Draw the arrow from the middle of a window's border one stride on; `outside` the grid where it holds numbers."""
    far, middle, go = kernel_size * CELL, kernel_size * CELL / 2, stride * CELL
    x, y = corner[1] * CELL, corner[0] * CELL
    if down:
        at = -12.0 if outside else x + middle
        board.arrow(((at, y + far), (at, y + far + go)), color=color, line=2.4, title="down")
    else:
        at = -12.0 if outside else y + middle
        board.arrow(((x + far, at), (x + far + go, at)), color=color, line=2.4, title="right")


def _key(board: Board, places: Sequence[Cell], tall: int, wide: int) -> None:
    """Write the index of each window in its color, right of the grid."""
    x, y = wide * CELL + 46, tall * CELL / 2 - 11 * (len(places) - 1)
    for order, (i, j) in enumerate(places):
        at = y + 22 * order
        board.add(Rectangle((x - 18, at - 6), (12, 12), None, Stroke(COLORS[order], 2.4)))
        board.text((x, at), f"({i},{j})", size=13, color=COLORS[order], anchor="start")


def convolution_entry(
    image: Numbers,
    kernel: Numbers,
    place: Cell = (1, 1),
    *,
    flip: bool = True,
    stride: int = 1,
    padding: int = 0,
) -> Scene:
    """Draw how one entry of a convolution is computed: the window, the kernel as it lies on it, and the result.

    Notes: N3.21, N3.24 (§3.2, Ex. 3.6).

    Args:
        image: the rows of the image Y.
        kernel: the rows of the kernel K.
        place: the index (from 1) of the entry.
        flip: convolution; without it, correlation, which does not turn the kernel around.
        stride: how far the kernel moves.
        padding: rings of zeros around the image.

    >>> convolution_entry([[1, 2], [3, 4]], [[1, 0], [0, 10]]).description
    'Entry (1,1) is 1·10 + 2·0 + 3·0 + 4·1 = 14.'
    """
    y, k = (torch.tensor(rows, dtype=torch.float64) for rows in (image, kernel))
    result = (convolve2d if flip else correlate2d)(y, k, stride=stride, padding=padding)
    (i, j), (m, n) = place, k.shape
    between("place (row)", i, 1, result.shape[0])
    between("place (column)", j, 1, result.shape[1])
    padded = torch.nn.functional.pad(y, (padding,) * 4)
    top, left = stride * (i - 1), stride * (j - 1)
    laid = k.flip(0, 1) if flip else k
    tall, wide = padded.shape
    window = [(top + a, left + b) for a in range(m) for b in range(n)]
    whole = [(a, b) for a in range(m) for b in range(n)]
    terms = [
        f"{written(padded[top + a, left + b].item())}·{written(laid[a, b].item())}" for a in range(m) for b in range(n)
    ]
    total = written(result[i - 1, j - 1].item())

    def drawn(*, slim: bool) -> Scene:
        board = Board()
        right = _entry_grid(board, (0.0, 0.0), "Y", "$Y$", padded, window, "weights!25", _ring(tall, wide, padding))
        _put_sign(board, (right, 0), total=False)
        right = _entry_grid(board, (right + 44, 0.0), "K", "$K$, rotated" if flip else "$K$", laid, whole, "weights!25")
        sign = (0.0, ENTRY * (max(tall, m) + len(result)) / 2 + 40) if slim else (right, 0.0)  # on a line of its own
        _put_sign(board, sign, total=True)
        answer = r"$Y \ast K$" if flip else "correlation"
        _entry_grid(board, (sign[0] + 60, sign[1]), "result", answer, result, [(i - 1, j - 1)], "output!25")
        return board.scene("One entry of a convolution", f"Entry ({i},{j}) is {' + '.join(terms)} = {total}.")

    scene = drawn(slim=False)
    return replace(scene, narrower=partial(drawn, slim=True)) if scene.width > FROM else scene


def _entry_grid(
    board: Board,
    at: Point,
    name: str,
    label: str,
    values: Tensor,
    marked: Sequence[Cell],
    fill: str,
    ring: Collection[Cell] = (),
) -> float:
    """Draw a matrix right of a place with its label and some cells marked; return where it ends."""
    (rows, columns), (left, middle) = values.shape, at
    corner, fills = (left, middle - rows * ENTRY / 2), dict.fromkeys(marked, fill)
    put_grid(board, corner, rows, columns, ENTRY, numbers=values.tolist(), fills=fills, faint=ring, name=f"{name} ")
    board.text((left + columns * ENTRY / 2, corner[1] - 16), label, size=14)
    return left + columns * ENTRY


def _connections(size: int, kernel_size: int, stride: int = 1, padding: int = 0) -> list[tuple[int, int]]:
    """List which input (from 1) feeds which output of a 1-d convolution, padding left out."""
    outputs = output_size(size, kernel_size, padding, stride)
    pairs = [(stride * j + k - padding + 1, j + 1) for j in range(outputs) for k in range(kernel_size)]
    return [(i, j) for i, j in pairs if 1 <= i <= size]


def receptive_field_nodes(
    size: int = 5,
    kernel_sizes: Sequence[int] = (3, 3),
    *,
    strides: Sequence[int] | None = None,
    paddings: Sequence[int] | None = None,
    node: int = 3,
) -> Scene:
    """Draw a 1-d convolutional network as nodes and color what one node of the last layer depends on.

    Notes: N3.37 (§3.2, Fig. 22).

    Args:
        size: how many inputs.
        kernel_sizes: the kernel size m of each layer.
        strides: the stride of each layer; 1 without it.
        paddings: the padding of each layer; (m - 1) / 2 without it, which keeps the size.
        node: the number (from 1) of the node of the last layer.

    >>> receptive_field_nodes().description
    'Node 3 of the last layer depends on inputs 1, 2, 3, 4, 5.'
    """
    at_least("len(kernel_sizes)", len(kernel_sizes), 1)
    layers = _layers(size, kernel_sizes, strides, paddings)
    sizes = [size]
    for m, s, p in layers:
        sizes.append(output_size(sizes[-1], m, p, s))
    between("node", node, 1, sizes[-1])
    wires = [_connections(n, m, s, p) for n, (m, s, p) in zip(sizes, layers, strict=False)]
    seen = [{node}]
    for pairs in reversed(wires):
        seen.insert(0, {i for i, j in pairs if j in seen[0]})
    board, spots = Board(), []
    for layer, count in enumerate(sizes):
        spots.append([_field_node(board, layer, k, count, k in seen[layer]) for k in range(1, count + 1)])
    for layer, pairs in enumerate(wires):
        for i, j in pairs:
            inside = j in seen[layer + 1]
            color, line = ("pooling!70!ink", 1.5) if inside else ("arrow", 0.8)
            board.link(spots[layer][i - 1], spots[layer + 1][j - 1], color=color, line=line)
    inputs = ", ".join(map(str, sorted(seen[0])))
    return board.scene("Receptive field", f"Node {node} of the last layer depends on inputs {inputs}.")


def _layers(
    size: int, kernel_sizes: Sequence[int], strides: Sequence[int] | None, paddings: Sequence[int] | None
) -> list[tuple[int, int, int]]:
    strides = [1] * len(kernel_sizes) if strides is None else strides
    paddings = [(m - 1) // 2 for m in kernel_sizes] if paddings is None else paddings
    for name, given in (("strides", strides), ("paddings", paddings)):
        if len(given) != len(kernel_sizes):
            raise ArgumentError(
                f"`{name}` must have as many entries as `kernel_sizes` ({len(kernel_sizes)}), got {len(given)}."
            )
    return list(zip(kernel_sizes, strides, paddings, strict=True))


def _field_node(board: Board, layer: int, k: int, count: int, seen: bool) -> Spot:
    at = (layer * 110.0, 44.0 * (k - (count + 1) / 2))
    role, shade = ("pooling", 35) if seen else ("paper", 100)
    return board.node(at, f"$y^{{[{layer}]}}_{{{k}}}$", role, name=f"y[{layer}]{k}", shade=shade)
