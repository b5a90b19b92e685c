"""Feature maps that can be clicked."""

from lamina.drawing.panels import picture_grid
from lamina.drawing.scene import Picture
from lamina.pages.chapters.ch3.lenet._maps import clickable


def test_every_map_is_named_and_chosen_by_its_number():
    scene, hands = clickable(picture_grid([[[0]], [[1]], [[0]]], 2), "convolution 1")
    titles = [shape.title for shape in scene.shapes if isinstance(shape, Picture)]
    assert titles == list(hands) == [f"convolution 1, map {number}" for number in (1, 2, 3)]
    assert hands[titles[2]]["choose"] == {"layer": ["convolution 1"], "map": 3}
