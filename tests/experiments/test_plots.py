import math
import re

import pytest

from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.scene import Rectangle, Text
from lamina.drawing.svg import svg
from lamina.experiments.plots import plot
from lamina.experiments.result import Plot, Result
from lamina.pages.kit._recorded import names, recorded_result

COLUMNS = ("net", "n", "loss", "error")
ROWS = (("a", 1, 1.0, 0.5), ("a", 10, 0.1, 0.25), ("b", 1, 2.0, None), ("b", 10, math.inf, 0.0))


def result(plot=None):
    return Result("losses of two networks", COLUMNS, ROWS, plot=plot)


def test_series_follow_the_columns():
    both = result(Plot("n", ("loss", "error"), by=("net",))).series()
    assert [s.name for s in both] == ["a, loss", "a, error", "b, loss", "b, error"]
    assert both[0].xs == (1, 10) and both[0].ys == (1.0, 0.1) and math.isnan(both[3].ys[0])
    assert result().series() == ()


def test_a_plot_names_columns_that_are_there_and_hold_numbers():
    with pytest.raises(ArgumentError, match="`column` must be one of 'net', 'n', 'loss', 'error', got 'accuracy'"):
        result(Plot("n", ("accuracy",)))
    with pytest.raises(ArgumentError, match="`net` must hold numbers to be drawn, got 'a': draw another one"):
        result(Plot("net", ("loss",)))
    with pytest.raises(ArgumentError, match="`kind` must be one of 'lines', 'points', 'bars', got 'pie'"):
        Plot("n", ("loss",), "pie")
    with pytest.raises(ArgumentError, match="`y` must name at least 1 column, got none"):
        Plot("n", ())
    with pytest.raises(ArgumentError, match="`result` must say what to draw, got a table alone, 'losses of two"):
        plot(result())


@pytest.mark.parametrize("kind", ["lines", "points"])
def test_lines_and_points(kind):
    scene = plot(result(Plot("n", ("loss",), kind, by=("net",), log_x=True, log_y=True)))
    words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert {"a", "b", "$n$", "loss"} <= set(words) and overlaps(scene) == []
    assert "losses of two networks" in svg(scene)


@pytest.mark.parametrize("log", [False, True])
def test_bars_stand_behind_their_words(log):
    scene = plot(result(Plot("net", ("loss",), "bars", by=("n",), log_y=log)))
    words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert words[:4] == ["$n$ = 1", "$n$ = 10", "a", "1"] and overlaps(scene) == []
    assert words[-1] == ("loss, logarithmic" if log else "loss"), "bars without ticks say how long they are"
    bars = [shape for shape in scene.shapes if isinstance(shape, Rectangle)][2:]
    lengths = [bar.size[0] for bar in bars]
    assert lengths[0] > 5 * lengths[1] if not log else lengths[0] == pytest.approx(lengths[1] * 2)
    assert lengths[3] == max(lengths)  # what is infinite fills its row


def test_numbers_along_bars_say_what_they_count():
    scene = plot(Result("t", ("seed", "loss"), ((0, 1.0), (1, 2.0)), plot=Plot("seed", ("loss",), "bars")))
    words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert words == ["seed 0", "1", "seed 1", "2", "loss"] and overlaps(scene) == []


@pytest.mark.parametrize("name", names())
def test_recorded_results_are_drawn_in_words_that_people_use(name):
    found = recorded_result(name)
    if found.plot is None:
        return
    scene = plot(found)
    drawn = [scene, *([scene.narrower()] if scene.narrower else [])]
    assert [overlaps(each) for each in drawn] == [[]] * len(drawn)
    words = [shape.content for each in drawn for shape in each.shapes if isinstance(shape, Text)]
    assert [word for word in words if re.search(r"None|False|True|_relu|(?<!\w)-\d|\^\d", word)] == []
    assert not {"gd", "sgd", "gru", "lstm", "rnn", "relu", "xavier", "he", "or", "xor", "tau"} & set(words)
