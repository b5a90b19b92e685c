"""Transfer learning in two rows."""

import pytest

from lamina.drawing._collisions import overlaps
from lamina.drawing.parts import edges, named
from lamina.drawing.scene import Path, Rectangle, Text
from lamina.drawing.transfer import transfer_learning


@pytest.mark.notes("N4.42")
def test_transfer_learning():
    scene = transfer_learning()
    assert named(scene) == [
        "Data",
        "Pretrained Model",
        "Labels",
        "new My Data",
        "new Pretrained Model",
        "new My Labels",
    ]
    assert edges(scene) == [
        ("Data", "Pretrained Model"),
        ("Pretrained Model", "Labels"),
        ("new My Data", "new Pretrained Model"),
        ("new Pretrained Model", "new My Labels"),
        ("Pretrained Model", "new Pretrained Model"),
    ]
    words = [s.content for s in scene.shapes if isinstance(s, Text)]
    assert words.count("adjust if necessary") == 2
    assert words.count("transfer") == 1
    down = [s for s in scene.shapes if isinstance(s, Path)][-1]
    assert down.points[0][0] == down.points[1][0]
    assert down.points[0][1] < down.points[1][1]
    colors = [s.stroke.color for s in scene.shapes if isinstance(s, Rectangle)]
    assert colors == ["input", "hidden", "output"] * 2
    assert overlaps(scene, lines=True) == []


def test_transfer_with_own_words():
    scene = transfer_learning(data="200 X-ray pictures", labels="healthy or not", model="ResNet18")
    assert "new 200 X-ray pictures" in named(scene)
    assert overlaps(scene, lines=True) == []


def test_on_a_phone_the_boxes_are_closer():
    scene, slim = transfer_learning(), transfer_learning().narrower()
    assert slim.width < 448 < scene.width and overlaps(slim) == [], "at 0.7 of its size it fits"
    assert edges(slim) == edges(scene) and named(slim) == named(scene) and slim.narrower is None
