"""The fonts of the drawings: the advance widths, which lay out a drawing without a font library, and the math fonts.

Words are set in DejaVu Sans, formulas in the fonts of KaTeX, as in the text around a drawing: those of `fonts/` are
KaTeX_Math-Italic and KaTeX_Main-Regular with the characters of `drawing.text` alone (fontTools.subset). `widths.json`
was made once from the font files: for each width the characters that have it, in 1/2048 of the font size for DejaVu
Sans and in 1/1000 for KaTeX. The oblique face of DejaVu Sans has the widths of the regular one.
"""

import json
from base64 import b64encode
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

WIDE = 0.95
"""The width given to a character that the tables lack."""
MATH = 1.18
"""Formulas are set larger by this factor, as KaTeX does, since their small letters are lower than those of words."""
FAMILY = "Lamina Math"
"""The name of the math fonts in style sheets; its italic style holds the letters, its normal style everything else."""


def _by_character(groups: dict[str, str], unit: int) -> dict[str, float]:
    return {character: int(width) / unit for width, characters in groups.items() for character in characters}


_FOLDER = files("lamina.drawing").joinpath("fonts")
_FACES = json.loads(_FOLDER.joinpath("widths.json").read_text(encoding="utf-8"))
REGULAR, BOLD = _by_character(_FACES["regular"], 2048), _by_character(_FACES["bold"], 2048)
ITALIC, UPRIGHT = (_by_character(_FACES[name], 1000) for name in ("italic", "upright"))


def math_path(italic: bool, suffix: str = ".ttf") -> Traversable:
    """Find a math font: ".ttf" for matplotlib, ".woff2" for pages.

    >>> math_path(True).name
    'math-italic.ttf'
    """
    return _FOLDER.joinpath(f"math-{'italic' if italic else 'upright'}{suffix}")


@cache
def math_face(italic: bool) -> str:
    """Write the rule of a style sheet that holds a math font.

    >>> math_face(True)[:58]
    '@font-face{font-family:"Lamina Math";font-style:italic;src'
    """
    data, style = b64encode(math_path(italic, ".woff2").read_bytes()).decode(), "italic" if italic else "normal"
    source = f'url("data:font/woff2;base64,{data}") format("woff2")'
    return f'@font-face{{font-family:"{FAMILY}";font-style:{style};src:{source}}}'
