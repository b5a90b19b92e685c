"""Clocks that jump by days and years, forward and back, at any moment: results stay, and one writer is one writer."""

import os

import pytest

from faults.commands import ended, lamina, same

pytestmark = [pytest.mark.slow, pytest.mark.posix, pytest.mark.faults("clock jumps")]
JUMPS = """
import random, time
real, draw = time.time, random.Random(5)
time.time = lambda: real() + draw.choice((0, 0, 3600, -3600, 86400, -86400, 3e8, -3e8))
"""
TRAIN = ["train", "fnn", "--data", "digits", "--epochs", "40", "--set", "hidden=32", "--threads", "1", "--quiet"]
SEARCH = ["search", "fnn", "learning_rate=0.001,0.01,0.1", "--data", "moons", "--epochs", "5", "--threads", "1"]


def test_a_run_whose_clock_jumps(tmp_path):
    assert lamina(tmp_path, *TRAIN, "--out", "alone")[0] == 0
    assert lamina(tmp_path, *TRAIN, "--out", "run", before=JUMPS)[0] == 0
    same(tmp_path / "run", tmp_path / "alone")
    assert lamina(tmp_path, "report", "run", before=JUMPS)[0] == 0


def test_a_search_whose_clock_jumps(tmp_path):
    from lamina.studies.study import Study

    found = []
    for name, before in (("alone", ""), ("jumps", JUMPS)):
        assert lamina(tmp_path, *SEARCH, "--folder", name, before=before)[0] == 0
        study = Study.open(tmp_path / name)
        found.append([(r.number, r.values, {**r.outcome.as_dict(), "seconds": 0}) for r in study.results])
    assert found[0] == found[1] and len(found[0]) == 3


def test_files_that_come_from_the_future(tmp_path):
    """A copy, or a clock that was set right, leaves checkpoints with wrong times: the step decides."""
    assert lamina(tmp_path, *TRAIN, "--out", "alone")[0] == 0
    process = lamina(tmp_path, *TRAIN, "--out", "run", wait=False)
    checkpoints = tmp_path / "run/checkpoints"
    while len(list(checkpoints.glob("step-*"))) < 2 and process.poll() is None:
        pass
    process.kill()
    ended(process)
    times = (4e9, 1e8, 3e9)
    for path, at in zip(sorted(checkpoints.glob("step-*")), times, strict=False):
        os.utime(path, (at, at))
    assert lamina(tmp_path, "resume", "run", "--quiet", before=JUMPS)[0] == 0
    same(tmp_path / "run", tmp_path / "alone")


def test_a_second_writer_with_another_clock_is_refused(tmp_path):
    process = lamina(tmp_path, *TRAIN[:5], "4000", *TRAIN[6:], "--out", "run", wait=False)
    while not (tmp_path / "run/status.json").exists() and process.poll() is None:
        pass
    code, _, err = lamina(tmp_path, "resume", "run", before=JUMPS)
    process.terminate()
    ended(process)
    assert code == 2 and "is being written by process" in err, err
