"""Feature maps that can be clicked."""

from dataclasses import replace

from lamina.drawing.scene import Picture, Scene, Shape
from lamina.pages.kit._hands import Hands


def clickable(scene: Scene, layer: str) -> tuple[Scene, Hands]:
    """Name the maps of a layer, so that a click chooses one of them.

    Args:
        scene: its maps as pictures.
        layer: what the page calls it.

    >>> from lamina.drawing.panels import picture_grid
    >>> clickable(picture_grid([[[0]], [[1]]], 2), "pooling 1")[1]["pooling 1, map 2"]["choose"]
    {'layer': ['pooling 1'], 'map': 2}
    """
    shapes, hands = list[Shape](), Hands()
    for shape in scene.shapes:
        if isinstance(shape, Picture):
            title = f"{layer}, map {len(hands) + 1}"
            shape = replace(shape, title=title)
            hands[title] = {
                "say": f"{title}: click to see its kernel",
                "choose": {"layer": [layer], "map": len(hands) + 1},
            }
        shapes.append(shape)
    return replace(scene, shapes=tuple(shapes)), hands
