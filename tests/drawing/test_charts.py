"""Charts: marks stand where the numbers say, nothing overlaps, and a live page can afford them."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.charts import Band, Note, Series, chart, histogram
from lamina.drawing.scene import Circle, Path, Polygon, Rectangle, Text
from lamina.drawing.svg import svg


def texts(scene):
    return {shape.content: shape for shape in scene.shapes if isinstance(shape, Text)}


def named(scene, name):
    return [shape for shape in scene.shapes if getattr(shape, "title", "") == name]


def place(scene, axis, label):
    """Where the tick of a label is: its text stands beside it."""
    return texts(scene)[label].at[axis]


def test_points_stand_between_the_ticks_of_their_numbers():
    scene = chart(points=[Series("", [1.0, 3.0], [20.0, 40.0], size=4)], x_range=(0, 4), y_range=(0, 50))
    discs = [shape for shape in scene.shapes if isinstance(shape, Circle)]
    (x1, y1), (x3, y3) = (disc.center for disc in discs)
    left, right = place(scene, 0, "0"), place(scene, 0, "4")
    assert x1 == pytest.approx(left + (right - left) / 4) and x3 == pytest.approx(left + 3 * (right - left) / 4)
    bottom, top = texts(scene)["20"].at[1], texts(scene)["40"].at[1]
    assert y1 == pytest.approx(bottom) and y3 == pytest.approx(top)


def test_logarithmic_axes_put_equal_ratios_at_equal_distances():
    scene = chart(
        [Series("curve", [1, 10, 100], [1e-2, 1e-4, 1e-6])], log_x=True, log_y=True, x_range=(1, 100), y_range=(1e-6, 1)
    )
    (line,) = named(scene, "curve")
    (a, b), (c, d), (e, f) = line.points
    assert c - a == pytest.approx(e - c) and d - b == pytest.approx(f - d) and d > b
    assert r"$\mathsf{10}^{\mathsf{−6}}$" in texts(scene) and "0.01" not in texts(scene), "one way of writing an axis"


def test_two_axes_have_their_own_numbers_and_dashes():
    scene = chart(
        [
            Series("loss", [0, 1], [1.0, 0.0], "line1", "dashed"),
            Series("error", [0, 1], [100.0, 0.0], "line1", axis="right"),
        ],
        y_range=(0, 1), right_range=(0, 100), y_label="loss", right_label="error (%)",
    )  # fmt: skip
    (loss,), (error,) = named(scene, "loss"), named(scene, "error")
    assert loss.points[0] == pytest.approx(error.points[0]) and loss.points[1] == pytest.approx(error.points[1])
    assert loss.stroke.dash and not error.stroke.dash
    assert "error (%)" in texts(scene) and "100" in texts(scene) and not overlaps(scene)


def test_lines_and_areas_are_cut_at_the_edges_and_gaps_stay_open():
    scene = chart(
        [Series("steep", [0, 1], [-1.0, 3.0]), Series("gap", [0, 0.25, 0.5, 0.75, 1], [0.5, 0.5, None, 0.5, math.nan])],
        bands=[Band("strip", [0, 1], [-5, -5], [5, 5])],
        x_range=(0, 1),
        y_range=(0, 1),
    )
    (steep,) = named(scene, "steep")
    low, high = texts(scene)["0.0"], texts(scene)["1.0"]
    (x0, y0), (x1, y1) = steep.points
    left, right = min(x for p in named(scene, "strip") for x, _ in p.points), None
    right = max(x for p in named(scene, "strip") for x, _ in p.points)
    assert x0 == pytest.approx(left + (right - left) / 4) and x1 == pytest.approx(left + (right - left) / 2)
    assert y0 > y1 and low is not high
    assert len(named(scene, "gap")) == 1  # 0.75 alone becomes a mark
    assert sum(isinstance(shape, Circle) for shape in scene.shapes) == 1
    (strip,) = named(scene, "strip")
    ys = [y for _, y in strip.points]
    assert (min(ys), max(ys)) == pytest.approx((y1, y0))


def test_steps_go_right_and_then_up():
    (line,) = named(chart([Series("s", [0, 1, 2], [0.0, 1.0, 0.0], style="step")]), "s")
    assert len(line.points) == 5
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in zip(line.points, line.points[1:], strict=False))


def test_bars_grow_from_zero_in_both_directions():
    scene = chart(bars=[Series("", [1, 2], [2.0, -1.0], "line3")], y_range=(-1, 2))
    up, down = [s for s in scene.shapes if isinstance(s, Rectangle) and s.fill == "line3"]
    assert up.size[1] == pytest.approx(2 * down.size[1]) and up.size[0] == pytest.approx(down.size[0])
    assert up.corner[1] + up.size[1] == pytest.approx(down.corner[1])  # they meet at 0


def test_bars_side_by_side_stand_around_whole_numbers():
    places = range(1, 10)
    pair = [Series(name, [k + off for k in places], [1.0] * 9, size=0.38) for name, off in (("a", -0.2), ("b", 0.2))]
    scene = chart(bars=pair, x_range=(0, 10), y_range=(0, 1), width=340)
    words = set(texts(scene))
    assert {"0", "2", "4", "6", "8", "10"} <= words and "2.5" not in words


def test_histogram_is_a_density():
    series = histogram("h", [0.1, 0.1, 0.6, 1.0, 7.0], low=0, high=1, bins=4)
    assert series.xs == [0.125, 0.375, 0.625, 0.875]
    assert series.ys == pytest.approx([2 / 5 * 4, 0, 1 / 5 * 4, 1 / 5 * 4])
    (outline,) = [s for s in chart(bars=[series]).shapes if isinstance(s, Polygon)]
    assert len(outline.points) == 2 * 4 + 2


def test_legends_stand_above_the_data_and_break_into_rows():
    lines = [Series(f"a rather long name, number {k}", [0, 1], [k, k + 1], f"line{k}") for k in range(1, 7)]
    scene = chart(lines, title="many lines")
    top = min(y for shape in scene.shapes if isinstance(shape, Path) and shape.title for _, y in shape.points)
    names = [texts(scene)[line.name] for line in lines]
    assert all(text.at[1] < top for text in names) and len({text.at[1] for text in names}) > 1
    assert not overlaps(scene)
    assert not set(texts(chart(lines, legend=False))) & {line.name for line in lines}


def test_notes_stay_inside_the_plot():
    scene = chart(
        [Series("", [0, 1], [0, 1])], notes=[Note(1, 1, "far in the corner"), Note(0, 0, "also here", (0, 20))]
    )
    assert not overlaps(scene)


def test_long_lines_keep_their_spikes():
    ys = [0.0] * 5000
    ys[3217] = 9.0
    (line,) = named(chart([Series("long", range(5000), ys)], y_range=(0, 10)), "long")
    assert len(line.points) <= 900
    heights = sorted(y for _, y in line.points)
    assert heights[0] < heights[1]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6, width=32), st.floats(-1e9, 1e9, width=32)), min_size=1, max_size=30),
    st.booleans(),
)
def test_any_numbers_give_a_chart_without_overlaps(pairs, marks):
    series = [Series("some numbers", [x for x, _ in pairs], [y for _, y in pairs])]
    scene = chart([] if marks else series, series if marks else [], x_label="across", y_label="up", title="anything")
    assert not overlaps(scene)
    svg(scene)


def test_colors_follow_the_theme():
    scene = chart([Series("a", [0, 1], [0, 1], "line1")])
    assert "#0059b3" in svg(scene) and "#0059b3" not in svg(scene, "dark") and "--lamina-line1" in svg(scene, "page")


def test_bad_numbers_are_refused():
    with pytest.raises(ArgumentError, match=r"`ys` of 'a' must have as many numbers as `xs` \(2\), got 1"):
        Series("a", [1, 2], [1])
    with pytest.raises(ArgumentError, match="`style` must be one of 'solid'"):
        Series("a", [1], [1], style="wavy")
    with pytest.raises(ArgumentError, match="needs at least 1 value that its axes can show, got none"):
        chart()
    with pytest.raises(ArgumentError, match="needs at least 1 value"):
        chart([Series("a", [1, 2], [-1, 0])], log_y=True)
    with pytest.raises(ArgumentError, match="a logarithmic axis needs positive ends, got 0 and 1"):
        chart([Series("a", [1, 2], [1, 2])], log_y=True, y_range=(0, 1))
    with pytest.raises(ArgumentError, match="low < high and at least 1 class, got 1, 0 and 3"):
        histogram("h", [1.0], low=1, high=0, bins=3)


def test_marks_and_pieces_of_lines_have_tooltips_of_their_own():
    pieces = Series("", [0, 0, 0, 1, 1], [1, 2, None, 1, 2], titles=["first", "second"])
    marks = Series("", [0.0, 0.5, 1.0], [1.0, None, 2.0], "line2", "cross", titles=["a", "b"])
    scene = chart([pieces], [marks], x_range=(0, 1), y_range=(0, 3))
    titled = [shape.title for shape in scene.shapes if getattr(shape, "title", "")]
    assert titled == ["first", "second", "a", "a", "b", "b"], "both strokes of a cross belong to one mark"
