"""Several processes share a search, and say what ended them."""

import sys
from collections import Counter

import pytest

from lamina._errors import RunError
from lamina.data.load import load
from lamina.studies._workers import run_workers
from lamina.studies.search import go_on, plan
from lamina.training.runtime import Runtime
from studies.small import RATES, recorded


def test_processes_share_a_search(tmp_path, found):
    problem, study = plan("fnn", load("moons", count=240), RATES, options={"epochs": 4}, folder=tmp_path / "s")
    go_on(study, problem, processes=2, runtime=Runtime(threads=1))
    assert recorded(study) == Counter(range(8)) and study.best.number == found.best.number
    assert [r.outcome.value for r in study.results] == pytest.approx([r.outcome.value for r in found.results], abs=0.03)
    assert study.test is not None


@pytest.mark.posix
def test_processes_that_all_die_leave_a_sentence(tmp_path, monkeypatch):
    _, study = plan("fnn", load("moons", count=60), RATES, options={"epochs": 1}, folder=tmp_path / "s")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(
        RunError, match=r"all 2 workers have ended, but not everything was tried \(they left no message\): continue it"
    ):
        run_workers(study, 2, runtime=Runtime())
    script = tmp_path / "worker"
    script.write_text("#!/bin/sh\necho one >&2\necho 'lamina: no room' >&2\nexit 2\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(RunError, match=r"not everything was tried \(no room\)"):
        run_workers(study, 1, runtime=Runtime())
