"""How much a command says, in lines that fit 80 columns."""

import io
import json
import re
import sys
import warnings

import pytest

from lamina._errors import DataWarning
from lamina.cli import main
from lamina.cli._progress import Warnings
from lamina.cli._voice import Voice, say

QUICK = ("--data", "iris", "--epochs", "1", "--threads", "1")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def in_a_window(monkeypatch, tmp_path):
    """Type a command in a terminal of 80 columns; return what it shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")  # rich draws, but moves no cursor

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["lamina", *words])
        monkeypatch.setattr(sys, "stdout", Terminal())
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return sys.stdout.getvalue().splitlines()

    return run


def test_80_columns_suffice(in_a_window, tmp_path):
    table = tmp_path / "a table with a rather long name.csv"
    rows = "".join(f"{i % 13},{i * 7 % 11},{'xy'[i % 2]}\n" for i in range(80))
    table.write_text("the first column of this table,another column that has a very long name,kind of thing\n" + rows)
    for words in (
        ("list",),
        ("data", "list"),
        ("data", "show", "digits"),
        ("data", "show", table.name, "--target", "kind of thing"),
        ("train", "fnn", *QUICK, "--out", "a", "-v", "--set", "hidden=8,8", "--set", "learning_rate=0.01"),
        ("evaluate", "a"),
        ("report", "a"),
        ("search", "fnn", "learning_rate=1e-4,1e-3,1e-2", "penalty=0,1e-4", *QUICK, "--folder", "s", "-v"),
        ("inspect", "lenet5"),
        ("errata",),
        ("catalogue", "gru"),
    ):
        shown = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in in_a_window(*words)]  # without colors
        assert shown and max(map(len, shown)) <= 80, (words, max(shown, key=len))


def test_a_pipe_gets_whole_lines(capsys):
    say("word " * 40)
    assert capsys.readouterr().out == "word " * 40 + "\n"


def test_long_lines_are_folded_in_a_window(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys, "stdout", Terminal())
    say("recipe: Adam, rate up to 0.003 in one cycle")
    assert sys.stdout.getvalue() == "recipe: Adam, rate up to 0.003\n  in one cycle\n"


def test_a_voice_says_as_much_as_it_may(capsys):
    for voice, said in (
        (Voice(), "a\nnext: c\n"),
        (Voice(verbose=True), "a\nb\nnext: c\n"),
        (Voice(quiet=True), ""),
        (Voice(verbose=True, as_json=True), ""),
    ):
        voice.say("a")
        voice.more("b")
        voice.next("c")
        assert capsys.readouterr().out == said


def test_quiet_prints_the_path_of_the_result_alone(typed):
    assert typed("train", "fnn", *QUICK, "--out", "a", "--quiet") == (0, "a\n", "")
    assert typed("resume", "a", "--epochs", "2", "-q") == (0, "a\n", "")
    assert typed("report", "a", "-q") == (0, "a/report.html\n", "")
    assert typed("draw", "gru", "-q") == (0, "gru.svg\n", "")
    code, out, err = typed("search", "fnn", "learning_rate=1e-3,1e-2", *QUICK, "--folder", "s", "-q")
    assert (code, out, err) == (0, "s\n", "")
    code, out, err = typed("train", "fnn", "--set", "x=1", "-q")
    assert (code, out) == (2, "") and err.startswith("lamina: fnn has no option 'x'")


def test_verbose_says_how_updates_are_executed_and_how_long_it_took(typed):
    code, out, _ = typed("train", "fnn", *QUICK, "--out", "a", "-v")
    lines = out.splitlines()
    assert code == 0 and "updates: eager" in lines and any(line.startswith("time: ") for line in lines)
    assert json.loads(typed("train", "fnn", *QUICK, "--json", "-v")[1])["stopped"] == "epochs"


def test_every_command_says_what_comes_next(typed, tmp_path):
    assert "next: lamina train lenet5 --data digits" in typed("list")[1]
    assert typed("data", "show", "moons")[1].endswith("next: lamina train fnn --data moons\n")
    rows = "".join(f"{i % 13};{'xy'[i % 2]}\n" for i in range(30))
    (tmp_path / "t.csv").write_text("a;b\n" + rows)
    out = typed("data", "show", "t.csv", "--target", "b", "--read", "delimiter=;")[1]
    assert out.endswith("next: lamina train fnn --data t.csv --target b --read 'delimiter=;'\n")
    assert typed("data", "get", "digits")[1] == "digits is built in\nnext: lamina data show digits\n"
    out = typed("search", "fnn", "learning_rate=1e-3,1e-2", *QUICK, "--folder", "s")[1]
    assert out.endswith("next: lamina predict s/best INPUT\n")


def test_a_note_is_folded_where_the_window_ends(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with (said := Warnings()):
        warnings.warn("one " * 15 + "end.", DataWarning, stacklevel=1)
    said.show()
    lines = sys.stderr.getvalue().splitlines()
    assert len(lines) == 2 and max(map(len, lines)) <= 40 and lines[0].startswith("note: one") and "end." in lines[1]


def test_predict_says_next_where_somebody_looks_and_never_in_a_pipe(typed, monkeypatch, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "\n".join(f"{i},{2 * i}.5" for i in range(30)) + "\n")
    assert typed("train", "fnn", "--data", "t.csv", "--epochs", "1", "--out", "r", "-q")[0] == 0
    assert len(typed("predict", "r", "t.csv")[1].splitlines()) == 30
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    lines = typed("predict", "r", "t.csv")[1].splitlines()
    assert len(lines) == 31 and lines[-1] == "next: lamina predict r t.csv -o predictions.csv"
