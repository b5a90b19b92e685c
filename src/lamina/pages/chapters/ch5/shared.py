"""Drawings with live numbers for the pages of chapter 5."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lamina._types import Tensor
from lamina.drawing.cells import CELLS
from lamina.drawing.heat_map import ramp_color
from lamina.drawing.scene import Picture, Scene, Shape, Text
from lamina.drawing.text import width as text_width
from lamina.drawing.wiring import Part, draw

_GATES = {
    r"reset $\Gamma_r$": ("r", r"$\Gamma_r$"),
    r"update $\Gamma_u$": ("z", r"$\Gamma_u$"),
    r"$\tilde{h}^{<t>}$": ("candidate", r"$\tilde{h}$"),
    r"forget $\Gamma_f$": ("f", r"$\Gamma_f$"),
    r"input $\Gamma_i$": ("i", r"$\Gamma_i$"),
    r"output $\Gamma_o$": ("o", r"$\Gamma_o$"),
    r"$\tilde{c}^{<t>}$": ("candidate", r"$\tilde{c}$"),
}
"""The words beside a wiring, with the part whose number can stand there instead."""


def number(value: float) -> str:
    """Write a number with two decimals and a true minus.

    >>> number(-0.456), number(0.0)
    ('−0.46', '0.00')
    """
    return f"{value + 0.0:.2f}".replace("-", "−")


def live_cell(kind: str, values: Mapping[str, Tensor]) -> Scene:
    r"""Draw a gated cell with the numbers that `drawing.wiring.evaluate` sends through its wires.

    Args:
        kind: "gru" or "lstm".
        values: what leaves each part, one number each.

    >>> import torch
    >>> from lamina.drawing.cells import GRU
    >>> scene = live_cell("gru", {part.name: torch.tensor([0.5]) for part in GRU.parts})
    >>> any(getattr(shape, "content", "") == r"$\Gamma_r$ = 0.50" for shape in scene.shapes)
    True
    """
    wiring = CELLS[kind]
    notes = []
    for note in wiring.notes:
        name, words = _GATES.get(note.content, ("", note.content))
        if note.anchor == "start":  # a number would reach beyond the frame: to the other side of the wire
            note = replace(note, at=(note.at[0] - 12, note.at[1]), anchor="end")
        notes.append(replace(note, content=f"{words} = {number(values[name].item())}" if name else words))
    for part in wiring.parts:
        place = _beside(part)
        if place is not None:
            at, anchor = place
            notes.append(Text(at, number(values[part.name].item()), 11.0, "accent", anchor, bold=True))  # type: ignore[arg-type]
    return draw(replace(wiring, notes=tuple(notes)), legend=False)


def _beside(part: Part) -> tuple[tuple[float, float], str] | None:
    """Say where the number of a part stands; boxes have theirs beside their wire already."""
    (x, y), kind = part.at, part.kind
    if kind in ("input", "state"):
        return (x, y + 31), "middle"
    if kind == "output":
        return (x + 27, y), "start"
    if part.name == "read":  # a wire runs at its right
        return (x - 10, y + 15), "end"
    if kind in ("product", "sum", "one minus"):
        return (x + 13, y - 13), "start"
    return None


def cell_grid(
    rows: Sequence[Sequence[float]],
    words: Sequence[str],
    *,
    low: float = 0.0,
    high: float = 1.0,
    title: str = "",
    unit: str = "unit",
    cell: tuple[float, float] = (46.0, 14.0),
    names: Sequence[str] = (),
) -> Scene:
    """Draw numbers of units over words as colors, one column a word, the word below its column.

    Args:
        rows: one row a unit, one number a word.
        words: what was read or written at each time.
        low: the number of the lightest color.
        high: the number of the darkest color.
        title: above the colors.
        unit: what stands at the left.
        cell: the size of one field in points.
        names: of the rows; without them `unit` stands there once.

    >>> scene = cell_grid([[0.0, 1.0]], ["the", "cat"])
    >>> [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    ['unit', 'the', 'cat']
    """
    wide, tall = cell
    left = 12 + max([text_width(name, 11) for name in names] or [14.0])
    top = 24.0 if title else 6.0
    span = high - low or 1.0
    pixels = [[ramp_color((value - low) / span) for value in row] for row in rows]
    height = tall * len(rows)
    shapes: list[Shape] = [Picture((left, top), (wide * len(words), height), pixels)]
    if title:
        shapes.append(Text((left, 11), title, 12.0, "muted"))
    if names:
        shapes += [Text((left - 6, top + (i + 0.5) * tall), name, 11.0, "muted", "end") for i, name in enumerate(names)]
    else:
        shapes.append(Text((left - 10, top + height / 2), unit, 11.0, "muted", "middle", angle=90.0))
    for i, word in enumerate(words):
        plain = word.replace("\\", "").replace("$", r"\$")  # what a visitor typed is no formula
        if text_width(plain, 11) > wide * 1.05:
            plain = word.replace("\\", "").replace("$", "")[: max(3, int(wide / 7))] + "…"
        shapes.append(Text((left + (i + 0.5) * wide, top + height + 12), plain, 11.0, "ink", "middle"))
    size = (left + wide * len(words) + 6, top + height + 24)
    return Scene(*size, tuple(shapes), title or "units over words", f"{len(rows)} units over {len(words)} words")
