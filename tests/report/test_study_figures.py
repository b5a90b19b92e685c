"""The drawings of a study, to the pixel."""

from xml.etree import ElementTree

import pytest

from lamina.report._study_figures import heat_map, leaders_curves, parallel, progress, scale_of, slice_of, slices
from lamina.report._study_record import Axis, Tried
from report.study_samples import RATE, WIDTH, study


def words(node: ElementTree.Element) -> str:
    return " ".join("".join(node.itertext()).split())


def curves(drawing: ElementTree.Element, color: str) -> list[str]:
    """Give the points of the curves of a color, which are the lines of width 2."""
    lines = [line for line in drawing.findall("polyline") if line.get("stroke-width") == "2"]
    return [line.get("points") for line in lines if f"--lamina-{color}" in line.get("style")]


def test_parallel_coordinates_draw_the_best_last_and_in_color():
    drawing = ElementTree.fromstring(parallel(study()))
    paths = drawing.findall("path")
    assert [p.get("stroke-width") for p in paths] == ["1.6"] * 5 + ["3"]
    assert "--lamina-line2" in paths[-1].get("style") and "--lamina-line1" in paths[0].get("style")
    assert words(paths[-1]) == "#4: 90.0% with learning_rate 0.01, width 16"
    # Three axes at 60, 558 and 1056; the error 0.1 of the best on a linear scale from 0 to 0.5 over 44 to 308.
    assert paths[-1].get("d").startswith("M60,") and paths[-1].get("d").endswith(" 1056,255.2")
    assert [words(t) for t in drawing.iter("text") if t.get("font-weight")] == ["learning rate", "width", "error"]
    assert parallel(study(tried=study().tried[:1])) == ""


def test_many_lines_are_thinned_but_no_leader_is_lost():
    tried = tuple(Tried(n, {"learning_rate": "0.01", "width": "8"}, 0.5 + n / 10_000) for n in range(3000))
    paths = ElementTree.fromstring(parallel(study(tried=tried))).findall("path")
    assert len(paths) < 1300 and sum(p.get("stroke-width") == "1.6" for p in paths) == 9
    assert words(paths[-1]).startswith("#2999: 80.0%")


def test_progress_is_a_staircase():
    drawing = ElementTree.fromstring(progress(study()))
    assert len(drawing.findall(".//circle")) == 6
    # errors .5 .4 .3 .2 .1 .25 over 0..5: x = 46 + 65.2 n, y = 198 - 182 e / 0.5
    (points,) = curves(drawing, "line2")
    stairs = "46,16 111.2,16 111.2,52.4 176.4,52.4 176.4,88.8 241.6,88.8 241.6,125.2 306.8,125.2 306.8,161.6"
    assert points == f"{stairs} 372,161.6 372,161.6"
    assert progress(study(tried=())) == ""


def test_curves_of_the_leaders():
    drawing = ElementTree.fromstring(leaders_curves(study()))
    assert [len(curves(drawing, color)) for color in ("muted", "line1", "line2")] == [1, 4, 1]
    assert leaders_curves(study(tried=tuple(Tried(0, {}, 0.5) for _ in range(2)))) == ""
    longer = tuple(Tried(n, t.values, t.value, curve=(0.1, 0.2), epochs=10) for n, t in enumerate(study().tried))
    assert "at epoch 10" in leaders_curves(study(tried=longer))


def test_the_curve_of_the_best_marks_the_epoch_that_counts():
    tried = tuple(Tried(n, t.values, t.value, curve=(0.1, 0.3, 0.2)) for n, t in enumerate(study().tried))
    drawing = ElementTree.fromstring(leaders_curves(study(tried=tried)))
    (mark,) = [line for line in drawing.findall("polyline") if line.get("stroke-dasharray") == "3 3"]
    assert mark.get("points").startswith("209,"), "the second of three epochs, in the middle of 46 to 372"
    assert "best" in words(drawing)


def test_slices_hold_the_others_at_the_best():
    lowest, held = slices(study(), RATE)
    assert lowest == [(0.0, pytest.approx(0.3)), (1.0, pytest.approx(0.1))]  # the best of each
    assert held == [(0.0, pytest.approx(0.4)), (1.0, pytest.approx(0.1))]  # width 16 as in the best
    assert slices(study(), Axis("x", ends=(0.0, 1.0))) == ([], [])
    drawing = ElementTree.fromstring(slice_of(study(), WIDTH))
    # three places at 46 + 326 (i + 1/2) / 3; errors .2 .1 .25 on 0..0.5
    assert curves(drawing, "line2") == ["100.33,125.2 209,161.6 317.67,107"]
    assert sum(circle.get("r") == "2.6" for circle in drawing.findall("circle")) == 6


def test_heat_maps_show_the_best_of_each_pair():
    drawing = ElementTree.fromstring(f"<div>{heat_map(study(), RATE, WIDTH)}</div>")
    rows = [[words(cell) for cell in row] for row in drawing.find(".//tbody")]
    assert rows == [["0.001", "50.0", "60.0", "70.0"], ["0.01", "80.0", "90.0", "75.0"]]
    shades = {words(cell): float(cell.get("style")[4:]) for cell in drawing.iter("td")}
    assert shades["90.0"] == 1.0 and shades["50.0"] == 0.06
    assert sorted(shades, key=shades.get) == sorted(shades, key=float)
    fixed = study(axes=(RATE, Axis("width", ("8",))), tried=tuple(t for t in study().tried if t.values["width"] == "8"))
    assert heat_map(fixed, *fixed.axes) == ""  # one of the two does not vary


def test_errors_of_zero_have_a_place_on_a_logarithmic_scale():
    scale = scale_of([0.0, 0.04, 0.9], 100, 0)
    assert scale.log and (scale.low, scale.high) == (0.01, 1.0)
    assert not scale_of([0.2, 0.9], 100, 0).log and not scale_of([-0.5, 0.9], 100, 0).log
