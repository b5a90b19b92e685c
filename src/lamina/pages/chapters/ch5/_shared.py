"""The drawing that several pages of chapter 5 use."""

import re
from collections.abc import Sequence
from functools import partial

from lamina.drawing.palettes import amount, signed_pixels
from lamina.drawing.scene import FROM, NARROW, Picture, Pixels, Scene, Shape, Text
from lamina.drawing.text import width as text_width


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
    upright: bool = False,
) -> Scene:
    """Draw numbers of units over words as colors, one column per word, the whole word below its column.

    Words stand upright there where that is asked for, or where one is wider than its column. A title wider than the
    grid is broken where it has a comma or a colon.

    >>> scene = cell_grid([[0.0, 1.0]], ["the", "cat"])
    >>> [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    ['unit', 'the', 'cat']
    """
    given = locals().copy()
    plain = [word.replace("\\", "").replace("$", r"\$") for word in words]  # what a visitor typed is no formula
    wide, tall = cell
    sizes = [text_width(word, 11) for word in plain] or [0.0]
    upright = upright or max(sizes) > wide - 4  # then every word stands upright below its column, whole
    wide = max(wide, 13.0) if upright else wide
    left = 12 + max([text_width(name, 11) for name in names] or [14.0])
    room = wide * len(words)
    lines = title.split(": ") if upright or text_width(title, 12) > room else [title]
    lines = [part for line in lines for part in (re.split("(?<=,) ", line) if text_width(line, 12) > room else [line])]
    top = 8.0 + 16.0 * len(lines) if title else 6.0
    span = high - low or 1.0
    pixels: Pixels = (
        signed_pixels(rows, high) if low == -high else [[amount((value - low) / span) for value in row] for row in rows]
    )
    height = tall * len(rows)
    shapes: list[Shape] = [Picture((left, top), (wide * len(words), height), pixels)]
    if title:
        shapes += [Text((left, 11 + 16 * i), line, 12.0, "muted") for i, line in enumerate(lines)]
    if names:
        shapes += [Text((left - 6, top + (i + 0.5) * tall), name, 11.0, "muted", "end") for i, name in enumerate(names)]
    else:
        shapes.append(Text((left - 10, top + height / 2), unit, 11.0, "muted", "middle", angle=90.0))
    for i, word in enumerate(plain):
        x = left + (i + 0.5) * wide
        if upright:
            shapes.append(Text((x, top + height + 5), word, 11.0, "ink", "end", angle=90.0))
        else:
            shapes.append(Text((x, top + height + 12), word, 11.0, "ink", "middle"))
    across = max(wide * len(words) + 6, *(text_width(line, 12) + 2 for line in lines))
    size = (left + across, top + height + (max(sizes) + 10 if upright else 24))
    slim = (max(13.0, (NARROW - left - 6) / max(1, len(words))), tall)
    narrower = (
        partial(cell_grid, **{**given, "cell": slim, "upright": True}) if size[0] > FROM and wide > slim[0] else None
    )
    about = f"{len(rows)} units over {len(words)} words"
    return Scene(*size, tuple(shapes), title or "units over words", about, narrower)
