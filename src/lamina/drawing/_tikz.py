r"""A scene as TikZ source: it compiles with pdflatex and TikZ alone, and stays editable.

Each role of the scene becomes a color `laminaInput`, ..., defined once; one unit is one point (1/72 inch, `bp`), and y
points downward as in the scene. Texts are LaTeX, set in the font of the document that includes them.
"""

from collections.abc import Iterable, Sequence

from lamina._errors import choice
from lamina.drawing import scene as shapes
from lamina.drawing.colors import channels, resolve
from lamina.drawing.svg import number
from lamina.drawing.text import MIDDLE, latex

LETTERS = 1.07
"""Words of Computer Modern are smaller than those of DejaVu Sans at the same size; this share makes them alike."""
SIDE = 64
"""A picture of more pixels per side is averaged down: TikZ paints each pixel as a rectangle."""


def tikz(scene: shapes.Scene, standalone: bool = True, theme: str = "light") -> str:
    r"""Write a scene as TikZ source.

    Args:
        scene: what to draw.
        standalone: a whole document; otherwise the colors and the `tikzpicture` to `\input` into a document that loads
            `tikz` and its library `arrows.meta`.
        theme: "light" or "dark".

    >>> from lamina.drawing.scene import Circle, Scene
    >>> print(tikz(Scene(20, 20, (Circle((10, 10), 8, "input!20", None),), "a disc"), standalone=False))
    % a disc
    \definecolor{laminaInput20}{HTML}{CCEBCC}%
    \begin{tikzpicture}[x=1bp, y=-1bp, every node/.style={inner sep=0pt, outer sep=0pt}]
    \useasboundingbox (0,0) rectangle (20,20);
    \fill[laminaInput20] (10,10) circle[radius=8];
    \end{tikzpicture}
    <BLANKLINE>
    """
    choice("theme", theme, ("light", "dark"))
    palette = _Palette(theme)
    body = [line for shape in scene.shapes for line in _drawn(shape, palette)]
    sheet = f"(0,0) rectangle {_at((scene.width, scene.height))}"
    if theme == "dark":
        body.insert(0, rf"\fill[{palette.name('paper')}] {sheet};")
    colors = [
        rf"\definecolor{{{name}}}{{HTML}}{{{value[1:].upper()}}}%" for name, value in sorted(palette.used.items())
    ]
    picture = [
        r"\begin{tikzpicture}[x=1bp, y=-1bp, every node/.style={inner sep=0pt, outer sep=0pt}]",
        rf"\useasboundingbox {sheet};",
        *body,
        r"\end{tikzpicture}",
    ]
    about = "% " + " ".join(scene.title.split())
    if not standalone:
        return "\n".join([about, *colors, *picture]) + "\n"
    # The class `standalone` is not part of every TeX installation: a page of the picture's size does the same.
    paper = f"papersize={{{number(scene.width)}bp,{number(scene.height)}bp}}"
    head = [
        r"\documentclass{article}",
        rf"\usepackage[{paper}, margin=0pt]{{geometry}}",
        r"\usepackage{tikz}",
        r"\usetikzlibrary{arrows.meta}",
        r"\hoffset=-1in \voffset=-1in",
        r"\begin{document}",
    ]
    page = [*head, *colors, r"\shipout\hbox{%", *picture, "}", r"\end{document}"]
    return "\n".join([about, *page]) + "\n"


class _Palette:
    """Names the colors that a picture uses."""

    def __init__(self, theme: str) -> None:
        self.theme = theme
        self.used: dict[str, str] = {}

    def name(self, color: str) -> str:
        name = "lamina" + "".join(part.capitalize() for part in color.replace("#", "Hex").split("!"))
        self.used[name] = resolve(color, self.theme)
        return name


def _at(point: shapes.Point) -> str:
    return f"({number(point[0])},{number(point[1])})"


def _line(stroke: shapes.Stroke, palette: _Palette) -> list[str]:
    found = [f"draw={palette.name(stroke.color)}", f"line width={number(stroke.width)}bp"]
    if stroke.dash:
        parts = [f"{'on' if place % 2 == 0 else 'off'} {number(d)}bp" for place, d in enumerate(_even(stroke.dash))]
        found.append(f"dash pattern={' '.join(parts)}")
    if stroke.opacity != 1:
        found.append(f"draw opacity={number(stroke.opacity)}")
    return found


def _even(dash: tuple[float, ...]) -> tuple[float, ...]:
    """Give each dash its gap: an odd pattern is repeated, as in SVG."""
    return dash if len(dash) % 2 == 0 else dash * 2


def _command(shape: shapes.Circle | shapes.Rectangle | shapes.Polygon, palette: _Palette) -> str:
    r"""Begin with `\fill`, `\draw` or `\filldraw` and the colors."""
    options = []
    if shape.fill:
        name = palette.name(shape.fill)
        options.append(f"fill={name}" if shape.stroke else name)
        if shape.opacity != 1:
            options.append(f"fill opacity={number(shape.opacity)}")
    if shape.stroke:
        options.extend([*_line(shape.stroke, palette), "line join=round"])
    if isinstance(shape, shapes.Rectangle) and shape.radius:
        options.append(f"rounded corners={number(shape.radius)}bp")
    return rf"\{('filldraw' if shape.stroke else 'fill') if shape.fill else 'draw'}[{', '.join(options)}]"


