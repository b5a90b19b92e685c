"""A convolutional layer seen in two ways."""

import itertools

import pytest

from lamina.drawing._collisions import overlaps
from lamina.drawing.parts import edges, named
from lamina.drawing.scene import Rectangle
from lamina.drawing.views import two_views


@pytest.mark.notes("N3.10")
def test_two_views():
    scene = two_views()
    names = named(scene)
    assert names[0] == "Convolutional layer"
    stages = ["Convolution stage", "Detector stage", "Pooling stage"]
    layers = ["Convolutional layer", "Detector layer", "Pooling layer"]
    for middle in (stages, layers):
        chain = ["Input", *middle, "Next layer"]
        assert set(itertools.pairwise(chain)) <= set(edges(scene))
    frame = scene.shapes[0]
    boxes = {s.title: s for s in scene.shapes[1:] if isinstance(s, Rectangle)}

    def inside(s):
        return all(
            frame.corner[a] < s.corner[a] and s.corner[a] + s.size[a] < frame.corner[a] + frame.size[a] for a in (0, 1)
        )

    assert {title for title, s in boxes.items() if inside(s)} == set(stages)
    assert [boxes[s].stroke.color for s in stages] == ["weights", "activation", "pooling"]


def test_the_two_views_are_closer_on_a_phone():
    scene, slim = two_views(), two_views().narrower()
    assert slim.width < 448 < scene.width and overlaps(slim) == [] and slim.narrower is None
    assert edges(slim) == edges(scene) and named(slim) == named(scene)
