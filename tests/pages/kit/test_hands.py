"""Tables of what hands can do with a drawing: where handles are, which cells are edited, which sums are said."""

import pytest

from lamina._errors import ArgumentError
from lamina.drawing.charts import Series, chart
from lamina.drawing.scene import Circle, Scene
from lamina.pages.kit._hands import axes_of, grip, matrix_hands, window_hands


def test_a_handle_lies_where_the_axes_say_and_knows_them():
    drawn = chart([Series("", [0, 4], [-1, 1])], x_range=(0, 4), y_range=(-1, 1))
    axes = axes_of(drawn, (0, 4), (-1, 1))
    (left, right, *_), (bottom, top, *_) = axes["across"], axes["up"]
    scene, hands = grip(drawn, "start", (1, 0.5), (0, 4), (-1, 1), ("x", "y"), snap=0.1)
    disc = scene.shapes[-1]
    assert isinstance(disc, Circle) and scene.shapes[:-1] == drawn.shapes
    assert disc.center == pytest.approx((left + (right - left) / 4, bottom + (top - bottom) * 3 / 4))
    assert hands == {"start": {"drag": {**axes, "set": ["x", "y"], "snap": 0.1}}}


def test_a_drawing_without_axes_has_no_handle():
    with pytest.raises(ArgumentError, match="`scene` must be a chart with axes, got Scene"):
        axes_of(Scene(10, 10, (), "empty"), (0, 1), (0, 1))


def test_cells_are_edited_where_they_were_typed_also_if_drawn_turned():
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    plain, turned = (matrix_hands("K", rows, "kernel", turned=way) for way in (False, True))
    assert len(plain) == 6 and plain["K (3,1)"] == {"value": 5.0, "edit": {"into": "kernel", "row": 2, "column": 0}}
    assert turned["K (3,1)"] == {"value": 5.0, "edit": {"into": "kernel", "row": 0, "column": 1}}


def test_an_entry_is_the_sum_over_its_window():
    hands = window_hands((2, 2), (2, 2))
    assert hands["result (2,1)"]["sum"] == [
        ["Y (2,1)", "K (1,1)"], ["Y (2,2)", "K (1,2)"], ["Y (3,1)", "K (2,1)"], ["Y (3,2)", "K (2,2)"],
    ]  # fmt: skip
