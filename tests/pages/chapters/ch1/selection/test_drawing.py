"""The drawings of the page ch1/selection: numbers by hand, and what the notes say of them."""

import pytest

from lamina.drawing._collisions import overlaps
from lamina.drawing.scene import Circle, Path, Rectangle, Text
from lamina.pages.chapters.ch1.selection._drawing import grid_map, split_bar


def test_split_bar_is_in_proportion():
    widths = [shape.size[0] for shape in split_bar([4, 1, 1]).shapes if isinstance(shape, Rectangle)]
    assert widths == pytest.approx([544 * 4 / 6, 544 / 6, 544 / 6])


def test_grid_map_is_light_where_errors_are_low():
    scene = grid_map(
        [[1.0, 0.01], [None, 0.1]],
        ("a", "b"),
        ("c", "d"),
        labels=("x", "y"),
        best=(1, 0),
        way=[(0, 0), (1, 0)],
        numbers=True,
    )
    cells = {shape.title: shape.fill for shape in scene.shapes if isinstance(shape, Rectangle)}
    assert cells["a, c: 1"] == "#2a2456" and cells["b, c: 0.01"] == "#f6f4ec" and cells["a, d: no number"] == "grid"
    (arrow,) = (shape for shape in scene.shapes if isinstance(shape, Path))
    (ring,) = (shape for shape in scene.shapes if isinstance(shape, Circle))
    assert arrow.points[-1] == ring.center == (378.0, 190.0)


def test_every_part_of_the_bar_is_named_on_a_phone_too():
    for sizes in ([400, 100, 100], [500, 50, 50], [10, 300, 300], [598, 1, 1]):
        wide = split_bar(sizes)
        for scene in (wide, wide.narrower()):
            words = [shape.content for shape in scene.shapes if isinstance(shape, Text) and not shape.bold]
            assert words == ["training", "validation", "test"] and overlaps(scene) == []


def test_a_grid_of_errors_fits_a_phone():
    values = [[0.1 * (i + j + 1) for i in range(5)] for j in range(4)]
    scene = grid_map(values, tuple("abcde"), tuple("wxyz"), labels=("x", "y"), best=(0, 0), numbers=True)
    slim = scene.narrower()
    assert slim.width < 448 < scene.width and overlaps(slim) == [] and slim.narrower is None
    titles = [[shape.title for shape in each.shapes if isinstance(shape, Rectangle)] for each in (scene, slim)]
    assert titles[0] == titles[1]
