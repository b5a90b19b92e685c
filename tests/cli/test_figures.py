"""`lamina figures` as it is typed."""

import json
from pathlib import Path

import pytest

from lamina.training.folder import RunFolder


def test_figures_are_written_with_a_page(typed):
    code, out, _ = typed("figures", "-o", "out", "--only", "5,sigmoid", "--formats", "svg,png")
    assert code == 0 and "2 figures in out (svg, png)" in out and "page: out/index.html" in out
    names = {path.name for path in Path("out").iterdir()}
    assert names == {"figure-05.svg", "figure-05.png", "sigmoid.svg", "sigmoid.png", "index.html"}
    assert Path("out/figure-05.png").read_bytes()[:4] == b"\x89PNG"


def test_figures_as_json(typed):
    code, out, _ = typed("figures", "--only", "13", "--formats", "tex", "--json")
    assert code == 0
    assert json.loads(out) == {
        "folder": "figures", "figures": ["13"], "files": ["figures/figure-13.tex", "figures/index.html"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--only", "6-50"), "`--only` must name figures from 1 to 39 or sigmoid, dice-values"),
        (("--formats", "gif"), "`formats` must be one or more of svg, tex, pdf, png, got gif"),
        (("--formats", ""), "got none"),
        (("--only", "30", "--history", "a", "b"), "a is not a folder: give the folder of a run"),
    ],
)
def test_bad_input_ends_with_one_sentence(typed, words, sentence):
    code, out, err = typed("figures", *words)
    assert code == 2 and sentence in err and err.count("\n") == 1 and out == ""


def test_two_runs_make_figure_30(typed):
    for block in ("original", "preactivation"):
        folder = RunFolder.create(Path("runs") / block)
        folder.write_config({"architecture": {"config": {"block": block}}})
        for step in (10, 20):
            folder.append_row({"epoch": 1, "step": step, "loss": 10 / step, "validation_accuracy": step / 40}, 0.1)
    words = ("figures", "--only", "30", "--formats", "svg", "--history", "runs/original", "runs/preactivation")
    assert typed(*words)[0] == 0
    drawn = Path("figures/figure-30.svg").read_text()
    assert "pre-activation block: test error" in drawn and "layers on the digits" not in drawn
    assert ">20<" in drawn and ">1<" in drawn  # the last step, and the loss at the first one
