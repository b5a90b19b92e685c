"""Claims die with their worker, and those of another machine cannot be judged."""

import os
import subprocess
import sys
import time

import pytest

from lamina._errors import RunError
from lamina._system import birth
from lamina.studies._claims import Worker, this_machine, working
from lamina.studies.study import Study


def test_a_worker_lives_as_long_as_its_block():
    with working() as worker:
        assert worker.alive and worker.pid == os.getpid()
        assert Worker(**worker.as_dict()) == worker
        with working() as other:
            assert other != worker and other.alive
        assert not other.alive and worker.alive
    assert not worker.alive


def test_a_killed_process_is_dead_even_before_it_is_fetched():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    born = birth(process.pid)
    worker = Worker(process.pid, born, *this_machine(), "x")
    assert born is not None and worker.alive
    process.kill()
    deadline = time.monotonic() + 10
    while worker.alive and time.monotonic() < deadline:
        time.sleep(0.01)
    assert worker.alive is False  # a zombie until it is waited for
    process.wait()
    assert worker.alive is False


def test_a_number_that_is_used_again_is_another_process():
    with working() as worker:
        before = Worker(worker.pid, str(int(worker.born) - 1), worker.node, worker.boot, worker.token)
        assert before.alive is False


def test_other_machines_cannot_be_judged_and_other_starts_are_dead():
    with working() as worker:
        assert Worker(worker.pid, worker.born, "elsewhere", worker.boot, worker.token).alive is None
        assert Worker(worker.pid, worker.born, worker.node, "earlier", worker.token).alive is False


def claim(study, numbers, worker):
    journal = study._journal(study.home.journal())
    with journal.locked():
        journal.append({"event": "claim", "trials": numbers, "worker": worker.as_dict(), "at": 0})


def test_claims_of_the_dead_are_taken_over_and_those_of_the_living_waited_for(tmp_path):
    study = Study.create(tmp_path / "s", {"x": [0, 1, 2]})
    claim(study, [0, 1], Worker(2**22 + 1, "7", *this_machine(), "dead"))
    with working() as living:
        claim(study, [2], living)
        rounds = [0]

        def go_on_():
            rounds[0] += 1
            return rounds[0] < 4

        study.run(lambda v: v["x"], go_on=go_on_)
        assert sorted(study.state.results) == [0, 1]
    study.run(lambda v: v["x"])
    assert sorted(study.state.results) == [0, 1, 2]


def test_claims_of_another_machine_are_waited_for_or_taken_over_by_word(tmp_path):
    study = Study.create(tmp_path / "s", {"x": [0, 1, 2]})
    claim(study, [1, 2], Worker(1, "1", "elsewhere", "then", "far"))
    with pytest.raises(RunError, match=r"2 configurations are claimed by a worker on another machine: .* --release"):
        study.run(lambda v: v["x"])
    assert sorted(study.state.results) == [0]  # what was free is done
    assert study.run(lambda v: v["x"], release=True).complete
