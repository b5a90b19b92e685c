"""What a search shows while it goes: a live table in a terminal, a few lines in a pipe."""

import io
import sys

import pytest
import rich

from lamina.cli._leaders import _LiveLeaders, _PlainLeaders, _table, leaders
from lamina.studies.records import Moment, Outcome
from lamina.studies.study import Study


@pytest.fixture
def study(tmp_path):
    made = Study.create(
        tmp_path / "s", {"learning_rate": [0.1, 0.01, 0.001, 1e-4], "hidden": [8, (8, 8)]}, metric="validation_loss"
    )
    errors = [0.5, 0.25, 0.125]
    with pytest.raises(IndexError):
        made.run(lambda v: Outcome(errors.pop(0), epochs=3))
    return made


def text_of(drawn) -> str:
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=100).print(drawn)
    return out.getvalue()


def test_the_table_shows_leaders_progress_and_time_left(study):
    shown = text_of(_table(study, Moment(4, 1, 2), seconds=10.0, done=3))
    head, *rows = [line for line in shown.splitlines() if line.strip()]
    # 3 of 8 are done and 4 half done: 5 units took 10 s, 3 are left.
    assert head.strip() == "3 of 8 configurations  ·  4 at once, epoch 1 of 2  ·  0:06 left"
    assert rows[0].split() == ["loss", "learning", "rate", "hidden", "epochs"]
    assert [row.split() for row in rows[2:]] == [
        ["1", "0.1250", "0.01", "8", "3"],
        ["2", "0.2500", "0.1", "8x8", "3"],
        ["3", "0.5000", "0.1", "8", "3"],
    ]
    assert "left" not in text_of(_table(study, None, seconds=10.0, done=0))
    busy = Moment(4, 1, 2, updates=600, workers=2, rate=1234.5)
    assert "  ·  4 at once, epoch 1 of 2  ·  2 workers, 1,234 networks x updates per second  ·  0:06 left" in " ".join(
        text_of(_table(study, busy, seconds=10.0, done=3)).split()
    ).replace(" · ", "  ·  ")
    for moment in (Moment(0, workers=0), Moment(4, 1, 2, updates=600, workers=0, rate=12.0)):  # before any, after all
        assert "  ·  waiting  ·  0 workers" in text_of(_table(study, moment, seconds=0.1, done=0))
    study.run(lambda v: 1.0)
    assert "8 of 8 configurations  ·  the best one again, epoch 2 of 3\n" in text_of(
        _table(study, Moment(1, 2, 3), 10.0, 8)
    )


def test_a_terminal_gets_a_live_table_and_a_pipe_a_few_lines(study, monkeypatch, capsys):
    with leaders() as watch:
        assert isinstance(watch, _PlainLeaders)
        for _ in range(3):
            watch(study, None)
        watch(study, Moment(4, 1, 2))
    assert capsys.readouterr().out == "3/8 configurations  best 0.1250\n"
    with leaders() as watch:
        watch(study, Moment(4, 1, 2, updates=600, workers=2, rate=1234.5))
        watch(study, None)
    said = "3/8 configurations  best 0.1250  (2 workers, 1,234 networks x updates per second)\n"
    assert capsys.readouterr().out == said
    with leaders() as watch:
        for workers in (0, 0, 1, 0):
            watch(study, Moment(4, 1, 2, workers=workers))
    assert capsys.readouterr().out == 2 * "there is no worker: waiting for one\n"
    with leaders(quiet=True) as watch:
        watch(study, None)
    assert capsys.readouterr().out == ""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    rich.get_console()  # somebody has written to the pipe before
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    with leaders() as watch:
        assert isinstance(watch, _LiveLeaders)
        watch(study, Moment(4, 1, 2))
        watch(study, None)  # too soon to draw again
    assert "3 of 8 configurations" in terminal.getvalue()
