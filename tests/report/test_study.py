"""From the folder of a study to its report."""

import json
from xml.etree import ElementTree

from lamina.report import render, write_report
from lamina.report._study import _say, read
from lamina.report._study_record import Axis
from lamina.studies.records import Outcome
from lamina.studies.samplers import Random
from lamina.studies.search import plan
from lamina.studies.study import Study


def tree(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def words(node: ElementTree.Element) -> str:
    return " ".join("".join(node.itertext()).split())


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
    assert json.loads((made.folder / "journal.jsonl").read_text().splitlines()[0])["event"] == "result"


def test_values_are_written_for_people():
    assert [_say(value) for value in (2.0, (128, 64), None)] == ["2", "128x64", "none"]
