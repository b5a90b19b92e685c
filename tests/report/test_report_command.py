"""`lamina report` as a command."""

import json

import pytest
import typer
from typer.testing import CliRunner

from lamina._errors import ArgumentError, RunError
from lamina.cli._report import report
from lamina.report import render

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(report)


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def test_it_writes_and_says_where(make):
    folder = make()
    assert call(folder).stdout == f"report: {folder / 'report.html'}\n"
    assert (folder / "report.html").read_text(encoding="utf-8") == render(folder)
    shown = call(folder, "--format", "md", "--json")
    assert json.loads(shown.stdout) == {"run": str(folder), "report": str(folder / "report.md")}


def test_it_writes_elsewhere_or_prints(make, tmp_path):
    folder = make()
    call(folder, "-o", tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == render(folder)
    assert call(folder, "--format", "md", "-o", "-").stdout == render(folder, "md")
    assert not (folder / "report.html").exists()


def test_bad_words(make, tmp_path):
    folder = make()
    with pytest.raises(ArgumentError, match=r"must be a file, but .* is a folder: add a name such as report\.html"):
        call(folder, "-o", tmp_path)
    with pytest.raises(ArgumentError, match=r"the folder of `--output`, .*nowhere, does not exist: make it first"):
        call(folder, "-o", tmp_path / "nowhere" / "a.html")
    with pytest.raises(RunError, match="is not a folder"):
        call(tmp_path / "nothing")
    assert call(folder, "--format", "pdf").exit_code == 2
