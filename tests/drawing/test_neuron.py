"""The nerve cell, transfer learning, and the table of all named drawings."""

import pytest

from lamina.drawing._collisions import overlaps
from lamina.drawing.neuron import neuron
from lamina.drawing.scene import Circle, Polygon, Text, box


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
