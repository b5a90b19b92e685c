"""What a watcher measured is written into the folder of its run, once, and up to the step that a run goes on from."""

import math

from lamina.training.folder import RunFolder
from lamina.training.loop import Event
from lamina.training.watching import Watcher, _WatchedRows


class Counted:
    """A watcher whose measurements are given, and read one by one."""

    file = "counted.jsonl"

    def __init__(self, *values):
        self.values, self.rows = list(values), []

    def read(self):
        self.rows.append({"step": len(self.rows) + 1, "value": self.values[len(self.rows)]})

    def __call__(self, event): ...
    def attach(self, model): ...
    def due(self, step): ...
    def looking(self): ...
    def keep(self, step): ...


def lines(home):
    return home.lines("counted")


def test_rows_are_appended_once_and_those_after_the_step_are_cut(tmp_path):
    home, watcher = RunFolder.create(tmp_path / "run"), Counted(0.5, math.inf, 2.0)
    assert isinstance(watcher, Watcher)
    rows = _WatchedRows(home, watcher, 0)
    rows.flush()
    rows.flush()
    assert lines(home) == [{"step": 1, "value": 0.5}, {"step": 2, "value": None}]
    with open(home.path / "counted.jsonl", "a") as file:
        file.write('{"step": 3, "val')  # killed while it was written
    _WatchedRows(home, Counted(), 1)
    assert lines(home) == [{"step": 1, "value": 0.5}]


def test_only_checks_are_written(tmp_path):
    home, watcher = RunFolder.create(tmp_path / "run"), Counted(0.25)
    rows = _WatchedRows(home, watcher, 0)
    rows(Event(0, 1, 1, None))
    assert watcher.rows == [] and not (home.path / "counted.jsonl").exists()
    rows(Event(1, 0, 2, {"epoch": 1}))
    assert lines(home) == [{"step": 1, "value": 0.25}]
