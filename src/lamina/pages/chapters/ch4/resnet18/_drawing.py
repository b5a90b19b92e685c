"""The drawing of the page on ResNet18."""

from collections.abc import Mapping

from lamina.drawing.scene import Rectangle, Scene, Shape, Stroke, Text


def nested_fields(sizes: Mapping[str, int], extent: int, chosen: str) -> Scene:
    """Draw how much of a picture one unit in the middle of each layer sees: squares inside each other.

    A field that is larger than the picture is drawn beyond its border, dashed.

    >>> nested_fields({"A": 11, "B": 43}, 224, "B").description
    'One unit of B sees 43 x 43 of 224 x 224 pixels.'
    """
    side, margin = 260.0, 66.0
    scale, middle = side / extent, margin + side / 2
    shapes: list[Shape] = [Rectangle((margin, margin), (side, side), "muted!8", Stroke("muted", 1.2))]
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        half = min(size * scale / 2, middle - 3)
        dashes = (6.0, 3.5) if size > extent else ()
        fill = "accent!24" if name == chosen else None
        stroke = Stroke("accent" if name == chosen else "line1", 2.2 if name == chosen else 1.2, dashes)
        shapes.append(Rectangle((middle - half, middle - half), (2 * half, 2 * half), fill, stroke))
    for name, size in sizes.items():
        half = min(size * scale / 2, middle - 3)
        color = "ink" if name == chosen else "line1!80!ink"
        at = (middle - half + 6, middle - half + 10) if half > 14 else (middle + half + 4, middle)
        shapes.append(Text(at, name, 12, color, "start", bold=name == chosen))
    words = f"One unit of {chosen} sees {sizes[chosen]} x {sizes[chosen]} of {extent} x {extent} pixels."
    return Scene(2 * middle, 2 * middle, tuple(shapes), "receptive fields", words)
