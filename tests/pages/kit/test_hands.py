"""Tables of what hands can do with a drawing: where handles are, which cells are edited, which sums are said."""

import re

import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina.drawing.charts import Series, chart
from lamina.drawing.scene import Circle, Scene
from lamina.pages.kit._hands import axes_of, data_hands, grip, matrix_hands, moved, point_titles, taken, window_hands


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


def test_data_points_are_named_and_know_the_axes_and_what_follows():
    points = [[0.5, 1.0], [0.25, -1 / 3]]
    marks = Series("", *zip(*points, strict=True), "line2", titles=point_titles(2))
    drawn = chart(points=[marks], x_range=(0, 1), y_range=(-1, 1))
    titles = [shape.title for shape in drawn.shapes if isinstance(shape, Circle)]
    assert titles == point_titles(2) == ["point 1", "point 2"]
    found = data_hands(drawn, points, (0, 1), (-1, 1), follow="means", steps=3)
    assert found == {
        "points": {
            **axes_of(drawn, (0, 1), (-1, 1)), "at": [[0.5, 1.0], [0.25, -0.333333]], "into": "moved-points",
            "follow": "means", "given": {"steps": 3},
        }
    }  # fmt: skip


def test_moved_points_are_put_into_a_copy():
    points = torch.zeros(3, 2, dtype=torch.float64)
    found = moved(points, " 1 = 2 −3 ;; 3=0.25 1e1; 9=1 1; 0=5 5;")
    assert found.tolist() == [[2.0, -3.0], [0.0, 0.0], [0.25, 10.0]] and not points.any()
    assert moved(points, "").tolist() == points.tolist()


@pytest.mark.parametrize("text", ["3=far away", "3=1", "x=1 2", "1=nan 0", "1=0 inf", "2=1001 0", "1=1 2 3",
    "1=1_0 2", "٣=1 1", "1=-1e999 0", "1=.e-+ 1", "1234567=1 1"])  # fmt: skip
def test_a_move_that_cannot_be_read_is_a_sentence(text):
    with pytest.raises(DataError, match=rf"must look like 3=0.5 -1, .* of at most 1000, got '{re.escape(text)}'"):
        moved(torch.zeros(3, 2), f"2=1 1; {text}")
    points, notes = taken(torch.zeros(3, 2), f"2=1 1; {text}")
    assert not points.any() and "a moved point must look like 3=0.5 -1" in notes[0].text
    assert taken(points, "2=1 1")[1] == []


@pytest.mark.parametrize("number", ["9" * 5000, "1" * 999_000])
def test_a_list_of_moves_is_bounded_before_it_is_read(number):
    """A number of more digits than Python reads, which would end the cell, and a text that would take seconds."""
    assert moved(torch.zeros(1, 2), "1=1 1;" * 3333).tolist() == [[1.0, 1.0]]
    for text in ("1=1 1;" * 3334, number * 5 + "=1 1"):
        points, notes = taken(torch.zeros(1, 2), text)
        words = f"the list of moved points must have at most 20,000 characters, got {len(text):,}."
        assert words in notes[0].text and not points.any()
    assert "must look like" in taken(torch.zeros(1, 2), number[:5000] + "=1 1")[1][0].text
