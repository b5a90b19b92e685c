"""Drawings: coordinates computed by hand from the frame and the values."""

import re
from xml.etree import ElementTree

import pytest

from lamina.drawing.charts import DENSE
from lamina.report._figures import (
    BOTTOM,
    DOTS,
    LEFT,
    RIGHT,
    SQUARE,
    TOP,
    Line,
    bars,
    bins,
    calibration,
    curves,
    histogram,
    scatter,
)


def points(drawing: str) -> list[list[tuple[float, float]]]:
    """Give the points of the curves, which are the lines of width 2."""
    lines = re.findall(r'<polyline points="([^"]*)"[^>]* stroke-width="2"', drawing)
    return [[tuple(map(float, pair.split(","))) for pair in line.split()] for line in lines]


def circles(drawing: str, radius: str) -> list[tuple[str, str]]:
    return re.findall(rf'<circle cx="([\d.]+)" cy="([\d.]+)" r="{radius}"', drawing)


def texts(drawing: str) -> list[str]:
    return [node.text for node in ElementTree.fromstring(drawing).iter("text")]


def test_frame():
    assert (LEFT, RIGHT, TOP, BOTTOM) == (46, 372, 16, 198)


def test_points_of_a_curve():
    drawing = curves([1, 2, 3], [Line("training", [1.0, 0.5, 0.0], "train")], axis="epoch", label="Loss", best=3)
    # Across: 46 + (372 - 46) (x - 1) / 2.  Up: 198 - (198 - 16) y.
    assert points(drawing) == [[(46, 16), (209, 107), (372, 198)]]
    assert texts(drawing)[:6] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert {"1", "2", "3", "epoch", "best"} <= set(texts(drawing))
    assert '<polyline points="372,12 372,198"' in drawing and circles(drawing, "9") == circles(drawing, "2.4")
    assert "<title>training: 0.5 at epoch 2</title>" in drawing


def test_points_on_a_logarithmic_scale():
    drawing = curves([1, 2, 3], [Line("loss", [10.0, 1.0, 0.1], "train")], axis="epoch", label="Loss")
    assert points(drawing) == [[(46, 16), (209, 107), (372, 198)]]
    assert {"0.1", "1", "10"} <= set(texts(drawing))


def test_missing_values_cut_the_line_and_lone_points_get_a_large_mark():
    values = [1.0, 0.5, None, 0.25, None, 0.0, 1.0]
    drawing = curves(range(1, 8), [Line("loss", values, "train")], axis="epoch", label="Loss")
    assert [len(line) for line in points(drawing)] == [2, 2]
    assert len(circles(drawing, "2.4")) == 4 and len(circles(drawing, "4")) == 1
    assert "None" not in drawing and "nan" not in drawing


def test_zeros_are_left_out_of_a_forced_logarithmic_scale():
    drawing = curves([1, 2, 3], [Line("g", [1.0, 0.0, 0.1], "#123456")], axis="epoch", label="g", log=True)
    assert points(drawing) == [] and circles(drawing, "4") == [("46", "16"), ("372", "198")]
    assert 'r="4" style="fill:#123456"' in drawing


def test_one_check_is_a_point_and_nothing_is_nothing():
    drawing = curves([5], [Line("loss", [0.7], "train")], axis="epoch", label="Loss", best=5)
    # Halfway across; the scale ends at 0.8: 198 - 182 * 0.7 / 0.8.
    assert points(drawing) == [] and circles(drawing, "4") == [("209", "38.75")]
    assert curves([1, 2], [Line("loss", [None, None], "train")], axis="epoch", label="Loss") == ""
    assert curves([1], [], axis="epoch", label="Loss") == ""


def test_a_long_line_is_thinned_but_keeps_its_spike():
    values = [0.5] * 5000
    values[3210] = 9.0
    drawing = curves(range(5000), [Line("loss", values, "train")], axis="step", label="Loss")
    (line,) = points(drawing)
    # The scale ends at 10: 198 - 182 * 0.9.
    assert len(line) <= DENSE + 2 and min(y for _, y in line) == pytest.approx(34.2)
    assert line[0][0] == LEFT and line[-1][0] == RIGHT


def test_names_in_tooltips_are_escaped():
    drawing = curves([1], [Line("<script>", [1.0], "train")], axis="epoch", label='"x"')
    assert "<script>" not in drawing and "&lt;script&gt;: 1 at epoch 1" in drawing


def test_calibration_puts_bins_at_confidence_and_accuracy():
    drawing = calibration([0.5, 1.0], [0.25, 1.0], [4, 16])
    width, height = SQUARE - 8 - LEFT, SQUARE - 40 - 10
    at = [(LEFT + 0.5 * width, 10 + 0.75 * height), (LEFT + width, 10.0)]
    assert points(drawing) == [[pytest.approx(pair) for pair in at]]
    assert len(circles(drawing, "7.5")) == len(circles(drawing, "12")) == 1  # 3 + 9 sqrt(n / 16)
    assert "4 predictions, 50.0% confident on average, 25.0% correct" in drawing


def test_scatter_has_equal_axes():
    drawing = scatter([(0.0, 1.0), (1.0, 0.0)])
    assert circles(drawing, "2.6") == [("46", "10"), ("332", "300")]
    assert '<polyline points="46,300 332,10"' in drawing and 'stroke-dasharray="4 4"' in drawing
    assert scatter([]) == ""


def test_scatter_of_very_many_examples_draws_some():
    assert len(circles(scatter([(i / 1e4, 0.0) for i in range(10_000)]), "2.6")) == 1429 <= DOTS


def test_histogram_counts_every_error_once():
    errors = [-1.0, -0.6, -0.1, 0.0, 0.2, 0.3, 1.0]
    low, width, counts = bins(errors)
    assert (low, width, counts) == (-1.0, 0.5, [2, 1, 3, 1])
    drawing = histogram(errors)
    bars = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', drawing)
    # 290 units for 3 examples, the largest count.
    assert [float(height) for *_, height in bars] == pytest.approx([193.3, 96.7, 290, 96.7], abs=0.05)
    assert "3 errors from 0 to 0.5" in drawing
    assert histogram([]) == "" and bins([0.0])[2] == [0, 0, 1, 0]


def test_bars_across():
    drawing = bars([("first", 2.0, 1.0), ("a name of more than twenty-four letters", -1.0, 0.0)], "importance", "drop")
    across = [float(x) for x in re.findall(r'<rect x="([\d.]+)"', drawing)]
    widths = [float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)"', drawing)]
    unit = widths[1]  # from -1 to 0; the other bar goes from 0 to 2
    assert widths[0] == pytest.approx(2 * unit, abs=0.05) and across[0] == pytest.approx(across[1] + unit, abs=0.05)
    (spread,) = re.findall(r'<polyline points="([\d.]+),[\d.]+ ([\d.]+),[\d.]+"[^>]* stroke-width="1.5"', drawing)[:1]
    assert float(spread[1]) - float(spread[0]) == pytest.approx(2 * unit, abs=0.05)  # one to each side
    assert {"first", "a name of more than twe…", "drop"} <= set(texts(drawing))
    assert bars([], "importance", "drop") == ""
