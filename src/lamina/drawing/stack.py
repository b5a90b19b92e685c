"""Stacks of layers with the shapes of what they compute: solid blocks in the notes' colors, or flat boxes.

Convolutions are yellow, detectors violet, normalizations brown, pooling orange, dense layers bright yellow. `stack`
draws plain shapes, `stack_of` those of a model.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from lamina._errors import ArgumentError, choice
from lamina.drawing._layers import NAMES, ROLES, THIN, Item, Layer, Stage, flat
from lamina.drawing._pieces import INSIDE, SMALL, Piece, block, boxed, grouped, link, staged
from lamina.drawing.scene import FROM, Rectangle, Scene, Shape, Stroke, Text, box, fitted, moved
from lamina.drawing.text import width

if TYPE_CHECKING:
    from torch import Tensor, nn

WIDEST, SLIM = 900.0, 330.0
"""The largest width of a row of pieces, and that in a narrow place; the rest goes to the next row."""
STYLES = ("blocks", "boxes")


def stack(items: Sequence[Item], *, style: str = "blocks", legend: bool = True, title: str = "Layers") -> Scene:
    """Draw layers from left to right with their shapes below them.

    Notes: N3.06, N3.49, N4.30 (§3, §3.5, §4.2, Figs. 17, 24, 31).

    Args:
        items: layers, and stages of layers in frames.
        style: "blocks" for solid blocks whose sides grow with the logarithm of the shape; "boxes" for flat boxes with
            the names of the layers.
        legend: whether the colors of solid blocks are explained.
        title: what it is.

    >>> stack([Layer("input", (1, 28, 28)), Layer("dense", (10,))], title="A classifier").description
    'input 1×28×28, fully connected 10.'
    """
    choice("style", style, STYLES)
    items = [item for item in items if isinstance(item, Stage) or item.kind != "flatten"]
    if not items:
        raise ArgumentError("`items` must hold at least 1 layer, got 0: a flattening alone has nothing to draw.")
    pieces, gap = (_blocks(items), 20.0) if style == "blocks" else (_boxes(items), 16.0)
    shown = [str(item) for item in items if isinstance(item, Stage) or item.kind not in THIN]

    def laid(widest: float) -> Scene:
        shapes = _rows(pieces, gap, widest)
        if legend and style == "blocks":
            shapes.extend(_legend(items, shapes))
        return fitted(shapes, title=title, description=f"{', '.join(shown)}.", margin=8)

    made = laid(WIDEST)
    return replace(made, narrower=partial(laid, SLIM)) if made.width > FROM else made


def _blocks(items: Sequence[Item]) -> list[Piece]:
    pieces: list[Piece] = []
    row: list[Layer] = []

    def close() -> None:
        pieces.extend(block([row[place] for place in group]) for group in grouped(row))
        row.clear()

    for item in items:
        if isinstance(item, Layer):
            row.append(item)
            continue
        close()
        groups = grouped(item.layers)
        parts = [block([item.layers[p] for p in group], narrow=INSIDE, note=False) for group in groups]
        pieces.append(staged(item, parts, groups, 8.0))
    close()
    return pieces


def _boxes(items: Sequence[Item]) -> list[Piece]:
    tall = max(width(f"{layer.called} {layer.note}".strip(), SMALL) for layer in flat(items)) + 18
    pieces = []
    for item in items:
        if isinstance(item, Layer):
            pieces.append(boxed(item, tall))
        else:
            groups = [[place] for place in range(len(item.layers))]
            pieces.append(staged(item, [boxed(layer, tall) for layer in item.layers], groups, 14.0))
    return pieces


def _placed(pieces: Sequence[Piece], gap: float) -> list[float]:
    """Find the left edges: neither the pieces nor the words below them may touch."""
    lefts = [0.0]
    for before, after in pairwise(pieces):
        by_pieces = lefts[-1] + before.right + gap
        by_words = lefts[-1] + before.center + (before.need + after.need) / 2 + 9 - after.center
        lefts.append(max(by_pieces, by_words))
    return lefts


def _rows(pieces: Sequence[Piece], gap: float, widest: float) -> list[Shape]:
    """Place pieces in as many rows as they need, of about equal lengths."""
    total = _placed(pieces, gap)[-1] + pieces[-1].right
    limit = total / -(-total // widest) + 40 if widest == WIDEST else widest
    rows: list[list[Piece]] = [[]]
    for piece in pieces:
        if rows[-1] and _placed([*rows[-1], piece], gap)[-1] + piece.right > limit:
            rows.append([])
        rows[-1].append(piece)
    shapes, y = list[Shape](), 0.0
    for row in rows:
        drawn = _row(row, gap)
        top, bottom = min(box(s)[1] for s in drawn), max(box(s)[3] for s in drawn)
        shapes.extend(moved(shape, 0.0, y - top) for shape in drawn)
        y += bottom - top + 26
    return shapes


def _row(pieces: Sequence[Piece], gap: float) -> list[Shape]:
    lefts = _placed(pieces, gap)
    floor = max(box(shape)[3] for piece in pieces for shape in piece.shapes) + 14
    shapes: list[Shape] = []
    for number, (piece, left) in enumerate(zip(pieces, lefts, strict=True)):
        if number:
            shapes.extend(link(lefts[number - 1] + pieces[number - 1].leave, left + piece.enter))
        shapes.extend(moved(shape, left, 0.0) for shape in piece.shapes)
    for piece, left in zip(pieces, lefts, strict=True):
        for place, word in enumerate(piece.words):
            shapes.append(Text((left + piece.center, floor + 15 * place), word, SMALL, "ink", "middle"))
    return shapes


def _legend(items: Sequence[Item], shapes: Sequence[Shape]) -> list[Shape]:
    """Explain the colors below the drawing, in its middle; in two lines where one is too long."""
    kinds = [kind for kind in ROLES if kind != "input" and any(layer.kind == kind for layer in flat(items))]
    left, right = min(box(s)[0] for s in shapes), max(box(s)[2] for s in shapes)
    lines: list[list[str]] = [[]]
    for kind in kinds:
        if lines[-1] and sum(map(_entry, [*lines[-1], kind])) > max(1.2 * (right - left), 200):
            lines.append([])
        lines[-1].append(kind)
    found, y = list[Shape](), max(box(s)[3] for s in shapes) + 24
    for line in lines:
        x = (left + right - sum(map(_entry, line)) + 18) / 2
        for kind in line:
            share = 95 if kind in ("dense", "pooling") else 50
            edge = Stroke(f"{ROLES[kind]}!50!ink", 0.9)
            found.append(Rectangle((x, y - 6), (12, 12), f"{ROLES[kind]}!{share}", edge))
            found.append(Text((x + 18, y), NAMES.get(kind, kind), SMALL))
            x += _entry(kind)
        y += 20
    return found


def _entry(kind: str) -> float:
    return 36 + width(NAMES.get(kind, kind), SMALL)


def stack_of(
    model: "nn.Module", inputs: "Tensor | tuple[int, ...]", *, style: str = "blocks", title: str = ""
) -> Scene:
    """Draw the layers of a model with the shapes of one forward pass.

    Notes: N3.06, N3.49, N4.30 (§3, §3.5, §4.2).

    Args:
        model: the model.
        inputs: a batch, or the shape of one example; a model that reads tokens needs a batch of them.
        style: "blocks" or "boxes"; boxes show the names of the layers.
        title: what it is; empty for the class of the model.

    >>> import lamina
    >>> stack_of(lamina.build("fnn", inputs=4, outputs=3, hidden=5), (4,)).description
    'input 4, fully connected 5, fully connected 3.'
    """
    from lamina.drawing._model_layers import layers_of

    return stack(layers_of(model, inputs), style=style, title=title or type(model).__name__)
