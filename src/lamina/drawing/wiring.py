"""Wiring diagrams: named parts and the wires between them, which can be drawn and can be computed.

One list of parts and wires is both the picture and the computation: `draw` puts it on a scene, `evaluate` sends numbers
through it. So a test can say that a drawn cell is the cell of the equations.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import torch

from lamina._errors import ArgumentError
from lamina._types import Tensor
from lamina.drawing.parts import Board, Spot
from lamina.drawing.scene import Path, Point, Rectangle, Scene, Stroke, Text
from lamina.drawing.text import width

Map = Callable[[Tensor], Tensor]
NODE, WIDER, SLIM = 21.0, 25.0, 384.0
"""The radius of a node, that in a narrow place, where letters are larger, and the width of a cell there."""
_NODES = {"input": "input", "state": "hidden", "output": "output"}
_BOXES = ("weights", "sigmoid", "tanh")


@dataclass(frozen=True)
class Part:
    """A part of a cell.

    Its kind is "input", "state" or "output" (colored nodes), "weights", "sigmoid" or "tanh" (boxes), or one of the
    joints "concatenate", "product", "sum" and "one minus".
    """

    name: str
    kind: str
    at: Point
    label: str = ""


@dataclass(frozen=True)
class Wire:
    """A wire from part to part through corners.

    With `fork` it starts at a point of an earlier wire of its source; at `bridge` it passes over another wire.
    """

    source: str
    target: str
    via: tuple[Point, ...] = ()
    fork: Point | None = None
    bridge: Point | None = None


@dataclass(frozen=True)
class Wiring:
    """A cell: its frame (left, top, right, bottom), parts, wires in order, and notes beside the wires."""

    title: str
    frame: tuple[float, float, float, float]
    parts: tuple[Part, ...]
    wires: tuple[Wire, ...]
    notes: tuple[Text, ...] = ()
    description: str = ""

    def squeezed(self, share: float) -> "Wiring":
        """Put everything closer together from left to right; of the notes, formulas stay, and numbers below them.

        >>> wire = Wire("a", "b", via=((100, 7),))
        >>> found = Wiring("", (0, 0, 9, 9), (), (wire,), (Text((50, 20), "reset $r$ = 2"),)).squeezed(0.5)
        >>> found.wires[0].via, [(note.at, note.content) for note in found.notes]
        (((50.0, 7),), [((25.0, 7), '$r$'), ((25.0, 24), '2')])
        """
        left, top, right, bottom = self.frame
        return replace(
            self,
            frame=(share * left, top, share * right, bottom),
            parts=tuple(replace(part, at=_closer(part.at, share)) for part in self.parts),
            wires=tuple(
                replace(
                    wire,
                    via=tuple(_closer(point, share) for point in wire.via),
                    fork=wire.fork and _closer(wire.fork, share),
                    bridge=wire.bridge and _closer(wire.bridge, share),
                )
                for wire in self.wires
            ),
            notes=tuple(short for note in self.notes for short in _shortened(note, share)),
        )


def _shortened(note: Text, share: float) -> list[Text]:
    (x, y), words = _closer(note.at, share), note.content[max(0, note.content.find("$")) :].split(" = ")
    return [
        replace(note, at=(x, y + 4 - 17 * (len(words) - 1 - line)) if len(words) > 1 else (x, y), content=word)
        for line, word in enumerate(words)
    ]


def _closer(point: Point, share: float) -> Point:
    return share * point[0], point[1]


def evaluate(wiring: Wiring, values: Mapping[str, Tensor], maps: Mapping[str, Map]) -> dict[str, Tensor]:
    """Send numbers through a wiring, part by part, and return what leaves each part.

    Several wires into a box or a node are concatenated in the order of the wires. A box first applies its map, an
    affine map say, then its activation.

    Args:
        wiring: the parts and wires.
        values: what the parts without an incoming wire hold.
        maps: the affine maps of parts, by name; parts without one pass on what they get.

    >>> parts = (Part("u", "input", (0, 0)), Part("a", "tanh", (0, 0)), Part("h", "state", (0, 0)))
    >>> line = Wiring("a line", (0, 0, 1, 1), parts, (Wire("u", "a"), Wire("a", "h")))
    >>> evaluate(line, {"u": torch.tensor([1.0])}, {"a": lambda z: z - 1})["h"]
    tensor([0.])
    """
    kinds = {part.name: part.kind for part in wiring.parts}
    found: dict[str, Tensor] = dict(values)

    def value(name: str) -> Tensor:
        if name not in found:
            incoming = [value(wire.source) for wire in wiring.wires if wire.target == name]
            if not incoming:
                raise ArgumentError(f"`values` must hold {name!r}: no wire leads to it; got {', '.join(values)}.")
            found[name] = _result(kinds[name], incoming, maps.get(name))
        return found[name]

    for part in wiring.parts:
        value(part.name)
    return found


def _result(kind: str, incoming: list[Tensor], apply: Map | None) -> Tensor:
    if kind == "product":
        return torch.stack(incoming).prod(0)
    if kind == "sum":
        return torch.stack(incoming).sum(0)
    z = torch.cat(incoming, -1)
    if kind == "one minus":
        return 1 - z
    z = z if apply is None else apply(z)
    return {"sigmoid": torch.sigmoid, "tanh": torch.tanh}.get(kind, lambda same: same)(z)


def draw(wiring: Wiring, *, legend: bool = True, node: float = NODE) -> Scene:
    r"""Draw a wiring: the frame of the cell, its wires and parts, and below it what the circles mean.

    In a narrow place its parts stand closer together.

    Args:
        wiring: the cell.
        legend: whether the circles are explained.
        node: the radius of inputs, states and outputs.

    >>> parts = (Part("u", "input", (0, 90), "$u$"), Part("a", "tanh", (0, 40), r"$\tanh$"))
    >>> draw(Wiring("a line", (-40, 0, 40, 60), parts, (Wire("u", "a"),)), legend=False).title
    'a line'
    """
    board = Board()
    left, top, right, bottom = wiring.frame
    frame = Stroke("hidden!30!ink", 1.2)
    board.add(Rectangle((left, top), (right - left, bottom - top), "hidden!14", frame, radius=10, title="cell"))
    spots = {part.name: _part(Board(), part, node) for part in wiring.parts}
    for wire in sorted(wiring.wires, key=lambda wire: wire.bridge is not None):
        _wire(board, wire, spots)
    for part in wiring.parts:
        _part(board, part, node)
    board.add(*wiring.notes)
    if legend:
        _legend(board, wiring)
    made = board.scene(wiring.title, wiring.description)
    if made.width <= SLIM + 2:
        return made
    across = [part.at[0] for part in wiring.parts]
    slim = wiring.squeezed((SLIM - 2 * WIDER - 2 * 8) / (max(across) - min(across)))
    return replace(made, narrower=partial(draw, slim, legend=legend, node=WIDER))


def _part(board: Board, part: Part, node: float) -> Spot:
    if part.kind in _NODES:
        return board.node(part.at, part.label, _NODES[part.kind], name=part.name, radius=node, size=11.5)
    if part.kind in _BOXES:
        role = "weights" if part.kind == "weights" else "activation"
        return board.plate(part.at, part.label, role, name=part.name, high=24, size=12)
    return board.joint(part.at, part.kind, name=part.name)


def _wire(board: Board, wire: Wire, spots: Mapping[str, Spot]) -> None:
    source, target = spots[wire.source], spots[wire.target]
    corners = (*wire.via, target.center)
    start = wire.fork or source.border(corners[0])
    before = wire.via[-1] if wire.via else start
    points = (start, *wire.via, target.border(before, 1.0))
    if wire.bridge:  # a gap in what it crosses, so that nobody reads a fork there
        x, y = wire.bridge
        board.add(Path(((x, y - 3), (x, y + 3)), Stroke("hidden!14", 8.0)))
    if wire.fork:
        board.dot(wire.fork)
    board.arrow(points, title=f"{wire.source} to {wire.target}")


def _legend(board: Board, wiring: Wiring) -> None:
    """Explain the circles that occur, in one row below the cell."""
    left, _, right, bottom = wiring.frame
    words = {"concatenate": "concatenate", "product": "Hadamard product", "sum": "add"}
    x, y, room, grown = left + 100, bottom + 46, 36.0, 1.0
    if right - left < 400:  # in a narrow place letters are larger, and there is no room beside the input
        x, y, room, grown = left - 34, bottom + 88, 32.0, 1.3
    for kind in (kind for kind in words if any(part.kind == kind for part in wiring.parts)):
        board.joint((x, y), kind, radius=7)
        board.text((x + 12, y), words[kind], size=11, color="muted", anchor="start")
        x += room + grown * width(words[kind], 11)