def _drawn(shape: shapes.Shape, palette: _Palette) -> Iterable[str]:
    match shape:
        case shapes.Circle():
            yield f"{_command(shape, palette)} {_at(shape.center)} circle[radius={number(shape.radius)}];"
        case shapes.Rectangle():
            (x, y), (w, h) = shape.corner, shape.size
            yield f"{_command(shape, palette)} {_at((x, y))} rectangle {_at((x + w, y + h))};"
        case shapes.Polygon():
            yield f"{_command(shape, palette)} {' -- '.join(map(_at, shape.points))} -- cycle;"
        case shapes.Path():
            yield _path(shape, palette)
        case shapes.Text():
            yield _text(shape, palette)
        case shapes.Picture():
            yield from _picture(shape, palette.theme)


def _path(path: shapes.Path, palette: _Palette) -> str:
    options = [*_line(path.stroke, palette), "line join=round"]
    if path.arrow != "none":
        length, width = shapes._head_size(path.stroke)
        tip = f"{{Latex[length={number(length)}bp, width={number(width)}bp]}}"
        options.insert(0, f"{tip}-{tip}" if path.arrow == "both" else f"-{tip}")
    if not path.curve:
        return rf"\draw[{', '.join(options)}] {' -- '.join(map(_at, path.points))};"
    pieces = [path.points[place : place + 3] for place in range(1, len(path.points), 3)]
    drawn = "".join(f" .. controls {_at(a)} and {_at(b)} .. {_at(c)}" for a, b, c in pieces)
    return rf"\draw[{', '.join(options)}] {_at(path.points[0])}{drawn};"


def _text(text: shapes.Text, palette: _Palette) -> str:
    anchor = {"start": "base west", "middle": "base", "end": "base east"}[text.anchor]
    scale = text.size / 10 * (1.0 if "$" in text.content else LETTERS)
    options = [f"anchor={anchor}", f"text={palette.name(text.color)}", f"scale={number(scale)}"]
    options += [r"font=\bfseries\boldmath"] if text.bold else []
    words = latex(text.content)
    if text.angle:
        drop = f"shift={{(0,{number(MIDDLE * text.size)})}}"
        turn = rf"\begin{{scope}}[shift={{{_at(text.at)}}}, rotate={number(text.angle)}, transform shape]"
        return rf"{turn}\node[{', '.join([drop, *options])}] at (0,0) {{{words}}};\end{{scope}}"
    return rf"\node[{', '.join(options)}] at {_at((text.at[0], text.at[1] + MIDDLE * text.size))} {{{words}}};"


def _picture(picture: shapes.Picture, theme: str) -> Iterable[str]:
    """Paint equal neighbors of a row as one rectangle."""
    paper = channels(resolve("paper", theme))
    rows = _averaged([[_opaque(v, paper) for v in row] for row in picture.pixels])
    (x, y), (w, h) = picture.corner, (picture.size[0] / len(rows[0]), picture.size[1] / len(rows))
    for down, row in enumerate(rows):
        start = 0
        for across in range(1, len(row) + 1):
            if across < len(row) and row[across] == row[start]:
                continue
            color = "red,{};green,{};blue,{}".format(*row[start])
            first, last = (x + start * w, y + down * h), (x + across * w, y + (down + 1) * h)
            yield rf"\fill[fill={{rgb,255:{color}}}] {_at(first)} rectangle {_at(last)};"
            start = across


def _opaque(value: float | Sequence[float], paper: tuple[int, ...]) -> tuple[float, ...]:
    """Lay a pixel onto the paper.

    >>> _opaque(7, (255, 255, 255)), _opaque((200, 0, 55, 51), (255, 255, 255))
    ((7, 7, 7), (244.0, 204.0, 215.0))
    """
    if isinstance(value, int | float):
        return value, value, value
    opacity = value[3] / 255 if len(value) == 4 else 1
    return tuple(below - opacity * (below - channel) for channel, below in zip(value, paper, strict=False))


def _averaged(rows: list[list[tuple[float, ...]]]) -> list[list[tuple[int, ...]]]:
    """Reduce a picture to at most `SIDE` pixels per side by averages over equal blocks, and round its values."""
    tall, wide = -(-len(rows) // SIDE), -(-len(rows[0]) // SIDE)
    result = []
    for top in range(0, len(rows), tall):
        line = []
        for left in range(0, len(rows[0]), wide):
            block = [value for row in rows[top : top + tall] for value in row[left : left + wide]]
            line.append(tuple(min(255, max(0, round(sum(v[c] for v in block) / len(block)))) for c in range(3)))
        result.append(line)
    return result
