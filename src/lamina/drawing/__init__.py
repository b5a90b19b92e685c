"""Drawings of networks: a scene of plain shapes, written as SVG, TikZ, PDF or PNG.

The makers (`drawing.network.network`, `drawing.stack.stack`, ...; all of them in `drawing.table`) return a `Scene`;
`drawing.save.save` writes it by the suffix of the file.
"""

from lamina.drawing._collisions import overlaps
from lamina.drawing.scene import (
    Circle,
    Path,
    Picture,
    Point,
    Polygon,
    Rectangle,
    Scene,
    Shape,
    Stroke,
    Text,
    beside,
    fitted,
    stacked,
    text_box,
)

__all__ = [
    "Circle",
    "Path",
    "Picture",
    "Point",
    "Polygon",
    "Rectangle",
    "Scene",
    "Shape",
    "Stroke",
    "Text",
    "beside",
    "fitted",
    "overlaps",
    "stacked",
    "text_box",
]
