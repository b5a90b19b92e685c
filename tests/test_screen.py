"""Progress: one live line in a terminal, a bar in a notebook, a few plain lines in a pipe, or nothing."""

import io
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from lamina._screen import Quiet, _Live, _numbers, _Plain, progress
from lamina.training.loop import Event

ROW = {"epoch": 1, "loss": 0.5, "validation_loss": 0.25, "validation_accuracy": 0.75, "validation_rmse": None}


def test_numbers_are_the_few_that_matter():
    assert _numbers(ROW) == "loss 0.5000  validation 0.2500  accuracy 0.7500"


def test_plain_prints_about_ten_lines(capsys):
    with progress(True, 50, 3) as watch:
        assert isinstance(watch, _Plain)
        for epoch in range(1, 51):
            watch(Event(epoch, 1, epoch, None))
            watch(Event(epoch, 0, epoch, ROW))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10 and lines[0] == "epoch 5/50  " + _numbers(ROW)
    with progress(False, 50, 3) as watch:
        watch(Event(50, 0, 50, ROW))
    assert capsys.readouterr().out == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_live_line_counts_steps(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Terminal())
    with progress(None, 10, 3) as watch:
        assert isinstance(watch, _Live)
        watch(Event(1, 0, 3, ROW))
        task = watch.screen.tasks[0]
        assert (task.completed, task.total) == (3, 30) and task.fields["row"] == _numbers(ROW)
        watch(Event(1, 1, 4, None))  # too soon to redraw
        assert task.completed == 3


@pytest.mark.parametrize("output", [None, io.StringIO()])
def test_nothing_is_shown_where_nobody_looks_unless_it_is_asked_for(monkeypatch, output):
    monkeypatch.setattr(sys, "stdout", output)
    assert type(progress(None, 10, 3)) is type(progress(False, 10, 3)) is Quiet
    assert type(progress(True, 10, 3)) is _Plain


def test_what_is_said_beside_is_said_only_where_something_is_shown(capsys):
    progress(None, 10, 3).say("a note")
    assert capsys.readouterr().out == ""
    progress(True, 10, 3).say("a note", "another")
    assert capsys.readouterr().out == "a note\nanother\n"


def test_a_bar_in_marimo_replaces_itself_and_stays_without_the_time_left(monkeypatch):
    shown, clock = [], [100.0]
    output = SimpleNamespace(replace=shown.append)
    marimo = SimpleNamespace(running_in_notebook=lambda: True, output=output)
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    monkeypatch.setattr("lamina._screen.time.monotonic", lambda: clock[0])
    with progress(None, 4, 10, "<m>") as watch:
        watch(Event(0, 1, 1, None))
        clock[0] += 0.1
        watch(Event(0, 2, 2, None))  # too soon
        clock[0] += 0.9
        watch(Event(1, 0, 11, {"rmse": 2.0, "validation_rmse": 3.0}))
    assert [repr(bar) for bar in shown] == [
        "epoch 0/4 0 steps/s",
        "epoch 1/4 10 steps/s  rmse 2.000  validation rmse 3.000  (<m>)  0:03 left",
        "epoch 1/4 10 steps/s  rmse 2.000  validation rmse 3.000  (<m>)",
    ]
    html = '<div><progress value="11" max="40"></progress> epoch 1/4 10 steps/s  rmse 2.000  validation rmse 3.000  '
    assert shown[-1]._repr_html_() == html + "(&lt;m&gt;)</div>"
    assert type(progress(False, 4, 10)) is Quiet
    marimo.running_in_notebook = lambda: False
    assert type(progress(None, 4, 10)) is Quiet


CELL = """
import lamina
run = lamina.fit("fnn", "iris", epochs=2, folder={folder!r})
"""

SHELL = """
import sys
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.display_pub = CapturingDisplayPublisher()
if "kernel" in sys.argv:
    shell.kernel = object()  # what Jupyter's shell has
done = shell.run_cell(sys.stdin.read())
done.raise_error()
for output in shell.display_pub.outputs:
    print(output["update"], output["data"]["text/html"])
"""


@pytest.mark.parametrize("kernel", ["kernel", "none"])
def test_a_cell_of_a_notebook_shows_one_bar_and_what_was_chosen(tmp_path, kernel):
    environment = os.environ | {"IPYTHONDIR": str(tmp_path)}
    cell = CELL.format(folder=str(tmp_path / "run"))
    done = subprocess.run([sys.executable, "-c", SHELL, kernel], input=cell, env=environment, text=True,
                          capture_output=True, cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    if kernel == "none":
        assert lines == []
        return
    assert lines[0].startswith("iris: 102 training") and lines[1].startswith("recipe: Adam, rate up to 0.003")
    bars = [line for line in lines if "<progress" in line]
    assert bars[0].startswith("False ") and all(bar.startswith("True ") for bar in bars[1:]) and len(bars) >= 3
    assert 'value="14" max="14"' in bars[-1] and "epoch 2/2" in bars[-1] and "left" not in bars[-1]
