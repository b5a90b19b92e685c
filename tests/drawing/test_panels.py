"""Several scenes as one."""

import pytest

from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.charts import Series, chart
from lamina.drawing.panels import lettered, panels, picture_grid
from lamina.drawing.scene import Picture


def test_panels_and_picture_grids():
    one = chart([Series("", [0, 1], [0, 1])], width=100, height=80)
    three = panels([one, one, one], 2, gap=10, title="t")
    assert (three.width, three.height) == (210, 170)
    assert [lettered(k, "x") for k in (0, 4)] == ["(a) x", "(e) x"]
    grid = picture_grid([[[0, 255]]] * 5, 2, cell=20, gap=4, labels=list("abcde"), caption="five")
    corners = [shape.corner for shape in grid.shapes if isinstance(shape, Picture)]
    assert [x for x, _ in corners] == [8, 32, 8, 32, 8] and not overlaps(grid)
    assert all(shape.size == (20, 10) for shape in grid.shapes if isinstance(shape, Picture))
    for call in (lambda: panels([], 2, title="t"), lambda: picture_grid([], 2)):
        with pytest.raises(ArgumentError, match="at least 1 p"):
            call()
