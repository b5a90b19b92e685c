"""Run folders that version 0.1 wrote stay readable: evaluate, predict and report say the same, resume continues."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from lamina.report import write_report
from lamina.report._formatting import number
from lamina.training.fit import resume
from lamina.training.run import Run

HOME = Path(__file__).parents[1] / "runs_of_0_1"
SAID = json.loads((HOME / "said.json").read_text())
_spec = importlib.util.spec_from_file_location("runs_of_0_1", HOME / "make.py")
MAKE = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(MAKE)
CLOSE = {"rel": 2e-4, "abs": 2e-5}  # float32 on another processor, tens of updates


@pytest.fixture(params=SAID)
def old(request, tmp_path, monkeypatch):
    monkeypatch.chdir(HOME)  # one of them reads a file beside it
    return request.param, Path(shutil.copytree(HOME / request.param, tmp_path / request.param))


def same(found, expected):
    """Compare numbers closely and everything else exactly."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = list(found.values()), [*expected.values()]
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, **CLOSE)
    else:
        assert found == expected


def test_evaluation_and_predictions_are_those_of_version_0_1(old):
    name, folder = old
    run = Run.load(folder)
    same(run.evaluate(again=True).metrics, SAID[name]["metrics"])
    if name not in MAKE.STOPPED:
        same(MAKE.said(run, name), SAID[name]["predictions"])


def test_a_report_is_written(old):
    name, folder = old
    text = write_report(folder).read_text(encoding="utf-8")
    assert number(SAID[name]["metrics"]["loss"]) in text


def test_resuming_continues_to_the_same_numbers(old):
    name, folder = old
    epochs = None if name in MAKE.STOPPED or name == "pairs" else MAKE.CASES[name][2]["epochs"] + 1
    run = resume(folder, epochs=epochs)
    row, expected = json.loads((folder / "history.jsonl").read_text().splitlines()[-1]), SAID[name]["resumed"]
    same({column: row[column] for column in expected}, expected)  # there are more columns now: errors in units
    if name in MAKE.STOPPED:
        same(MAKE.said(run, name), SAID[name]["predictions"])


def test_unknown_and_missing_facts_about_the_environment_are_no_error(tmp_path):
    folder = Path(shutil.copytree(HOME / "pictures", tmp_path / "run"))
    facts = json.loads((folder / "environment.json").read_text())
    del facts["deterministic"], facts["torch"]
    (folder / "environment.json").write_text(json.dumps(facts | {"color": "green"}))
    resume(folder)
    assert json.loads((folder / "history.jsonl").read_text().splitlines()[-1])["epoch"] == 3
