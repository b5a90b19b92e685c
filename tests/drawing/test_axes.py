"""The frame of a chart: lines and areas are cut at its edges."""

from lamina.drawing.axes import Axis, Frame, _clipped_area, clipped, horizontal, segments, short, vertical
from lamina.drawing.charts import Series, chart
from lamina.drawing.scales import exact
from lamina.drawing.scene import Text, text_box

SIDE = exact(0, 1, 0, 10)
SQUARE = Frame(0, 0, 10, 10, SIDE, SIDE)


def test_lines_are_cut_at_the_edges():
    assert clipped([(-5.0, 5.0), (5.0, 5.0), (5.0, 25.0)], SQUARE) == [[(0.0, 5.0), (5.0, 5.0), (5.0, 10.0)]]
    assert clipped([(1.0, 1.0), (9.0, 9.0)], SQUARE) == [[(1.0, 1.0), (9.0, 9.0)]]
    assert clipped([(-5.0, 5.0), (-1.0, 5.0)], SQUARE) == []


def test_areas_are_cut_at_the_edges():
    cut = _clipped_area([(-5.0, 5.0), (5.0, 5.0), (5.0, 8.0)], SQUARE)
    assert cut == [(0.0, 6.5), (0.0, 5.0), (5.0, 5.0), (5.0, 8.0)]
    assert _clipped_area([(-5.0, 5.0), (-4.0, 5.0), (-4.0, 8.0)], SQUARE) == []


def test_lines_break_where_a_value_is_missing_or_has_no_logarithm():
    assert segments([0, 1, 2, 3], [5.0, None, 6.0, 7.0]) == [[(0, 5.0)], [(2, 6.0), (3, 7.0)]]
    assert segments([0, 1], [0.0, 1.0], log=True) == [[(1, 1.0)]]


def test_the_vertical_axis_of_counts_is_whole_and_that_of_shares_is_not():
    labels = lambda values, **more: [label for _, label in vertical(Axis(**more), values, 240).ticks]  # noqa: E731
    assert labels([0.0, 3.0, 1.0]) == ["0", "1", "2", "3"]
    assert labels([0.0, 1.0]) == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert labels([1.0, 2.0], limits=(0, 3)) == ["0", "1", "2", "3"]


def test_a_horizontal_axis_about_whole_places_is_whole_wherever_it_ends():
    labels = lambda about, **more: [  # noqa: E731
        label for _, label in horizontal(Axis(limits=(0.4, 3.6)), [0.4, 3.6], 360, about=about, **more).ticks
    ]
    assert labels([1, 2, 3]) == ["1", "2", "3"], "times of a recurrent network, with room beside them"
    half = horizontal(Axis(limits=(0.4, 2.6)), [0.4, 2.6], 360, about=[1, 2.5])
    assert [label for _, label in half.ticks] == ["0.5", "1.0", "1.5", "2.0", "2.5"]
    ten = lambda room, **more: [  # noqa: E731
        label for _, label in horizontal(Axis(limits=(-0.5, 9.5)), [0, 9], room, about=range(10), **more).ticks
    ]
    assert ten(300) == ["0", "2", "4", "6", "8"]
    assert ten(300, each=True) == [str(digit) for digit in range(10)], "each of ten bars"
    assert ten(60, each=True) == ["0", "5"], "where there is no room there is none"


def test_a_number_in_a_drawing_has_its_power_of_ten_as_a_formula():
    assert short(12.345) == "12.3" and short(-0.5) == "−0.5"
    assert short(-3.51e-5) == r"$\mathsf{−3.51} \cdot \mathsf{10}^{\mathsf{−5}}$"
    assert short(1e20) == r"$\mathsf{10}^{\mathsf{20}}$"


def test_numbers_in_the_corner_of_a_chart_do_not_touch():
    scene = chart([Series("", [0, 0.5, 1], [-2, 1, 2])], x_range=(0, 1), y_range=(-2, 2), width=300, height=200)
    texts = {shape.content: shape for shape in scene.shapes if isinstance(shape, Text)}
    low, first = text_box(texts["−2"]), text_box(texts["0.00"])
    assert low[2] > first[0] and first[1] - low[3] > 4
    assert texts["1.00"].at[1] == texts["0.00"].at[1], "they stay in one row"
    plain = chart([Series("", [0.2, 1], [-2, 2])], x_range=(-0.1, 1), y_range=(-2, 2), width=300, height=200)
    (zero,) = (shape for shape in plain.shapes if isinstance(shape, Text) and shape.content == "0.0")
    assert zero.at[1] == texts["0.00"].at[1] - 3
