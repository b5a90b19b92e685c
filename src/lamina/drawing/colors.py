"""The colors of the drawings: named roles with a light and a dark value, and mixtures of them.

A color is a role (`"input"`), a role mixed with the paper (`"input!20"`: 20 % of it), with another role
(`"input!60!ink"`), or a plain `"#rrggbb"`. The roles follow the drawings of the notes: green inputs, blue hidden nodes,
red outputs; yellow weights, violet activations, brown normalizations, orange pooling, bright yellow dense layers.
Numbers above zero are red, those below are blue: `above` and `below` as filling, which is the same on light and dark
paper (see `palettes`), `positive` and `negative` as lines and words.
"""

import re
from functools import lru_cache

from lamina._errors import ArgumentError, choice

THEMES = ("light", "dark", "page")
LIGHT = {
    "ink": "#16181d",
    "paper": "#ffffff",
    "grid": "#dcdfe4",
    "muted": "#666c76",
    "input": "#009900",
    "hidden": "#0000cc",
    "output": "#cc0000",
    "weights": "#dbb200",
    "activation": "#8b1fa9",
    "norm": "#9c6a2f",
    "pooling": "#f08000",
    "dense": "#ffe600",
    "stage": "#7d848f",
    "accent": "#d9520b",
    "arrow": "#000066",
    "above": "#d3222a",
    "below": "#1a66d6",
    "positive": "#d3222a",
    "negative": "#1a66d6",
    "line1": "#0059b3",
    "line2": "#c8102e",
    "line3": "#1b8a3e",
    "line4": "#7b3fa0",
    "line5": "#d97700",
    "line6": "#4a5564",
}
DARK = {
    "ink": "#eceef1",
    "paper": "#16181d",
    "grid": "#3b414b",
    "muted": "#a3abb8",
    "input": "#45cf6b",
    "hidden": "#7d9bff",
    "output": "#ff6f6b",
    "weights": "#e8cb4b",
    "activation": "#cf92f0",
    "norm": "#d8a66e",
    "pooling": "#ffa54d",
    "dense": "#ffe84d",
    "stage": "#9aa2ad",
    "accent": "#ff9a57",
    "arrow": "#b9c6f5",
    "above": "#d3222a",
    "below": "#1a66d6",
    "positive": "#ff6f6b",
    "negative": "#6fa8ff",
    "line1": "#62a8ff",
    "line2": "#ff7480",
    "line3": "#58cf7f",
    "line4": "#c79af0",
    "line5": "#ffb04d",
    "line6": "#b3bcc9",
}
ROLES = tuple(LIGHT)

_SHEETS = (("light", "#f6f6f3"), ("light", "#ffffff"), ("dark", "#181c20"))
"""What drawings lie on, by their theme: the paper of the pages and of a card."""
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_MIX = re.compile(r"([a-z0-9]+|#[0-9a-fA-F]{6})!(\d{1,3})(?:!([a-z0-9]+|#[0-9a-fA-F]{6}))?")


def _plain(color: str, theme: str) -> str:
    if _HEX.fullmatch(color):
        return color.lower()
    values = DARK if theme == "dark" else LIGHT
    if color not in values:
        raise ArgumentError(
            f"`color` must be a role ({', '.join(ROLES)}), a mixture such as 'input!20', or '#rrggbb', got {color!r}."
        )
    return values[color]


def _parts(color: str) -> tuple[str, int, str]:
    """Split a mixture into its first color, the percentage of it, and the second color."""
    found = _MIX.fullmatch(color)
    if not found:
        return color, 100, "paper"
    share = int(found[2])
    if share > 100:
        raise ArgumentError(f"`color` must mix at most 100 % of a role, got {color!r}.")
    return found[1], share, found[3] or "paper"


def channels(color: str) -> tuple[int, int, int]:
    """Split "#rrggbb" into its three numbers.

    >>> channels("#ff8000")
    (255, 128, 0)
    """
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


@lru_cache(maxsize=4096)
def resolve(color: str, theme: str = "light") -> str:
    """Give a color its value in a theme, as "#rrggbb".

    >>> resolve("input"), resolve("input!20"), resolve("paper", "dark")
    ('#009900', '#ccebcc', '#16181d')
    """
    choice("theme", theme, THEMES)
    first, share, second = _parts(color)
    one, two = _plain(first, theme), _plain(second, theme)
    if share == 100:
        return one
    pairs = zip(channels(one), channels(two), strict=True)
    return "#" + "".join(f"{round((share * a + (100 - share) * b) / 100):02x}" for a, b in pairs)


@lru_cache(maxsize=4096)
def css(color: str) -> str:
    """Write a color so that a page can restyle it: each role is a variable of the page, with its light value.

    >>> css("input")
    'var(--lamina-input, #009900)'
    """
    first, share, second = _parts(color)
    one, two = (c if c.startswith("#") else f"var(--lamina-{c}, {_plain(c, 'light')})" for c in (first, second))
    _plain(first, "light")
    return one if share == 100 else f"color-mix(in srgb, {one} {share}%, {two})"


def contrast(one: str, two: str) -> float:
    """Give the ratio of two colors "#rrggbb" as WCAG 2 defines it: from 1 to 21, for texts at least 4.5.

    >>> round(contrast("#000000", "#ffffff"), 6), round(contrast("#777777", "#ffffff"), 2)
    (21.0, 4.48)
    """
    dark, light = sorted((_luminance(one), _luminance(two)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: str) -> float:
    red, green, blue = (
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in channels(color))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@lru_cache(maxsize=4096)
def readable(color: str) -> str:
    """Mix a color of letters with ink until they stand out from the paper in both themes; what does stays as it is.

    >>> readable("hidden"), readable("line5")
    ('hidden', 'line5!70!ink')
    """
    first, share, second = _parts(color)
    if first.startswith("#") or second != "paper" or share < 100:
        return color
    steps = (f"{first}!{part}!ink" for part in range(100, 0, -5))
    stands = (mix for mix in steps if all(contrast(resolve(mix, theme), sheet) >= 4.55 for theme, sheet in _SHEETS))
    found = next(stands, "ink")
    return first if found == f"{first}!100!ink" else found


def letters_on(color: str) -> str:
    """Give the color of letters on a color "#rrggbb" that is the same in both themes: black or white.

    >>> letters_on("#2a2456"), letters_on("#66aab2")
    ('#ffffff', '#000000')
    """
    return max(("#000000", "#ffffff"), key=lambda letters: contrast(letters, color))


def variables(theme: str) -> str:
    """List the roles of a theme as style-sheet declarations, for a page that embeds drawings of the theme "page".

    >>> variables("dark")[:44]
    '--lamina-ink: #eceef1; --lamina-paper: #1618'
    """
    choice("theme", theme, ("light", "dark"))
    return " ".join(f"--lamina-{role}: {_plain(role, theme)};" for role in ROLES)
