"""A scene as PDF or PNG, through matplotlib: text stays text in the PDF, and the same scene gives the same bytes."""

from importlib.resources import as_file
from io import BytesIO
from typing import TYPE_CHECKING, Any

from lamina._errors import at_least, choice
from lamina.drawing import scene as shapes
from lamina.drawing._metrics import ITALIC, UPRIGHT, math_path
from lamina.drawing.colors import resolve
from lamina.drawing.text import MIDDLE, Run, layout

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 144.0
"""Pixels per inch of a PNG by default: two per point, sharp on a slide."""
_RC: dict[Any, Any] = {"font.family": "DejaVu Sans", "pdf.fonttype": 42, "path.simplify": False, "text.hinting": "none"}


def raster(scene: shapes.Scene, kind: str, theme: str = "light", dpi: float = DPI) -> bytes:
    """Write a scene as the bytes of a PDF or PNG file."""
    import matplotlib

    choice("kind", kind, ("pdf", "png"))
    choice("theme", theme, ("light", "dark"))
    at_least("dpi", dpi, 18)
    dates: dict[str, Any] = {"CreationDate": None, "Producer": None, "Creator": None, "Title": scene.title}
    about: dict[str, Any] = dates if kind == "pdf" else {"Software": None, "Title": scene.title}
    buffer = BytesIO()
    with matplotlib.rc_context(_RC):
        figure(scene, theme).savefig(buffer, format=kind, dpi=dpi, metadata=about)
    return buffer.getvalue()


def figure(scene: shapes.Scene, theme: str = "light") -> "Figure":
    """Draw a scene on a matplotlib figure of its size."""
    from matplotlib.figure import Figure
    from matplotlib.transforms import Affine2D

    sheet = Figure(figsize=(scene.width / 72, scene.height / 72), facecolor=resolve("paper", theme))
    place = Affine2D().translate(0, -scene.height).scale(1 / 72, -1 / 72) + sheet.dpi_scale_trans
    for order, shape in enumerate(scene.shapes):
        if isinstance(shape, shapes.Picture):
            _picture(sheet, scene, shape, order)
            continue
        for artist in _artists(shape, theme):
            artist.set_transform(place)
            artist.set_zorder(order)
            sheet.add_artist(artist, clip=False)
    return sheet


def _artists(shape: shapes.Shape, theme: str) -> list[Any]:
    from matplotlib import patches
    from matplotlib.path import Path as Outline

    match shape:
        case shapes.Circle():
            return [patches.Circle(shape.center, shape.radius, **_painted(shape, theme))]
        case shapes.Rectangle():
            if not shape.radius:
                return [patches.Rectangle(shape.corner, *shape.size, **_painted(shape, theme))]
            box = patches.BoxStyle.Round(pad=0, rounding_size=min(shape.radius, *(side / 2 for side in shape.size)))
            return [patches.FancyBboxPatch(shape.corner, *shape.size, boxstyle=box, **_painted(shape, theme))]
        case shapes.Polygon():
            return [patches.Polygon(shape.points, closed=True, **_painted(shape, theme))]
        case shapes.Path():
            line, heads = shapes._arrow_parts(shape)
            codes = [Outline.MOVETO] + [Outline.CURVE4 if shape.curve else Outline.LINETO] * (len(line) - 1)
            drawn = patches.PathPatch(Outline(line, codes), fill=False, **_stroked(shape.stroke, theme))
            color, faint = resolve(shape.stroke.color, theme), shape.stroke.opacity
            return [drawn, *(patches.Polygon(h, closed=True, facecolor=color, alpha=faint, linewidth=0) for h in heads)]
        case shapes.Text():
            return _text(shape, theme)
        case _:  # pragma: no cover - pictures are drawn by the caller
            return []


def _stroked(stroke: shapes.Stroke, theme: str) -> dict[str, Any]:
    from matplotlib.colors import to_rgba

    dashes = (0, tuple(d / stroke.width for d in stroke.dash)) if stroke.dash else "solid"
    edge = to_rgba(resolve(stroke.color, theme), stroke.opacity)
    return {"edgecolor": edge, "linewidth": stroke.width, "linestyle": dashes, "capstyle": "butt", "joinstyle": "round"}


def _painted(shape: shapes.Circle | shapes.Rectangle | shapes.Polygon, theme: str) -> dict[str, Any]:
    from matplotlib.colors import to_rgba

    fill = to_rgba(resolve(shape.fill, theme), shape.opacity) if shape.fill else (0.0, 0.0, 0.0, 0.0)
    line = _stroked(shape.stroke, theme) if shape.stroke else {"linewidth": 0, "edgecolor": (0.0, 0.0, 0.0, 0.0)}
    return {"facecolor": fill, **line}


def _text(text: shapes.Text, theme: str) -> list[Any]:
    import math

    from matplotlib.text import Text as Words

    runs = layout(text.content, text.size, text.bold)
    width = max((run.x + run.width for run in runs), default=0.0)
    start = {"start": 0.0, "middle": -width / 2, "end": -width}[text.anchor]
    cos, sin = math.cos(math.radians(text.angle)), math.sin(math.radians(text.angle))
    found = []
    for run in runs:
        dx, dy = start + run.x, MIDDLE * text.size - run.rise
        words = Words(
            text.at[0] + dx * cos + dy * sin,
            text.at[1] + dy * cos - dx * sin,
            run.text,
            color=resolve(text.color, theme),
            fontproperties=_font(run),
            rotation=text.angle,
            rotation_mode="anchor",
            horizontalalignment="left",
            verticalalignment="baseline",
            parse_math=False,
        )
        found.append(words)
    return found


def _font(run: Run) -> Any:
    """Choose the font of a run; what the math fonts lack is set in the font of words."""
    from matplotlib.font_manager import FontProperties

    table = ITALIC if run.italic else UPRIGHT
    if run.math and all(character in table for character in run.text):
        with as_file(math_path(run.italic)) as path:
            return FontProperties(size=run.size, fname=path)
    weight = "bold" if run.bold else "normal"
    return FontProperties(
        family="DejaVu Sans", size=run.size, style="oblique" if run.italic else "normal", weight=weight
    )


def _picture(sheet: "Figure", scene: shapes.Scene, picture: shapes.Picture, order: int) -> None:
    import numpy as np

    (x, y), (w, h) = picture.corner, picture.size
    place = (x / scene.width, 1 - (y + h) / scene.height, w / scene.width, h / scene.height)
    axes = sheet.add_axes(place, zorder=order, frame_on=False, xticks=[], yticks=[])
    values = np.clip(np.asarray(picture.pixels, dtype=float) / 255, 0, 1)
    axes.imshow(values, cmap="gray", vmin=0, vmax=1, interpolation="nearest", aspect="auto")
