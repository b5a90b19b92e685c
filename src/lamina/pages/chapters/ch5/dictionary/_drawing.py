"""The drawing of the page on the dictionary: a text as tokens, each with its number."""

from collections.abc import Sequence
from functools import partial

from lamina.drawing.scene import FROM, NARROW, Rectangle, Scene, Shape, Stroke, Text
from lamina.drawing.text import width as text_width

UNKNOWN = 1
"""The number of a word that is not in the dictionary."""
_HIGH, _GAP = 40.0, 6.0


def numbered(tokens: Sequence[str], numbers: Sequence[int], width: float = 560.0) -> Scene:
    """Draw tokens in boxes, line by line, with their numbers below them; unknown ones have a dashed frame.

    Args:
        tokens: as they are read.
        numbers: those of the dictionary.
        width: of the scene.

    >>> scene = numbered(["the", "sun"], [8, 1])
    >>> [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    ['the', '8', 'sun', '1']
    """
    shapes: list[Shape] = []
    x, y = _GAP, _GAP
    for token, number in zip(tokens, numbers, strict=True):
        plain = (token.replace("\n", "↵").replace(" ", "␣").replace("\\", "") or "␣").replace("$", r"\$")
        wide = max(text_width(plain, 14), text_width(str(number), 12)) + 16
        if x > _GAP and x + wide > width - _GAP:
            x, y = _GAP, y + _HIGH + _GAP
        known = number != UNKNOWN
        frame = Stroke("hidden" if known else "output", 1.2, () if known else (4.0, 3.0))
        shapes += [
            Rectangle((x, y), (wide, _HIGH), "hidden!12" if known else "output!12", frame),
            Text((x + wide / 2, y + 13), plain, 14.0, "ink", "middle"),
            Text((x + wide / 2, y + 30), str(number), 12.0, "ink", "middle"),
        ]
        x += wide + _GAP
    about = f"{len(tokens)} tokens with their numbers"
    narrower = partial(numbered, tokens, numbers, NARROW) if width > FROM else None
    return Scene(width, y + _HIGH + _GAP, tuple(shapes), "tokens and numbers", about, narrower)
