"""The frame of a chart: lines and areas are cut at its edges."""

from lamina.drawing.axes import Axis, Frame, _clipped_area, clipped, segments, vertical
from lamina.drawing.scales import exact

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
