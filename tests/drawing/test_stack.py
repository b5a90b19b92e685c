import pytest
from torch import nn

from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing._layers import Layer, Stage
from lamina.drawing._model_layers import layers_of
from lamina.drawing.scene import Rectangle, Text
from lamina.drawing.stack import stack


def titles(scene, kind):
    """List the solid fronts or boxes of a kind, by what their tooltips say."""
    return [s.title for s in scene.shapes if isinstance(s, Rectangle) and s.title.startswith(kind)]


def fills(scene, kind):
    return {s.fill.split("!")[0] for s in scene.shapes if isinstance(s, Rectangle) and s.title.startswith(kind)}


def words(scene):
    return [s.content for s in scene.shapes if isinstance(s, Text)]


def test_long_stacks_are_broken_into_rows():
    scene = stack([Layer("dense", (1000,))] * 40, style="boxes")
    assert scene.width < 1000
    assert overlaps(scene, lines=True) == []


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Layer("magic", (1,)), "`kind` must be one of 'input'"),
        (lambda: Layer("dense", ()), r"`shape` must have at least 1 axis, got \(\)"),
        (lambda: Layer("dense", (0,)), "`shape` must be at least 1, got 0"),
        (lambda: Stage("A", ()), "`layers` of the stage 'A' must be at least 1, got 0"),
        (
            lambda: Stage("A", (Layer("dense", (1,)),), ((0, 1),)),
            r"`skips` must be pairs of places from 0 to 0, got \(0, 1\)",
        ),
        (lambda: stack([]), "`items` must hold at least 1 layer, got 0"),
        (lambda: stack([Layer("dense", (1,))], style="round"), "`style` must be one of 'blocks', 'boxes', got 'round'"),
        (lambda: layers_of(nn.Sequential(), (1,)), "`model` must run at least 1 layer"),
    ],
)
def test_what_is_no_stack_is_refused(make, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        make()
