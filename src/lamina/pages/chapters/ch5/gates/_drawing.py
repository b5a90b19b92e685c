"""The drawing of the page on gates."""

from collections.abc import Mapping
from dataclasses import replace

from lamina._types import Tensor
from lamina.drawing.cells import CELLS
from lamina.drawing.scene import Scene, Text
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
        notes.append(replace(note, content=f"{words} = {number(values[name].item())}" if name else words))
    for part in wiring.parts:
        place = _beside(part)
        if place is not None:
            at, anchor = place
            notes.append(Text(at, number(values[part.name].item()), 11.0, "accent!55!ink", anchor, bold=True))  # type: ignore[arg-type]
    return draw(replace(wiring, notes=tuple(notes)), legend=False)


def _beside(part: Part) -> tuple[tuple[float, float], str] | None:
    """Say where the number of a part stands; boxes have theirs beside their wire already."""
    (x, y), kind = part.at, part.kind
    if kind in ("input", "state"):
        return (x, y + 34), "middle"
    if kind == "output":
        return (x + 35, y), "start"
    if part.name == "read":  # a wire runs at its right
        return (x - 10, y - 14), "end"
    if part.name == "write":  # the frame is near at its right
        return (x - 13, y - 13), "end"
    if kind in ("product", "sum", "one minus"):
        return (x + 13, y - 13), "start"
    return None
