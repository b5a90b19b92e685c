"""The report of a cross-validation: its numbers, computed by hand."""

import json

import pytest

from lamina._errors import ArgumentError, RunError
from lamina.report.render import render, write_report
from report.test_results import section, tree, words


def folder(tmp_path, scores=(0.5, 0.75, 1.0), **settings):
    rows = [
        {
            "repeat": 1,
            "fold": i + 1,
            "examples": [8, 2, 5],
            "metrics": {"loss": 0.5, "accuracy": score},
            "baseline": {"accuracy": 0.4},
            "epoch": 3,
            "seconds": 1.5,
        }
        for i, score in enumerate(scores)
    ]
    values = {"architecture": "fnn", "data": "/home/me/iris.csv", "k": 3, "repeats": 1, "seed": 0} | settings
    (tmp_path / "cross_validation.json").write_text(
        json.dumps({"settings": values, "data": "x", "metric": "accuracy", "folds": rows})
    )
    return tmp_path


def test_mean_spread_and_baseline(tmp_path):
    page = render(folder(tmp_path))
    top = words(tree(page).find(".//header"))
    assert "fnn on iris.csv" in top and "75.0%mean accuracyover 3 folds" in top
    assert "standard deviation over folds25.0%" in top and "baseline accuracy40.0%" in top and "/home/me" not in page
    found = section(page, "The folds")
    rows = [[words(cell) for cell in row] for row in found.iter("tr")]
    assert rows[2] == ["2", "8", "2", "5", "3", "0.5000", "75.0%"]
    assert rows[4:] == [["mean", "", "", "", "", "0.5000", "75.0%"], ["spread", "", "", "", "", "0.000", "25.0%"]]
    assert "2: 0.75 ± 0" in [node.text for node in found.iter("title")]
    assert "The folds share training examples, so their spread says how much results vary" in page
    assert write_report(tmp_path).read_text() == page


def test_unfinished(tmp_path):
    assert "Only 2 of 3 folds are finished: the same command continues." in render(folder(tmp_path, (0.5, 0.75)))
    assert "Cross-validation" in render(folder(tmp_path, ()))


def test_other_forms_and_damage(tmp_path):
    with pytest.raises(ArgumentError, match="the report of a cross-validation is a web page: use --format html"):
        render(folder(tmp_path), "md")
    (tmp_path / "cross_validation.json").write_text('{"settings": {}}')
    with pytest.raises(
        RunError, match="cross_validation.json is damaged: restore it from a copy, or remove the folder"
    ):
        render(tmp_path)
