"""Feature maps: those of a layer that can be clicked, and all that a digit passes through in one picture."""

from collections.abc import Mapping
from dataclasses import replace

from lamina._types import Float, Tensor
from lamina.drawing.panels import picture_grid
from lamina.drawing.scene import Picture, Scene, Shape, stacked
from lamina.inspection.activations import normalized
from lamina.pages.chapters.ch3._shared import pixels
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


def passed(layers: Mapping[str, Float[Tensor, "map row column"]]) -> Scene:
    """Draw the maps of several layers below each other, each row as wide as the others, bright where a map is large.

    >>> import torch
    >>> scene = passed({"detector 1": torch.rand(6, 28, 28), "detector 2": torch.rand(16, 10, 10)})
    >>> sum(isinstance(shape, Picture) for shape in scene.shapes)
    22
    """
    rows = []
    for words, values in layers.items():
        columns = 6 if len(values) == 6 else 8
        cell = (300.0 - 4.0 * (columns - 1)) / columns
        pictures = [pixels(one) for one in normalized(values)]
        said = f"{words}: {len(values)} maps"
        rows.append(picture_grid(pictures, columns, cell=cell, gap=4, caption=said, title=words))
    return stacked(*rows, gap=4, title="maps")
