"""The table of drawings with a name."""

import pytest

from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.scene import Text
from lamina.drawing.svg import svg
from lamina.drawing.table import TABLE, drawing


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
