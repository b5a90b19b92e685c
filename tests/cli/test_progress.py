"""Progress: a few plain lines in a pipe, one live line in a terminal."""

import io
import sys

from lamina.cli._progress import Reading, _Live, _numbers, _Plain, progress
from lamina.training.loop import Event

ROW = {"epoch": 1, "loss": 0.5, "validation_loss": 0.25, "validation_accuracy": 0.75, "validation_rmse": None}


def test_numbers_are_the_few_that_matter():
    assert _numbers(ROW) == "loss 0.5000  validation 0.2500  accuracy 0.7500"


def test_plain_prints_about_ten_lines(capsys):
    with progress(50, 3) as watch:
        assert isinstance(watch, _Plain)
        for epoch in range(1, 51):
            watch(Event(epoch, 1, epoch, None))
            watch(Event(epoch, 0, epoch, ROW))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10 and lines[0] == "epoch 5/50  " + _numbers(ROW)
    with progress(50, 3, quiet=True) as watch:
        watch(Event(50, 0, 50, ROW))
    assert capsys.readouterr().out == ""


def test_live_counts_steps_or_epochs(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    with progress(10, 3) as watch:
        assert isinstance(watch, _Live)
        watch(Event(1, 0, 3, ROW))
        task = watch.screen.tasks[0]
        assert (task.completed, task.total) == (3, 30) and task.fields["row"] == _numbers(ROW)
        watch(Event(1, 1, 4, None))  # too soon to redraw
        assert task.completed == 3
    with progress(10) as watch:
        watch(Event(7, 0, 700, ROW))
        assert (watch.screen.tasks[0].completed, watch.screen.tasks[0].total) == (7, 10)


def test_a_short_reading_says_nothing_and_a_long_one_how_far_it_is(monkeypatch):
    class Output(io.StringIO):
        live = False

        def isatty(self):
            return self.live

    clock, out = [100.0], Output()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setattr("lamina.cli._progress.time.monotonic", lambda: clock[0])
    tell = Reading()

    def read(*moments):
        for done, seconds in enumerate(moments, 1):
            clock[0] = 100 + seconds
            tell("reading", 1000 * done, 1000 * len(moments))

    read(0, 1, 1.9, 3)
    assert out.getvalue() == ""
    tell("looking", 1, 9)
    read(0, 2, 5, 13, 14)
    assert out.getvalue() == "reading: 2,000 of 5,000\nreading: 4,000 of 5,000\n"
    out.truncate(0)
    out.seek(0)
    out.live = True
    tell("looking", 1, 9)
    read(0, 2, 2.1, 2.3, 3)
    assert out.getvalue() == "\rreading: 2,000 of 5,000\rreading: 4,000 of 5,000" + "\r" + 23 * " " + "\r"
