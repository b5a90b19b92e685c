"""The report of a study: what stands in it, its drawings to the pixel, and that it stands alone."""

import json
import re
from xml.etree import ElementTree

import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from lamina.report import render, write_report
from lamina.report._study import read
from lamina.report._study_figures import heat_map, leaders_curves, parallel, progress, scale_of, slice_of, slices
from lamina.report._study_page import luck, study_page
from lamina.report._study_record import Axis, StudyRecord, Tried, importance, levels
from lamina.studies.records import Outcome
from lamina.studies.samplers import Random
from lamina.studies.search import plan
from lamina.studies.study import Study

RATE, WIDTH = Axis("learning_rate", ("0.001", "0.01")), Axis("width", ("8", "16", "32"))
VALUES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.75)
ACCURACY = dict(zip([(rate, width) for rate in RATE.values for width in WIDTH.values], VALUES, strict=True))


def study(**changes) -> StudyRecord:
    tried = tuple(
        Tried(
            n, {"learning_rate": a, "width": b}, value, "finished", 1 - value, 3, (value - 0.2, value - 0.1, value), 0.5
        )
        for n, ((a, b), value) in enumerate(ACCURACY.items())
    )
    values = {
        "name": "studies/fnn-iris",
        "title": "fnn on iris",
        "lines": ("Feedforward network.", "iris: 100 training, 25 validation and 25 test examples."),
        "metric": "validation_accuracy",
        "direction": "maximize",
        "sampler": "every combination",
        "axes": (RATE, WIDTH),
        "tried": tried,
        "total": 6,
        "complete": True,
        "examples": (100, 25, 25),
        "test": {"metrics": {"loss": 0.4, "accuracy": 0.84}, "examples": 25, "openings": 1, "trial": 4},
        "same": (("epochs", "3"),),
        "command": ("lamina", "search", "fnn", "--data", "iris", "--grid", "learning_rate=0.001,0.01", "width=8,16,32"),
        "resume": ("lamina", "search", "--resume", "studies/fnn-iris"),
    }
    return StudyRecord(**{**values, **changes})


