"""What a phone shows instead: stacks in more rows, cells with their parts closer together, letters of 11 pixels."""

from dataclasses import replace

import pytest

from lamina.drawing._collisions import overlaps
from lamina.drawing.cells import CELLS, cell
from lamina.drawing.famous import alexnet, lenet5, resnet18
from lamina.drawing.parts import edges, named
from lamina.drawing.scene import Rectangle, Text, box
from lamina.drawing.wiring import SLIM

PLACE = 300.0
"""The width in pixels that a phone of 360 has for a drawing."""


def shown(scene):
    """Make letters as large as the style sheet does in that place: at least 11 pixels."""
    scale = min(1.0, PLACE / scene.width)
    grown = [
        replace(shape, size=max(11.0, shape.size * scale) / scale) if isinstance(shape, Text) else shape
        for shape in scene.shapes
    ]
    return replace(scene, shapes=tuple(grown))


@pytest.mark.parametrize("kind", [*CELLS])
def test_a_cell_is_narrow_enough_for_a_phone_and_the_same_cell(kind):
    wide = cell(kind)
    slim = wide.narrower()
    assert slim.width <= SLIM + 2 < wide.width and PLACE / slim.width > 0.7, "it does not scroll"
    assert sorted(edges(slim)) == sorted(edges(wide)) and sorted(named(slim)) == sorted(named(wide))
    assert overlaps(shown(slim), lines=True) == []
    frame = next(shape for shape in slim.shapes if isinstance(shape, Rectangle) and shape.title == "cell")
    inside = {part.name for part in CELLS[kind].parts if part.kind not in ("input", "state", "output")}
    for shape in slim.shapes:
        if getattr(shape, "title", "") in inside:
            left, _, right, _ = box(shape)
            assert box(frame)[0] <= left and right <= box(frame)[2], shape.title


@pytest.mark.parametrize("make", [lenet5, alexnet, resnet18])
def test_a_stack_has_more_rows_on_a_phone_and_the_same_layers(make):
    wide = make()
    slim = wide.narrower()
    assert PLACE / slim.width > 0.7 and slim.description == wide.description
    layers = [[s.title for s in scene.shapes if isinstance(s, Rectangle) and s.title] for scene in (wide, slim)]
    assert layers[0] == layers[1]
    assert overlaps(shown(slim), lines=True) == []
