"""A scene as SVG: real text, no scripts, no references to other files, the same bytes every time."""

import base64
import math
import re
import struct
import zlib
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from xml.sax.saxutils import escape, quoteattr

from lamina._errors import ArgumentError, choice
from lamina.drawing import scene as shapes
from lamina.drawing._metrics import FAMILY, math_face
from lamina.drawing.colors import THEMES, css, readable, resolve
from lamina.drawing.text import MIDDLE, Run, layout

FONTS = "DejaVu Sans, Verdana, Arial, sans-serif"
MATH_FONTS = f"{FAMILY}, KaTeX_Main, {FONTS}"
Attributes = dict[str, str]
_SPECIAL = re.compile('["&<>\n\r\t]')
"""What an attribute cannot hold as it is; most hold numbers and colors only."""


def number(value: float) -> str:
    """Write a length shortly: two decimals at most.

    >>> number(3.0), number(-0.001), number(2.345)
    ('3', '0', '2.35')
    """
    if not math.isfinite(value):
        raise ArgumentError(f"A shape must lie at finite coordinates, got {value!r}: check the numbers of the scene.")
    text = f"{value + 1e-9:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def svg(scene: shapes.Scene, theme: str = "light") -> str:
    """Write a scene as an SVG document.

    Args:
        scene: what to draw.
        theme: "light" and "dark" fix the colors and paint the paper; "page" leaves the paper out and takes the colors
            from the page's variables `--lamina-input`, `--lamina-ink`, ... (see `colors.variables`), the math fonts
            from its `math_faces`, and lets its style sheet set the sizes of texts: each has its own as `--size`.

    >>> from lamina.drawing.scene import Circle, Scene
    >>> svg(Scene(20, 20, (Circle((10, 10), 8, stroke=None),), "a disc")).splitlines()[3]
    '<circle cx="10" cy="10" r="8" fill="#ffffff"/>'
    """
    choice("theme", theme, THEMES)
    width, height = number(scene.width), number(scene.height)
    sizes = f' style="--width:{width};--height:{height}"' if theme == "page" else ""
    names = escape(scene.title), escape(scene.description)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' role="img" font-family="{FONTS}"{sizes}>',
        f"<title>{names[0]}</title>" + (f"<desc>{names[1]}</desc>" if scene.description else ""),
    ]
    if theme != "page":
        lines.extend(f"<style>{face}</style>" for face in [_faces(scene)] if face)
        lines.append(f'<rect width="{width}" height="{height}" fill="{resolve("paper", theme)}"/>')
    for shape in scene.shapes:
        lines.extend(_drawn(shape, theme))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _drawn(shape: shapes.Shape, theme: str) -> Iterable[str]:
    match shape:
        case shapes.Circle():
            place = {"cx": number(shape.center[0]), "cy": number(shape.center[1]), "r": number(shape.radius)}
            yield _tag("circle", place | _painted(shape, theme), shape.title)
        case shapes.Rectangle():
            place = _corner(shape) | ({"rx": number(shape.radius)} if shape.radius else {})
            yield _tag("rect", place | _painted(shape, theme), shape.title)
        case shapes.Polygon():
            yield _tag("polygon", {"points": _points(shape.points)} | _painted(shape, theme), shape.title)
        case shapes.Path():
            yield from _path(shape, theme)
        case shapes.Text():
            yield _text(shape, theme)
        case shapes.Picture():
            place = _corner(shape) | {"preserveAspectRatio": "none", "style": "image-rendering:pixelated"}
            data = base64.b64encode(png(shape.pixels)).decode()
            yield _tag("image", place | {"href": f"data:image/png;base64,{data}"}, shape.title)


def _tag(name: str, attributes: Attributes, title: str = "", inner: str = "") -> str:
    listed = "".join(
        f" {key}={quoteattr(value)}" if _SPECIAL.search(value) else f' {key}="{value}"'
        for key, value in attributes.items()
    )
    inside = (f"<title>{escape(title)}</title>" if title else "") + inner
    return f"<{name}{listed}>{inside}</{name}>" if inside else f"<{name}{listed}/>"


def _corner(shape: shapes.Rectangle | shapes.Picture) -> Attributes:
    (x, y), (w, h) = shape.corner, shape.size
    return {"x": number(x), "y": number(y), "width": number(w), "height": number(h)}


def _points(points: Iterable[shapes.Point]) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)


def _colored(theme: str, **colors: str) -> Attributes:
    """Name colors as attributes, or as a style where the page decides about them."""
    if theme == "page":
        return {"style": ";".join(f"{key}:{css(color)}" for key, color in colors.items())}
    return {key: resolve(color, theme) for key, color in colors.items()}


def _line(stroke: shapes.Stroke) -> Attributes:
    found = {"stroke-width": number(stroke.width)}
    if stroke.dash:
        found["stroke-dasharray"] = " ".join(map(number, stroke.dash))
    if stroke.opacity != 1:
        found["stroke-opacity"] = number(stroke.opacity)
    return found


