"""The nerve cell, transfer learning, and the table of all named drawings."""

import pytest

from lamina._errors import ArgumentError
from lamina.drawing.collisions import overlaps
from lamina.drawing.neuron import neuron
from lamina.drawing.parts import edges, named
from lamina.drawing.scene import Circle, Path, Polygon, Rectangle, Text, box
from lamina.drawing.svg import svg
from lamina.drawing.table import TABLE, drawing
from lamina.drawing.transfer import transfer_learning


@pytest.mark.notes("N1.01")
def test_the_neuron_has_its_parts_from_left_to_right():
    scene = neuron()
    words = {s.content for s in scene.shapes if isinstance(s, Text)}
    assert words == {"dendrites", "cell body", "axon", "axon terminals", "inputs", "output"}
    parts = {title: [box(s) for s in scene.shapes if getattr(s, "title", "") == title] for title in _PARTS}
    assert [len(parts[title]) for title in _PARTS] == [28, 1, 5, 4]
    lefts = [min(b[0] for b in parts[title]) for title in _PARTS]
    assert lefts == sorted(lefts)  # inputs come from the left, the output leaves to the right
    colors = {s.title: s.fill.split("!")[0] for s in scene.shapes if isinstance(s, Polygon) and s.title}
    assert (colors["dendrite"], colors["cell body"], colors["axon"]) == ("input", "hidden", "output")
    body = parts["cell body"][0]
    nucleus = box(next(s for s in scene.shapes if isinstance(s, Circle) and s.title == "nucleus"))
    assert body[0] < nucleus[0] and nucleus[2] < body[2] and body[1] < nucleus[1] and nucleus[3] < body[3]


_PARTS = ("dendrite", "cell body", "axon", "terminal")


def test_the_neuron_without_words():
    assert not any(isinstance(s, Text) for s in neuron(labels=False).shapes)
    assert overlaps(neuron(), lines=True) == []


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


@pytest.mark.parametrize("name", TABLE)
def test_every_named_drawing_is_made_and_readable(name):
    scene = drawing(name)
    assert overlaps(scene) == []
    assert scene.title
    assert all(max(scene.width, scene.height) / s.size < 130 for s in scene.shapes if isinstance(s, Text))
    for theme in ("light", "dark", "page"):
        assert svg(scene, theme).startswith("<svg")


def test_unknown_names_and_options():
    with pytest.raises(ArgumentError, match="`name` must be one of neuron, .* got 'cat'"):
        drawing("cat")
    assert drawing("dice", total=4).title == "Two dice that add to 4"
    assert drawing("original-block", block="projection").title == "Residual block, projection"
