"""Why a network gave an answer, drawn: heat over a picture, bars of columns, colored words.

Red speaks for the answer and blue against it; the stronger the color, the more.
"""

from collections.abc import Sequence

from lamina.drawing.colors import channels, resolve
from lamina.drawing.scene import Path, Pixels, Rectangle, Scene, Shape, Stroke, Text
from lamina.drawing.text import width

FOR, AGAINST = "above", "below"
SIZE = 12.0
MARGIN = 10.0
_ROW = 20.0


def heated(
    picture: Pixels, heat: Sequence[Sequence[float]], strength: float = 0.75
) -> list[list[tuple[int, int, int]]]:
    """Lay heat over a picture, which turns gray: red where numbers are positive, blue where they are negative.

    Args:
        picture: rows of gray values 0 to 255, or of red, green, blue.
        heat: a number for each pixel; the largest one gets the full color.
        strength: how much of a pixel the full color takes.

    >>> heated([[0, 100]], [[0.0, 2.0]])
    [[(0, 0, 0), (183, 50, 56)]]
    """
    most = max((abs(value) for row in heat for value in row), default=0.0) or 1.0
    colors = {sign: channels(resolve(role)) for sign, role in ((True, FOR), (False, AGAINST))}
    rows = []
    for pixels, values in zip(picture, heat, strict=True):
        row = []
        for pixel, value in zip(pixels, values, strict=True):
            gray = sum(pixel) / len(pixel) if isinstance(pixel, Sequence) else pixel
            share = strength * abs(value) / most
            color = colors[value >= 0]
            row.append(tuple(round((1 - share) * gray + share * channel) for channel in color))
        rows.append(row)
    return rows  # type: ignore[return-value]


def parts_chart(parts: Sequence[tuple[str, float]], *, title: str = "", unit: str = "", wide: float = 180.0) -> Scene:
    """Draw what each part adds to an output, as bars to the right (more) and to the left (less).

    Args:
        parts: words and numbers, in the order of their rows.
        title: words above.
        unit: what the numbers are in.
        wide: how long the longest bar may be.

    >>> scene = parts_chart([("age = 40", 2.0), ("height = 170", -1.0)], title="why 62 kg")
    >>> [round(shape.size[0]) for shape in scene.shapes if isinstance(shape, Rectangle)]
    [180, 90]
    """
    most = max((abs(value) for _, value in parts), default=0.0) or 1.0
    names = max((width(name, SIZE) for name, _ in parts), default=0.0)
    numbers = [f"{value:+.3g}" for _, value in parts]
    room = max((width(number, SIZE) for number in numbers), default=0.0) + 6
    left = wide * max((-value / most for _, value in parts if value < 0), default=0.0)
    right = wide * max((value / most for _, value in parts if value > 0), default=0.0)
    top = MARGIN + (1.8 * SIZE if title else 0.0)
    zero = MARGIN + names + 10 + (left + room if left else 0.0)
    shapes: list[Shape] = []
    if title:
        shapes.append(Text((MARGIN, MARGIN + SIZE / 2), title, SIZE + 1, bold=True))
    for row, ((name, value), number) in enumerate(zip(parts, numbers, strict=True)):
        y, length = top + (row + 0.5) * _ROW, wide * abs(value) / most
        shapes.append(Text((MARGIN + names, y), name, SIZE, anchor="end"))
        corner = zero if value >= 0 else zero - length
        if length:
            fill = FOR if value > 0 else AGAINST
            shapes.append(Rectangle((corner, y - 6), (length, 12.0), fill, None, opacity=0.8))
        at, anchor = (zero + length + 5, "start") if value >= 0 else (zero - length - 5, "end")
        shapes.append(Text((at, y), number, SIZE - 1, "muted", anchor))  # type: ignore[arg-type]
    bottom = top + len(parts) * _ROW
    shapes.append(Path(((zero, top), (zero, bottom)), Stroke("muted", 0.8)))
    if unit:
        shapes.append(Text((MARGIN, bottom + SIZE), unit, SIZE - 2, "muted"))
        bottom += 1.6 * SIZE
    least = 2 * MARGIN + max(width(title, SIZE + 1, True), width(unit, SIZE - 2))
    whole = max(zero + right + room + MARGIN, least)
    return Scene(float(whole), float(bottom + MARGIN), tuple(shapes), title or "what each part adds")


def colored_words(
    words: Sequence[str], values: Sequence[float], *, title: str = "", unit: str = "", wide: float = 460.0
) -> Scene:
    """Draw a text whose words have the color of what they add to an output.

    Args:
        words: of the text.
        values: a number for each word.
        title: words above.
        unit: what the numbers are in.
        wide: where lines break.

    >>> scene = colored_words(["a", "fine", "film"], [0.0, 2.0, -0.5])
    >>> [(shape.fill, round(shape.opacity, 2)) for shape in scene.shapes if isinstance(shape, Rectangle)]
    [('above', 0.0), ('above', 0.6), ('below', 0.15)]
    """
    most = max((abs(value) for value in values), default=0.0) or 1.0
    top = MARGIN + (1.8 * SIZE if title else 0.0)
    shapes: list[Shape] = [Text((MARGIN, MARGIN + SIZE / 2), title, SIZE + 1, bold=True)] if title else []
    x, y, reached = MARGIN, top, MARGIN
    for word, value in zip(words, values, strict=True):
        long = width(word, SIZE) + 6
        if x > MARGIN and x + long > MARGIN + wide:
            x, y = MARGIN, y + 1.7 * SIZE
        fill, share = (FOR if value >= 0 else AGAINST), 0.6 * abs(value) / most
        shapes.append(Rectangle((x, y), (long, 1.5 * SIZE), fill, None, 3.0, share, title=f"{value:+.3g}"))
        shapes.append(Text((x + 3, y + 0.75 * SIZE), word, SIZE))
        x += long + 2
        reached = max(reached, x)
    bottom = y + 1.5 * SIZE
    if unit:
        shapes.append(Text((MARGIN, bottom + SIZE), unit, SIZE - 2, "muted"))
        bottom += 1.6 * SIZE
    whole = max(reached, MARGIN + width(title, SIZE + 1, True), MARGIN + width(unit, SIZE - 2)) + MARGIN
    return Scene(float(whole), float(bottom + MARGIN), tuple(shapes), title or "what each word adds")