def _painted(shape: shapes.Circle | shapes.Rectangle | shapes.Polygon, theme: str) -> Attributes:
    colors = ({"fill": shape.fill} if shape.fill else {}) | ({"stroke": shape.stroke.color} if shape.stroke else {})
    found = ({} if shape.fill else {"fill": "none"}) | (_colored(theme, **colors) if colors else {})
    if shape.fill and shape.opacity != 1:
        found["fill-opacity"] = number(shape.opacity)
    return found | (_line(shape.stroke) | {"stroke-linejoin": "round"} if shape.stroke else {})


def _path(path: shapes.Path, theme: str) -> Iterable[str]:
    line, heads = shapes._arrow_parts(path)
    if path.curve:
        pieces = [f"C{_points(line[place : place + 3])}" for place in range(1, len(line), 3)]
        drawn = f"M{_points(line[:1])}" + "".join(pieces)
        body = _tag("path", {"d": drawn, "fill": "none"} | _stroked(path.stroke, theme), path.title)
    else:
        body = _tag("polyline", {"points": _points(line), "fill": "none"} | _stroked(path.stroke, theme), path.title)
    yield body
    for head in heads:
        faint = {"fill-opacity": number(path.stroke.opacity)} if path.stroke.opacity != 1 else {}
        yield _tag("polygon", {"points": _points(head)} | _colored(theme, fill=path.stroke.color) | faint)


def _stroked(stroke: shapes.Stroke, theme: str) -> Attributes:
    return _colored(theme, stroke=stroke.color) | _line(stroke) | {"stroke-linejoin": "round"}


def math_faces() -> str:
    """Write the rules of a style sheet that bring the math fonts to a page of drawings with the theme "page".

    >>> math_faces().count("@font-face")
    2
    """
    return math_face(True) + math_face(False)


def _faces(scene: shapes.Scene) -> str:
    """Write the rules for the math fonts that a scene needs."""
    texts = [shape for shape in scene.shapes if isinstance(shape, shapes.Text)]
    used = {run.italic for text in texts for run in layout(text.content, text.size, text.bold) if run.math}
    return "".join(math_face(italic) for italic in sorted(used, reverse=True))


def _text(text: shapes.Text, theme: str) -> str:
    (x, y), runs, fluid = text.at, layout(text.content, text.size, text.bold), theme == "page"
    common = {"font-size": number(text.size)} | _colored(theme, fill=readable(text.color))
    common |= {"font-weight": "bold"} if text.bold else {}
    common |= {"transform": f"rotate({number(-text.angle)} {number(x)} {number(y)})"} if text.angle else {}
    if fluid:  # all places are shares of the size, so that the page can change it
        common["style"] += f";--size:{number(text.size)}"
        common |= {"x": number(x), "y": number(y), "dy": f"{MIDDLE}em"}
    anchor = {} if text.anchor == "start" else {"text-anchor": text.anchor}
    if len(runs) == 1 and (runs[0].size == text.size or not fluid):
        place = {} if fluid else {"x": number(x), "y": number(y + MIDDLE * text.size)}
        return _tag("text", place | anchor | common | _face(runs[0], text), text.title, inner=escape(runs[0].text))
    spans = _flowing(runs, text) if fluid else _placed(runs, text)
    return _tag("text", (anchor if fluid else {}) | common, text.title, inner="".join(spans))


def _face(run: Run, text: shapes.Text) -> Attributes:
    found = {"font-size": number(run.size)} if run.size != text.size else {}
    found |= {"font-family": MATH_FONTS} if run.math else {}
    return found | ({"font-style": "italic"} if run.italic else {})


def _placed(runs: Iterable[Run], text: shapes.Text) -> Iterable[str]:
    """Put each run at its own place: an anchor in the middle would hold for the first run alone."""
    width = max((run.x + run.width for run in runs), default=0.0)
    left = text.at[0] - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor] * width
    base = text.at[1] + MIDDLE * text.size
    for run in runs:
        words = run.text.lstrip(" ")
        place = {"x": number(left + run.x + run.width - replace(run, text=words).width), "y": number(base - run.rise)}
        yield _tag("tspan", place | _face(run, text), inner=escape(words))


def _flowing(runs: Iterable[Run], text: shapes.Text) -> Iterable[str]:
    """Put each run behind the one before it, in shares of its size: they stay together at every size of the text."""
    end = rise = 0.0
    for run in runs:
        right, down = (run.x - end) / run.size, (rise - run.rise) / run.size
        steps = {key: f"{number(step)}em" for key, step in (("dx", right), ("dy", down)) if abs(step) >= 0.005}
        face = _face(run, text) | ({"font-size": f"{number(run.size / text.size)}em"} if run.size != text.size else {})
        yield _tag("tspan", steps | face, inner=escape(run.text))
        end, rise = run.x + run.width, run.rise


def png(pixels: shapes.Pixels) -> bytes:
    r"""Write rows of gray values or colors, with or without opacity, as a PNG file by the standard library alone.

    >>> png([[0, 255]])[:4]
    b'\x89PNG'
    """
    raw, kind = bytearray(), 2
    for row in pixels:
        colors = [(v, v, v) if isinstance(v, int | float) else v for v in row]
        kind = 6 if len(colors[0]) == 4 else 2  # with opacity, or without
        raw += b"\0"
        raw += bytes([0 if c < 0 else 255 if c > 255 else round(c) for c in chain.from_iterable(colors)])
    header = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, kind, 0, 0, 0)
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(raw, 9)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
