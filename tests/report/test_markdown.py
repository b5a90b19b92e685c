"""The report as Markdown."""

import re

import pytest

from lamina._tables import in_markdown
from lamina.report import render
from report.samples import PREPROCESS, ROWS, SPEC, regression


def test_markdown_has_the_same_content(make):
    rows = [{**row, "gradients": {"layer": 0.5}} for row in ROWS]
    report = render(make("r", rows=rows), "md")
    for line in (
        "# fnn on iris",
        "**test accuracy: 85.0%** (95% interval 64.0% to 94.8%)",
        "| test loss | 0.4321 |",
        "Training ended: all 3 epochs were done.",
        "The test split (20 examples) was opened once, after training.",
        "| 2 (best) | 14 | 0.5000 | 75.0% | 0.01 | 0.4000 | 80.0% |",
        "| layer | 0.5 | 0.5 | 0.5 |",
        "| versicolor | 0 | 6 | 1 | 7 |",
        "| total | 7 | 8 | 5 | 20 |",
        "| versicolor | 7 | 0.750 | 0.857 | 0.800 |",
        "| 50.0% | 25.0% | 4 |",
        "Expected calibration error 13.0%.",
        "| 3 | virginica | versicolor | 91.0% | 6.1 | – |",
        "| layers.0.affine.weight | 5×4 | 20 | 2.236 | 46.5% |",
        r"| learning\_rate | 0.01 |",
        "| d | number | 1.2 | 0.7 | filled in and marked |",
        "    lamina predict runs/r rows.csv",
        "    lamina resume runs/r --epochs 6",
    ):
        assert line in report.splitlines(), line


def test_markdown_of_regression_and_of_an_unfinished_run(make):
    report = render(make(**regression()), "md")
    assert "**test R²: 0.8125** (on 4 examples)" in report and "| 2 | 2 | 1.5 | -0.5 | 1 |" in report
    report = render(make("r", status=None, evaluation=None, rows=None, weights=None, timings=None), "md")
    assert "The run has not ended. It is still running, or it was killed. Continue with: lamina resume runs/r" in report
    assert "**nothing has been measured yet: –**" in report and "## Learning curves" not in report


def test_markdown_says_what_a_command_cannot(make):
    from report.samples import CONFIG

    report = render(make(config={**CONFIG, "data": {"source": "arrays", "reload": False}}), "md")
    assert "The data were given in memory: call \\`lamina.fit\\` with them and the recipe below." in report


@pytest.mark.parametrize("hostile", ["<script>", "a|b", "`x`", "*b*", "[l](u)", "two\nlines", "# h", "$x$", "&lt;"])
def test_markdown_texts_are_escaped(make, hostile):
    spec = {**SPEC, "classes": [hostile, "b", "c"]}
    report = render(make(preprocess={**PREPROCESS, "spec": spec}), "md")
    head = next(line for line in report.splitlines() if line.startswith("| class |"))
    assert head == f"| class | {in_markdown(hostile)} | b | c | total |"
    bare = re.sub(r"\\.", "", in_markdown(hostile))
    assert not set(bare) & set("<>|`*_[]#$&\n")
