"""`lamina cross-validate` as it is typed: table, JSON, folder, Ctrl-C, sentences."""

import json
import signal
import statistics
import sys
from pathlib import Path

import pytest

from lamina.cli import _cross_validate as verb
from lamina.training.cross_validation import CrossValidation, Fold

WORDS = (
    "cross-validate",
    "fnn",
    "--data",
    "moons",
    "--read",
    "count=90",
    "--folds",
    "3",
    "--epochs",
    "2",
    "--set",
    "hidden=4",
    "--threads",
    "1",
)


def test_the_table_ends_with_mean_and_spread(typed):
    code, out, err = typed(*WORDS)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert [line.split(":")[0] for line in lines[:3]] == ["fold 1 of 3", "fold 2 of 3", "fold 3 of 3"]
    assert " on 30 test examples, epoch " in lines[0] and " left" in lines[0] and " left" not in lines[2]
    assert lines[3].split("\t") == ["fold", "training", "test", "accuracy", "f1", "auc", "baseline accuracy"]
    rows = [line.split("\t") for line in lines[4:7]]
    assert [row[:3] for row in rows] == [["1", "48", "30"], ["2", "48", "30"], ["3", "48", "30"]]
    scores = [float(row[3]) for row in rows]
    mean, spread = (line.split("\t") for line in lines[7:9])
    assert mean[:3] == ["mean", "", ""] and float(mean[3]) == pytest.approx(statistics.fmean(scores), abs=1e-4)
    assert spread[0] == "spread" and float(spread[3]) == pytest.approx(statistics.stdev(scores), abs=1e-4)
    assert float(mean[-1]) == 0.5
    assert lines[9] == f"accuracy {mean[3]} ± {spread[3]} over 3 folds; the baseline reaches {mean[-1]}"
    assert lines[-1] == "report: runs/fnn-moons-folds/report.html"
    again = typed(*WORDS)[1].splitlines()
    assert again[0] == "3 of 3 folds were finished before, in runs/fnn-moons-folds" and again[1:] == lines[3:]
    found = json.loads(typed(*WORDS, "--json")[1])
    assert found["mean"] == pytest.approx(statistics.fmean(fold["metrics"]["accuracy"] for fold in found["folds"]))
    assert found["spread"] == pytest.approx(statistics.stdev(fold["metrics"]["accuracy"] for fold in found["folds"]))
    assert found["baseline"]["accuracy"] == pytest.approx(float(mean[-1]), abs=1e-4)
    assert found["metric"] == "accuracy" and found["report"] == "runs/fnn-moons-folds/report.html"
    other = json.loads(typed(*WORDS, "--seed", "1", "--json")[1])
    assert other["folder"] == "runs/fnn-moons-folds-2" and other["folds"] != found["folds"]


def test_numbers_groups_of_repeats_and_a_baseline_that_is_not_beaten(typed, tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{i * 37 % 101},{i * 53 % 89}\n" for i in range(60)))
    words = ("--data", "t.csv", "--target", "y", "--folds", "2", "--repeats", "2", "--epochs", "1", "--out", "cv")
    code, out, _ = typed("cross-validate", "fnn", *words, "--set", "hidden=4", "--threads", "1")
    note, *lines = out.splitlines()
    assert note.startswith("The 60 different whole numbers of 'y' are taken for numbers")
    head = lines[4].split("\t")
    assert code == 0 and head[:4] == ["repeat", "fold", "training", "test"] and head[-1] == "baseline mae"
    assert [line.split("\t")[:2] for line in lines[5:9]] == [["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"]]
    mean = dict(zip(head, lines[9].split("\t"), strict=True))
    said = f"The networks do not beat the baseline: mae {mean['mae']} against {mean['baseline mae']} without looking."
    assert (float(mean["mae"]) >= float(mean["baseline mae"])) == (said in lines)
    assert Path("cv/fold-4/weights.safetensors").is_file()


def test_a_baseline_that_is_not_beaten_is_said(capsys):
    rows = [Fold(1, i, (8, 2, 5), {"accuracy": a}, {"accuracy": 0.75}, 1, 0.5) for i, a in ((1, 0.5), (2, 1.0))]
    verb._show(CrossValidation(tuple(rows), "accuracy", 2))
    assert "The networks do not beat the baseline: accuracy 0.7500 against 0.7500 without" in capsys.readouterr().out
    rows = [Fold(1, i, (8, 2, 5), {"accuracy": a}, {"accuracy": 0.7}, 1, 0.5) for i, a in ((1, 0.5), (2, 1.0))]
    verb._show(CrossValidation(tuple(rows), "accuracy", 2))
    assert "do not beat" not in capsys.readouterr().out


def test_ctrl_c_and_the_same_command(typed, monkeypatch):
    calls = []

    def finished(self, fold, found):
        calls.append(fold.fold)
        if calls == [1]:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as m:
        m.setattr(verb._Plain, "finished", finished)
        code, _, err = typed(*WORDS)
    assert code == 1 and calls == [1]
    assert err == "lamina: interrupted after 1 of 3 folds.\nContinue with the same command.\n"
    code, out, _ = typed(*WORDS)
    assert code == 0 and out.splitlines()[0] == "1 of 3 folds were finished before, in runs/fnn-moons-folds"
    assert out.splitlines()[1].startswith("fold 2 of 3: accuracy ")


def test_a_line_is_kept_up_to_date_in_a_terminal(typed, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, _ = typed(*WORDS)
    assert code == 0 and "fold 3 of 3: accuracy " in out and "over 3 folds; the baseline reaches" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("fnn", "--folds", "1"), "`--folds` must be a whole number of at least 2, got 1."),
        (("fnn", "--repeats", "0"), "`--repeats` must be a whole number of at least 1, got 0."),
        (("fnn", "--data", "xor"), "there are no other examples than these 4, so no fold could be unseen"),
        (("fmn", "--data", "iris"), "fmn"),
        (("fnn", "--data", "iris", "--set", "hiden=4"), "hiden"),
        (
            ("fnn", "--data", "iris", "--folds", "200"),
            "200 folds need at least 200 groups, but there are 149: use fewer folds.",
        ),
    ],
)
def test_bad_input_gets_one_sentence_and_leaves_no_folder(typed, words, sentence):
    code, out, err = typed("cross-validate", *words)
    assert code == 2 and sentence in err and len(err.splitlines()) == 1 and not Path("runs").exists() and out == ""
