"""Feature maps that can be clicked, and all of two layers in one picture."""

import torch

from lamina.drawing.panels import picture_grid
from lamina.drawing.scene import Picture, Text
from lamina.pages.chapters.ch3.lenet._maps import clickable, passed


def test_every_map_is_named_and_chosen_by_its_number():
    scene, hands = clickable(picture_grid([[[0]], [[1]], [[0]]], 2), "convolution 1")
    titles = [shape.title for shape in scene.shapes if isinstance(shape, Picture)]
    assert titles == list(hands) == [f"convolution 1, map {number}" for number in (1, 2, 3)]
    assert hands[titles[2]]["choose"] == {"layer": ["convolution 1"], "map": 3}


def test_the_maps_of_two_layers_are_as_wide_as_each_other_and_named():
    scene = passed({"detector 1": torch.rand(6, 28, 28), "detector 2": torch.rand(16, 10, 10)})
    pictures = [shape for shape in scene.shapes if isinstance(shape, Picture)]
    words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert [len(picture.pixels) for picture in pictures] == [28] * 6 + [10] * 16
    assert words == ["detector 1: 6 maps", "detector 2: 16 maps"]
    rights = [max(p.corner[0] + p.size[0] for p in part) for part in (pictures[:6], pictures[6:])]
    assert rights[0] == rights[1]
