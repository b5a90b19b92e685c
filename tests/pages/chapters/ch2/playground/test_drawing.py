"""The drawings of the page ch2/playground: numbers by hand, and what the notes say of them."""

from lamina.drawing.palettes import signed
from lamina.drawing.scene import Picture
from lamina.pages.chapters.ch2.playground._drawing import decision_surface, pictured_network


def test_the_border_of_a_surface_lies_where_the_classes_are_equally_likely():
    rows = [[0.0, 0.25, 0.75, 1.0]] * 4
    scene = decision_surface([[[1 - v for v in row] for row in rows], rows], (0, 4), (0, 4), [])
    picture = next(shape for shape in scene.shapes if isinstance(shape, Picture))
    border = next(
        shape
        for shape in scene.shapes
        if getattr(shape, "points", None) and shape.stroke.color == "ink" and len(shape.points) == 4
    )
    middle = picture.corner[0] + picture.size[0] / 2
    assert all(abs(x - middle) < 1e-6 for x, _ in border.points)
    assert picture.pixels[0][0] == signed(-1.0, 0.5) and picture.pixels[0][-1] == signed(1.0, 0.5)


def test_nodes_are_pictures_of_their_answers():
    maps = [[[[1.0, -1.0]]] * 2, [[[0.0, 0.0]]] * 3, [[[1.0, 1.0]]]]
    scene = pictured_network((2, 3, 1), [[[1.0, 2.0]] * 3, [[1.0, 1.0, 1.0]]], maps)
    pictures = [shape for shape in scene.shapes if isinstance(shape, Picture)]
    assert [picture.title for picture in pictures] == ["y[0] 1", "y[0] 2", "y[1] 1", "y[1] 2", "y[1] 3", "y[2] 1"]
    assert pictures[0].pixels[0][0] == signed(1.0) and pictures[0].pixels[0][1] == signed(-1.0)
