"""Advance widths of the font DejaVu Sans, so that a drawing is laid out without a font library.

`dejavu.json` was made once from the font files that matplotlib carries: for each width, in 1/2048 of the font size, the
characters that have it. The oblique face has the widths of the regular one.
"""

import json
from importlib.resources import files

WIDE = 0.95
"""The width given to a character that the tables lack."""


def _by_character(groups: dict[str, str]) -> dict[str, float]:
    return {character: int(width) / 2048 for width, characters in groups.items() for character in characters}


_FACES = json.loads(files("lamina.drawing").joinpath("dejavu.json").read_text(encoding="utf-8"))
REGULAR, BOLD = _by_character(_FACES["regular"]), _by_character(_FACES["bold"])
