"""The pieces of a drawn stack: a layer or a stage as a solid block or a flat box, before it has its place."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lamina.drawing._layers import THIN, Layer, Stage, in_lines
from lamina.drawing.scene import Path, Point, Polygon, Rectangle, Shape, Stroke, Text, box, moved, outline
from lamina.drawing.text import width

SMALL = 12.0
"""The size of shapes and notes."""
SLICE, BOX = 7.0, 30.0
"""The width of a thin layer in solid blocks, and of a flat box."""
INSIDE = 0.4
"""Blocks inside a stage have this share of their width."""


@dataclass(frozen=True)
class Piece:
    """Something to place: shapes from 0 to `right`, where an arrow enters and leaves, and the words below."""

    shapes: tuple[Shape, ...]
    right: float
    center: float
    words: tuple[str, ...]
    need: float
    enter: float = 0.0
    leave: float = 0.0


def sides(layer: Layer, narrow: float = 1.0) -> tuple[float, float, float]:
    """Give a block its width, height and depth: they grow with the logarithm, so that 227 pixels fit."""
    if len(layer.shape) == 3:
        tall = 14 + 16 * math.log2(1 + max(layer.shape[1:]))
        wide, deep = 4 + 4 * math.log2(1 + layer.shape[0]), 0.18 * tall
    else:
        wide, tall, deep = 14.0, 18 + 9.5 * math.log2(1 + layer.shape[-1]), 6.0
    slim = SLICE * (0.3 + 0.7 * narrow)
    return (slim if layer.kind in THIN else max(narrow * wide, slim)), tall, deep * (0.3 + 0.7 * narrow)


def solid(layer: Layer, left: float = 0.0, narrow: float = 1.0) -> list[Shape]:
    """Draw one block around the height 0: lid, side and front."""
    wide, tall, deep = sides(layer, narrow)
    right, top, bottom, role = left + wide, (deep - tall) / 2, (deep + tall) / 2, layer.role
    back, edge = -deep, Stroke(f"{role}!50!ink", 0.9)
    lid = ((left, top), (left + deep, top + back), (right + deep, top + back), (right, top))
    side = ((right, top), (right + deep, top + back), (right + deep, bottom + back), (right, bottom))
    shares = ("95", "60", "82!ink") if layer.kind in ("dense", "pooling") else ("55", "28", "40")
    front = Rectangle((left, top), (wide, tall), f"{role}!{shares[0]}", edge, title=str(layer))
    return [Polygon(lid, f"{role}!{shares[1]}", edge), Polygon(side, f"{role}!{shares[2]}", edge), front]


def block(layers: Sequence[Layer], *, narrow: float = 1.0, note: bool = True) -> Piece:
    """Draw a layer and the thin ones behind it as one solid piece."""
    shapes, right = list[Shape](), 0.0
    for layer in layers:
        shapes.extend(solid(layer, right, narrow))
        right += sides(layer, narrow)[0]
    first, (_, tall, deep) = layers[0], sides(layers[0], narrow)
    words = in_lines(layers[-1].shape)
    need = max(width(word, SMALL) for word in words)
    if note and first.note:
        lines = first.note.split(", ")
        for place, line in enumerate(reversed(lines)):
            at = ((right + deep) / 2, -(tall + deep) / 2 - 10 - 14 * place)
            shapes.append(Text(at, line, SMALL, "muted", "middle"))
            need = max(need, width(line, SMALL))
    return Piece(tuple(shapes), right + deep, right / 2, words, need, leave=right + deep / 2)


def boxed(layer: Layer, tall: float) -> Piece:
    """Draw a layer as a flat box of a given height with its name."""
    name = f"{layer.called} {layer.note}".strip()
    share = 55 if layer.kind in ("dense", "pooling") else 16
    frame = Rectangle((0, -tall / 2), (BOX, tall), f"{layer.role}!{share}", Stroke(f"{layer.role}!70!ink", 1.3), 5)
    text = Text((BOX / 2, 0), name, SMALL, "ink", "middle", angle=90)
    words = in_lines(layer.shape)
    return Piece(
        (replace(frame, title=str(layer)), text),
        BOX,
        BOX / 2,
        words,
        max(width(word, SMALL) for word in words),
        leave=BOX,
    )


def grouped(layers: Sequence[Layer]) -> list[list[int]]:
    """Put the places of thin layers to the layer that they follow."""
    found: list[list[int]] = []
    for place, layer in enumerate(layers):
        if found and layer.kind in THIN and layer.shape == layers[place - 1].shape:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def staged(stage: Stage, parts: Sequence[Piece], groups: Sequence[Sequence[int]], gap: float) -> Piece:
    """Put the parts of a stage into a frame with its name, and draw its skip connections."""
    pad, x, shapes, lefts = 9.0, 9.0, list[Shape](), list[float]()
    for part in parts:
        lefts.append(x)
        shapes.extend(moved(shape, x, 0.0) for shape in part.shapes)
        x += part.right + gap
    for number, (before, after) in enumerate(pairwise(parts)):
        shapes.extend(link(lefts[number] + before.leave, lefts[number + 1] + after.enter))
    right = x - gap + pad
    where = {place: number for number, group in enumerate(groups) for place in group}
    for number, (first, last) in enumerate(stage.skips):
        entered, left = where[first], where[last]
        top = min(box(shape)[1] for part in parts[entered : left + 1] for shape in part.shapes)
        up: tuple[Point, ...] = ()
        if entered:  # behind the last layer of the block before
            x = lefts[entered - 1] + _behind(parts[entered - 1], len(groups[entered - 1]) - 1)
        else:  # from the arrow that enters the stage, straight up to the top
            x, up = lefts[entered] - 5, tuple((lefts[entered] - 5, share * (top + 4)) for share in (0, 1 / 3, 2 / 3))
        end = (lefts[left] + _behind(parts[left], groups[left].index(last)), top + 4)
        points = (*up, (x, top + 4), (x + 2, top - 24), (end[0] - 4, top - 24), end)
        curve = Path(points, Stroke("accent", 1.4), "end", curve=True, title="skip connection")
        shapes.extend([curve, *(_projection(curve) if number in stage.projected else ())])
    top, bottom = min(box(s)[1] for s in shapes) - pad, max(box(s)[3] for s in shapes) + pad
    frame = Rectangle((0, top), (right, bottom - top), "stage!12", Stroke("stage", 1.0, (4, 3)), 7)
    name = Text((right / 2, top - 11), stage.name, 14.0, "ink", "middle", bold=True)
    words = in_lines(stage.layers[-1].shape)
    need = max(right, *(width(word, SMALL) for word in words), width(stage.name, 14.0, bold=True))
    return Piece((frame, *shapes, name), right, right / 2, words, need, leave=right)


def _projection(curve: Path) -> list[Shape]:
    """Draw the 1 x 1 convolution of a shortcut that changes the shape, on the top of its curve."""
    x, y = min(outline(curve), key=lambda point: point[1])
    edge = Stroke("weights!50!ink", 0.9)
    return [
        Rectangle((x - 15, y - 8.5), (30, 17), "weights!30", edge, 2, title="1×1 convolution of the skip connection"),
        Text((x, y), "1×1", 11.0, "ink", "middle"),
    ]


def _behind(piece: Piece, number: int) -> float:
    """Find where a skip connection ends behind one layer of a piece: on the rear edge of a lid, or behind a box."""
    lids = [shape for shape in piece.shapes if isinstance(shape, Polygon)][::2]
    boxes = [shape for shape in piece.shapes if isinstance(shape, Rectangle)]
    return box(lids[number])[2] - 4 if lids else box(boxes[number])[2] + 3


def link(start: float, end: float) -> list[Shape]:
    """Draw a short arrow at the height 0 where there is room for one."""
    if end - start < 9:
        return []
    return [Path(((start + 1.5, 0.0), (end - 1.5, 0.0)), Stroke("arrow", 1.1), "end")]
