"""A square to draw a digit in, with the mouse, a finger or a pen; its ink comes back as a tensor."""

import base64
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lamina._errors import MissingExtraError
from lamina._types import Float, Tensor

if TYPE_CHECKING:
    from marimo import ui as marimo_ui

PAD = 140
"""Pixels of the square that a page sends; a digit needs no more."""


@cache
def _widget() -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise MissingExtraError("anywidget", "notes", "drawing a digit") from error
    static = files("lamina.pages").joinpath("static")

    class DigitPad(anywidget.AnyWidget):
        """The square; `ink` holds one byte per pixel, row by row, as base64."""

        _esm = static.joinpath("pad.js").read_text(encoding="utf-8")
        _css = static.joinpath("pad.css").read_text(encoding="utf-8")
        ink = traitlets.Unicode("").tag(sync=True)
        label = traitlets.Unicode("").tag(sync=True)
        side = traitlets.Int(PAD).tag(sync=True)

    return DigitPad


def digit_pad(label: str = "Draw a digit") -> "marimo_ui.anywidget":
    """Make a square to draw in; `strokes(pad.value)` is its ink.

    Args:
        label: what to draw, also for screen readers.
    """
    import marimo as mo

    return mo.ui.anywidget(_widget()(label=label))


def strokes(value: dict[str, Any]) -> Float[Tensor, "row column"] | None:
    """Return the ink of a square, from 0 to 1; None while nothing is drawn.

    Args:
        value: the `.value` of what `digit_pad` returned.

    >>> strokes({"ink": "", "side": 2}) is None
    True
    >>> strokes({"ink": base64.b64encode(bytes([0, 255, 51, 0])).decode(), "side": 2}).tolist()
    [[0.0, 1.0], [0.20000000298023224, 0.0]]
    """
    import torch

    try:
        raw = base64.b64decode(value.get("ink", ""))
    except ValueError:  # no page sends that
        return None
    side = int(value.get("side", PAD))
    if len(raw) != side * side or not any(raw):
        return None
    return torch.frombuffer(bytearray(raw), dtype=torch.uint8).reshape(side, side).float() / 255