def tree(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def words(node: ElementTree.Element) -> str:
    return " ".join("".join(node.itertext()).split())


def section(page: str, name: str) -> ElementTree.Element:
    return next(node for node in tree(page).iter("section") if words(node.find("h2")) == name)


def test_first_screen():
    page = study_page(study())
    header = tree(page).find(".//header")
    text = words(header)
    assert words(header.find(".//h1")) == "fnn on iris" and "Study studies/fnn-iris" in text
    assert "84.0%test accuracy95% interval 65.3% to 93.6%" in text
    assert "configurations6best validation accuracy90.0%training time3.0 s" in text
    said = words(tree(page).find(".//div[@class='said']"))
    assert said.startswith("The search is complete: 6 configurations, every combination.")
    assert "The test split (25 examples) was opened once, for the best configuration" in said


def test_order_of_sections():
    names = [words(node) for node in tree(study_page(study())).iter("h2")]
    assert names == [
        "Leaders",
        "The course of the search",
        "All configurations",
        "One at a time",
        "Two at a time",
        "How much of it is luck?",
        "How it was made",
        "Do it again",
    ]


def test_the_page_stands_alone_and_cannot_be_injected_into():
    evil = "<script>alert(1)</script>"
    tried = tuple(Tried(t.number, {**t.values, "width": evil}, t.value, t.state) for t in study().tried)
    page = study_page(study(title=evil, tried=tried, axes=(RATE, Axis("width", (evil, "1")))))
    assert "<script" not in page and "&lt;script&gt;alert(1)" in page
    assert "default-src &#x27;none&#x27;" in page and not re.findall(r"(?:src|href)=\"(?!data:)", page)
    tree(page)


def test_the_leaders_are_ordered_and_what_is_odd_is_said():
    tried = (
        *study().tried,
        Tried(6, {"width": "8"}, None, "diverged"),
        Tried(7, {"width": "8"}, 0.95, "dropped", epochs=1),
    )
    rows = section(study_page(study(tried=tried)), "Leaders").find(".//tbody").findall("tr")
    cells = [[words(cell) for cell in row] for row in rows]
    assert cells[0] == ["1", "90.0%", "0.1000", "0.01", "16", "3", "finished", "#4"]
    assert [row[-1] for row in cells] == ["#4", "#3", "#5", "#2", "#1", "#0", "#7", "#6"]
    assert cells[-1] == ["8", "diverged", "–", "–", "8", "–", "diverged", "#6"]
    assert cells[-2][1] == "95.0%" and cells[-2][-2] == "dropped"  # dropped ones come after all that finished
    head = words(tree(study_page(study(tried=tried))).find(".//header"))
    assert "finished6" in head and "dropped1" in head and "diverged1" in head


def test_an_unfinished_study_says_how_to_go_on():
    page = study_page(study(complete=False, total=10, test=None))
    said = words(tree(page).find(".//div[@class='said']"))
    assert "The search is not complete: 6 of 10 configurations were tried. Go on with lamina search --resume" in said
    assert "The test split has not been opened." in said
    assert "90.0%best validation accuracychosen as the best, so it flatters" in words(tree(page).find(".//header"))
    assert "Go on with it" in words(section(page, "Do it again"))
    empty = study_page(study(tried=(), complete=False, total=None, test=None))
    assert "none" in words(tree(empty).find(".//header")) and "0 configurations were tried" in empty
    again = study_page(study(test={**study().test, "openings": 3}))
    assert "opened 3 times: what it says is no longer a fair judgement" in again


@pytest.mark.notes("N1.68")
def test_small_validation_sets_bring_a_warning_with_numbers():
    behind, share = luck(study())
    # 22.5 of 25 is 22 right answers: as often as not the best of six equally good ones reaches them.
    wanted = brentq(lambda p: 1 - binom.cdf(21, 25, p) ** 6 - 0.5, 0.1, 0.9)
    assert behind == pytest.approx(wanted, abs=1e-9) and share == pytest.approx(0.9 - wanted) == pytest.approx(
        0.1435, abs=1e-4
    )
    page = study_page(study())
    warning = words(next(p for p in tree(page).iter("p") if "Small validation set" in words(p)))
    assert (
        f"chosen among 6 by 25 examples, the best may owe up to {100 * share:.1f} points of its 90.0% to luck"
        in warning
    )
    assert "6 coins, thrown 100 times each: the best of them shows 56.3% heads" in words(
        section(page, "How much of it is luck?")
    )
    large = study_page(study(examples=(100_000, 25_000, 25_000)))
    assert "Small validation set" not in large and "so luck is at most" in large
    assert luck(study(metric="validation_loss", direction="minimize")) is None and luck(study(examples=None)) is None
    assert "no simple formula" in study_page(study(metric="validation_loss", direction="minimize"))


def test_parallel_coordinates_draw_the_best_last_and_in_color():
    drawing = ElementTree.fromstring(parallel(study()))
    paths = drawing.findall("g[@class='runs']/path")
    assert [p.get("class") for p in paths] == ["run lead"] * 5 + ["run best"]
    assert words(paths[-1]) == "#4: 90.0% with learning_rate 0.01, width 16"
    # Three axes at 60, 558 and 1056; the error 0.1 of the best on a linear scale from 0 to 0.5 over 44 to 308.
    assert paths[-1].get("d").startswith("M60 ") and paths[-1].get("d").endswith(" 1056 255.2")
    assert [words(t) for t in drawing.iter("text") if t.get("class") == "name"] == ["learning rate", "width", "error"]
    assert parallel(study(tried=study().tried[:1])) == ""


def test_many_lines_are_thinned_but_no_leader_is_lost():
    tried = tuple(Tried(n, {"learning_rate": "0.01", "width": "8"}, 0.5 + n / 10_000) for n in range(3000))
    paths = ElementTree.fromstring(parallel(study(tried=tried))).findall("g/path")
    assert len(paths) < 1300 and sum(p.get("class") == "run lead" for p in paths) == 9
    assert words(paths[-1]).startswith("#2999: 80.0%")


def test_progress_is_a_staircase():
    drawing = ElementTree.fromstring(progress(study()))
    assert len(drawing.findall(".//circle")) == 6
    # errors .5 .4 .3 .2 .1 .25 over 0..5: x = 46 + 65.2 n, y = 198 - 182 e / 0.5
    points = drawing.find(".//g[@class='valid']/polyline").get("points")
    assert (
        points
        == "46,16 111.2,16 111.2,52.4 176.4,52.4 176.4,88.8 241.6,88.8 241.6,125.2 306.8,125.2 306.8,161.6 372,161.6"
    )
    assert progress(study(tried=())) == ""


def test_curves_of_the_leaders():
    drawing = ElementTree.fromstring(leaders_curves(study()))
    groups = [g for g in drawing.findall("g") if g.find("polyline") is not None]
    assert [g.get("class") for g in groups] == ["faint", "train", "train", "train", "train", "valid"]
    assert leaders_curves(study(tried=tuple(Tried(0, {}, 0.5) for _ in range(2)))) == ""
    longer = tuple(Tried(n, t.values, t.value, curve=(0.1, 0.2), epochs=10) for n, t in enumerate(study().tried))
    assert "at epoch 10" in leaders_curves(study(tried=longer))


@pytest.mark.notes("N1.70")
def test_slices_hold_the_others_at_the_best():
    lowest, held = slices(study(), RATE)
    assert lowest == [(0.0, pytest.approx(0.3)), (1.0, pytest.approx(0.1))]  # the best of each
    assert held == [(0.0, pytest.approx(0.4)), (1.0, pytest.approx(0.1))]  # width 16 as in the best
    assert slices(study(), Axis("x", ends=(0.0, 1.0))) == ([], [])
    drawing = ElementTree.fromstring(slice_of(study(), WIDTH))
    # three places at 46 + 326 (i + 1/2) / 3; errors .2 .1 .25 on 0..0.5
    assert drawing.find(".//g[@class='valid']/polyline").get("points") == "100.3,125.2 209,161.6 317.7,107"
    assert len(drawing.findall(".//g[@class='muted']/circle")) == 6


def test_heat_maps_show_the_best_of_each_pair():
    drawing = ElementTree.fromstring(f"<div>{heat_map(study(), RATE, WIDTH)}</div>")
    rows = [[words(cell) for cell in row] for row in drawing.find(".//tbody")]
    assert rows == [["0.001", "50.0", "60.0", "70.0"], ["0.01", "80.0", "90.0", "75.0"]]
    shades = {words(cell): float(cell.get("style")[4:]) for cell in drawing.iter("td")}
    assert shades["90.0"] == 1.0 and shades["50.0"] == 0.06
    assert sorted(shades, key=shades.get) == sorted(shades, key=float)
    fixed = study(axes=(RATE, Axis("width", ("8",))), tried=tuple(t for t in study().tried if t.values["width"] == "8"))
    assert heat_map(fixed, *fixed.axes) == ""  # one of the two does not vary


def test_ranges_are_binned_and_conditions_leave_gaps():
    axis = Axis("rate", ends=(1e-4, 1e-1), log=True)
    tried = [Tried(n, {"rate": value} if value else {}, 0.5) for n, value in enumerate((1e-4, 2e-3, 1e-1, None))]
    names, places = levels(axis, tried, bins=3)
    assert names == ["1e-4–0.001", "0.001–0.01", "0.01–0.1"] and places == [0, 1, 2, None]
    record_ = study(
        axes=(axis, WIDTH), tried=tuple(Tried(t.number, {**t.values, "width": "8"}, 0.5 + t.number / 10) for t in tried)
    )
    page = study_page(record_)
    assert "0.0001 to 0.1, logarithmic" in page and "1e-4–6e-4" not in page.split("<section")[0]
    tree(page)


def test_importance_is_the_share_of_variation():
    # ranks 5 4 3 1 0 2: mean 2.5, total 17.5; by rate 4 and 1: between 6 * 1.5^2
    assert importance(study(), RATE) == pytest.approx(13.5 / 17.5)
    assert importance(study(), WIDTH) == pytest.approx(2 * ((3 - 2.5) ** 2 + (2 - 2.5) ** 2) / 17.5)
    assert importance(study(tried=study().tried[:1]), RATE) == 0.0


def test_errors_of_zero_have_a_place_on_a_logarithmic_scale():
    scale = scale_of([0.0, 0.04, 0.9], 100, 0)
    assert scale.log and (scale.low, scale.high) == (0.01, 1.0)
    assert not scale_of([0.2, 0.9], 100, 0).log and not scale_of([-0.5, 0.9], 100, 0).log


# From a folder


def test_the_record_of_a_search_names_everything(tmp_path):
    _, made = plan(
        "fnn",
        "iris",
        {"learning_rate": "1e-4..1e-1:log", "hidden": [8, (8, 8)], "clip": [None, 1.0]},
        Random(3, seed=2),
        options={"epochs": 2, "dropout": 0.1, "batch_size": 8},
        seeds=2,
        metric="loss",
        folder=tmp_path / "studies/x",
    )
    made.run(lambda v: Outcome(v["learning_rate"], tie=1.0, curve=(1.0, 0.5), epochs=2, seconds=0.1))
    found = read(made.folder)
    assert (found.name, found.title, found.seeds, found.complete) == ("studies/x", "fnn on iris", 2, True)
    assert found.axes[0] == Axis("learning_rate", ends=(1e-4, 1e-1), log=True)
    assert found.axes[1].values == ("8", "8x8") and found.axes[2].values == ("none", "1")
    assert found.tried[0].values["hidden"] in ("8", "8x8") and isinstance(found.tried[0].values["learning_rate"], float)
    assert found.command == (
        *("lamina", "search", "fnn", "--data", "iris", "--random", "3"),
        *("learning_rate=0.0001..0.1:log", "hidden=8,8x8", "clip=none,1.0", "--epochs", "2", "--seeds", "2"),
        *("--set", "dropout=0.1", "--set", "batch_size=8", "--metric", "loss"),
    )
    assert ("dropout", "0.1") in found.same and ("batch_size", "8") in found.same
    assert "learning_rate" not in dict(found.same)


def test_the_report_is_written_whole_and_the_same_twice(tmp_path):
    made = Study.create(tmp_path / "bowl", {"x": [-1, 0, 1], "y": "0..1.0"}, Random(12)).run(
        lambda v: v["x"] ** 2 + v["y"]
    )
    path = write_report(made.folder)
    assert path == made.folder / "report.html" and path.read_text() == render(made.folder)
    page = path.read_text()
    assert words(tree(page).find(".//h1")) == "bowl" and "Do it again" not in page
    assert str(tmp_path) not in page and write_report(made.folder, output=tmp_path / "r.html").is_file()


def test_paths_of_the_machine_stay_out(tmp_path):
    table = tmp_path / "my table.csv"
    table.write_text("a,b,kind\n" + "".join(f"{i},{i % 5},{'xy'[i % 2]}\n" for i in range(60)))
    from lamina.data.load import load

    _, made = plan("fnn", load(str(table), target="kind"), {"dropout": [0.0, 0.5]}, folder=tmp_path / "s")
    made.run(lambda v: v["dropout"])
    page = render(made.folder)
    assert str(tmp_path) not in page and "fnn on my table.csv" in page and "--target kind" in page
    assert json.loads((made.folder / "journal.jsonl").read_text().splitlines()[0])["event"] == "claim"
