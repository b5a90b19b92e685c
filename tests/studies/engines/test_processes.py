"""Processes share a search, may be killed, and say what ended them."""

import os
import sys
from functools import partial

import psutil
import pytest

from lamina._errors import RunError
from lamina.data.load import load
from lamina.studies.engines import processes
from lamina.studies.engines.job import Job
from lamina.studies.search import go_on, plan
from lamina.training.runtime import Runtime
from studies.engines.killing import same, straight, survive
from studies.small import RATES


def children(pid):
    return [each.pid for each in psutil.Process(pid).children()]


@pytest.mark.faults("SIGKILL")
@pytest.mark.posix
@pytest.mark.parametrize(("kills", "own"), [(2, 1), pytest.param(40, 10, marks=pytest.mark.slow)])
def test_killed_processes_and_a_killed_search_lose_nothing(tmp_path, kills, own):
    study, trials, _, hit = survive(tmp_path / "s", "processes:2", children, kills, own, epochs=12)
    assert hit == kills + own
    same(study, straight(tmp_path / "straight", trials, epochs=12), trials)


def moons(folder, **more):
    return plan("fnn", load("moons", count=240), RATES, options={"epochs": 4, **more}, folder=folder)


@pytest.mark.posix
def test_workers_that_end_at_once_are_given_up(tmp_path, monkeypatch):
    problem, study = moons(tmp_path / "s")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    sentence = r"10 workers have ended over the same networks \(they left no message\): perhaps these need more memory"
    with pytest.raises(RunError, match=sentence):
        go_on(study, problem, on="processes:2")
    script = tmp_path / "worker"
    script.write_text("#!/bin/sh\necho one >&2\necho 'no room' >&2\nexit 2\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(RunError, match=r"over the same networks \(no room\).*Train fewer at once with --batch"):
        go_on(study, problem, on="processes:1")
    assert not study.results


@pytest.mark.slow
def test_what_a_worker_cannot_do_is_the_sentence_of_the_search(tmp_path):
    problem, study = moons(tmp_path / "s")
    study.description["problem"]["data"]["fingerprint"] = "another"
    why = r"the data in moons have changed since the run began \(targets or weights differ\): .* again\."
    with pytest.raises(RunError, match=f"a worker could not train its networks: {why}"):
        go_on(study, problem, on="processes:1")


def test_each_process_gets_a_gpu_of_its_own(monkeypatch):
    job = partial(Job, {}, ("accuracy", "maximize"), None)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    listed = [processes._environment(job(Runtime(device)), 1)["CUDA_VISIBLE_DEVICES"] for device in ("cuda", "cuda:0")]
    assert listed == ["7", "5,7"]  # who names a GPU gets that one
    assert processes._environment(job(Runtime("cpu")), 1) == dict(os.environ)
