import math
from dataclasses import replace

import pytest

from lamina._errors import ArgumentError
from lamina.drawing.scene import (
    Circle,
    Path,
    Picture,
    Polygon,
    Rectangle,
    Scene,
    Stroke,
    Text,
    _arrow_parts,
    beside,
    box,
    fitted,
    outline,
    stacked,
    text_box,
)
from lamina.drawing.table import drawing

EVERY = (
    Circle((10, 10), 4),
    Rectangle((1, 2), (3, 4), stroke=Stroke(width=2, dash=(2, 1)), radius=1),
    Polygon(((0, 0), (2, 0), (1, 2))),
    Path(((0, 0), (5, 5)), arrow="both"),
    Text((3, 3), "word", 10),
    Picture((0, 0), (2, 2), [[0, 255]]),
)


def test_moving_there_and_back_changes_nothing():
    scene = Scene(40, 30, EVERY, "all shapes")
    there = scene.moved(7, -3)
    assert there.moved(-7, 3) == scene and there.width == 40
    assert there.shapes[1] == replace(EVERY[1], corner=(8, -1))
    assert there.shapes[3] == replace(EVERY[3], points=((7, -3), (12, 2)))
    assert there.shapes[4] == Text((10, 0), "word", 10)


def test_a_fitted_scene_is_as_large_as_its_shapes_and_margins():
    scene = fitted(
        [Rectangle((5, 5), (10, 20), stroke=Stroke(width=2)), Circle((40, 15), 10, stroke=None)], title="two"
    )
    assert (scene.width, scene.height) == (46 + 16, 22 + 16)
    assert scene.shapes[0].corner == (9, 9)


def test_scenes_stand_beside_and_below_each_other():
    one = fitted([Circle((0, 0), 10, stroke=None)], title="one", margin=0)
    two = fitted([Circle((0, 0), 20, stroke=None)], title="two", margin=0)
    row = beside(one, two, gap=5)
    assert (row.width, row.height, row.title) == (65, 40, "one; two")
    assert [s.center for s in row.shapes] == [(10, 20), (45, 20)]
    assert beside(one, two, align="top").shapes[0].center == (10, 10)
    column = stacked(one, two, gap=5, align="right")
    assert [s.center for s in column.shapes] == [(30, 10), (20, 45)]


def test_text_boxes_follow_anchor_angle_and_size():
    left, top, right, bottom = text_box(Text((0, 0), "Hj", 10))
    assert (left, right) == (0, pytest.approx(10 * (1540 + 569) / 2048))  # the widths of H and j in DejaVu Sans
    assert bottom == pytest.approx(3.6 + 2.4)
    assert text_box(Text((0, 0), "Hj", 10, anchor="end"))[2] == pytest.approx(0)
    turned = text_box(Text((0, 0), "Hj", 10, angle=90))
    assert turned == pytest.approx((top, -right, bottom, left))


def test_arrows_end_at_their_tip_and_point_along_the_line():
    line, (end, start) = _arrow_parts(Path(((0, 0), (0, 30)), Stroke(width=1), "both"))
    assert end[0] == (0, 30)
    assert start[0] == (0, 0)
    assert end[1][1] == end[2][1] == pytest.approx(24)  # a head is 6 long for a line of width 1
    assert abs(end[1][0] - end[2][0]) == pytest.approx(4.6)
    assert 0 < line[0][1] < line[1][1] < 30
    curve = Path(((0, 0), (10, 0), (20, 10), (20, 20)), arrow="end", curve=True)
    tip, *sides = _arrow_parts(curve)[1][0]
    assert tip == (20, 20)
    assert sides[0][1] == pytest.approx(14)  # it arrives from above


def test_curves_become_short_pieces():
    points = outline(Path(((0, 0), (0, 8), (8, 8), (8, 0)), curve=True), steps=2)
    assert points == [(0, 0), (4, 6), (8, 0)]
    assert box(Path(((0, 0), (0, 8), (8, 8), (8, 0)), Stroke(width=0), curve=True))[3] == 6


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Path(((0, 0),)), "`points` must be at least 2"),
        (lambda: Path(((0, 0), (1, 1), (2, 2)), curve=True), "three points for each piece"),
        (lambda: Picture((0, 0), (1, 1), [[1, 2], [3]]), r"rows of one length, got lengths \[1, 2\]"),
        (lambda: Picture((0, 0), (1, 1), []), "rows of one length"),
        (lambda: Scene(0, 10, (), "flat"), "`width` must be a positive number of points, got 0"),
        (lambda: Scene(10, math.nan, (), "none"), "`height` must be a positive number of points, got nan"),
        (lambda: fitted([], title="nothing"), "`shapes` must hold at least 1 shape, got 0"),
        (lambda: drawing("grou"), "Did you mean 'gru'?"),
        (
            lambda: drawing("gru", widths=(1, 2)),
            "the drawing 'gru' has no option 'widths': its options are legend",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        make()
