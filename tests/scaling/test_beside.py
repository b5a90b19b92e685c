"""What ranks take beside each other is measured in processes, which have the job of this one."""

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any, ClassVar

import psutil
import pytest
import torch

import lamina
from lamina._errors import RunError
from lamina.scaling import planning
from lamina.scaling.beside import Asked, Beside, Measured, _packed, met
from lamina.scaling.collectives import Link
from lamina.scaling.measure import Apart, measured, of_rank
from lamina.scaling.planning import of_device, plan_ranks
from lamina.scaling.scaled import Together
from lamina.training._global_norm import normalize_over
from lamina.training.runtime import Runtime

EAGER = Runtime("cpu", threads=1, step="eager")


def asked(data="iris", **options):
    return Asked("fnn", data, {}, {"hidden": (8,), "batch_size": 16, **options}, 3, 0)


def test_processes_measure_at_once_and_together():
    with Beside(asked(batch_norm=True), EAGER, 2) as two:
        timings, spread = two.apart({8: 2, 4: 1}, 0.2)
        assert [size for size, _ in timings] == [4, 8] and 0 < timings[0][1] <= timings[1][1] < 10 and spread >= 0
        for _ in range(2):  # a group that has ended is followed by another
            found = two.together(2, 16, 0.1)
            assert found.ranks == 2 and 0 < found.computing < 10 and found.waiting >= 0
            assert min(found.gradients, found.norms, found.small) > 0


def test_who_comes_last_to_a_sum_waits_for_nobody():
    sums, rare = [(9, 1.0), (9, 0.5), (70, 2.0)], [(9, 50.0), (9, 50.0), (70, 50.0)]
    early = Measured([8.0, 8.0, 900.0, 4.0], [sums, sums, rare, sums], [0.25, 0.5, 9.0, 0.5])
    sums = [(9, 0.25), (9, 0.75), (70, 2.5)]
    late = Measured([8.0, 8.5, 900.0, 4.0], [sums, sums, rare, sums], [0.5, 0.25, 9.0, 0.5])
    found = met([early, late])
    assert (found.ranks, found.norms, found.gradients, found.small) == (2, 0.75, 2.0, 0.375)
    assert found.waiting == 3.5 - 2.75 and found.computing == 8.125 - 3.5
    alone = met([Measured([1.0], [[(70, 0.5)]], [0.5]), Measured([1.0], [[(70, 0.25)]], [0.5])])
    assert (alone.norms, alone.gradients, alone.waiting) == (0, 0.25, 0.125)


def test_a_rank_apart_computes_its_part_with_norms_in_steps():
    job = asked(batch_norm=True).job()
    with EAGER.applied("float32") as used:
        step = of_rank(job, 8, used)
        (norm,) = (part for part in step.model.modules() if isinstance(part, torch.nn.BatchNorm1d))
        assert norm.forward.func is normalize_over
        seen = []
        norm.register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs[0])))
        step.begin(0)
        step()
        assert seen == [8] and step.feed.batch_size == 16  # of the batch of both
        assert of_rank(job, 8, used, ranks=1).feed.batch_size == 8
    some = torch.ones(2)
    assert Apart(0, 3).gathered(5) == [5, 5, 5] and Apart(0, 2, joined=True).sum_(some) is some and some.sum() == 2
    assert Apart(0, 2).shared(lambda: 7) == 7 and Apart(0, 2).align_([some]) is None
    assert measured(job, [4, 8], EAGER, 0.1, ranks=2).timings[0][0] == 4


@pytest.mark.posix
def test_what_cannot_be_measured_beside_is_said(monkeypatch):
    with pytest.raises(RunError, match=r"the data cannot be given to other processes \(.*lambda"):
        _packed(lambda: 0)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RunError, match=r"a process that measures has ended \(no message\)"):
        with Beside(asked(), EAGER, 1):
            pass


@pytest.mark.posix
def test_a_rank_that_dies_ends_the_measurement():
    with Beside(asked(), EAGER, 2) as two:
        two._workers[1]._process.kill()
        with pytest.raises(RunError, match=r"a process that measures has ended \("):
            two.together(2, 16, 0.1)


def test_a_process_that_cannot_be_started_leaves_none_behind(monkeypatch):
    started, popen = [], subprocess.Popen

    def limited(*words, **more):
        if started:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        started.append(popen(*words, **more))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", limited)
    with pytest.raises(RunError, match=r"a process that measures cannot be started \(Resource temporarily unavail"):
        Beside(asked(), EAGER, 2)
    assert started[0].returncode is not None


KILLED = """
import os, signal, sys
from lamina.scaling.beside import Asked, Beside
from lamina.training.runtime import Runtime
asked = Asked("fnn", "iris", {}, {"hidden": (8,), "batch_size": 16}, 3, 0)
with Beside(asked, Runtime("cpu", threads=1, step="eager"), 2) as two:
    print(*(worker._process.pid for worker in two._workers), flush=True)
    two.together(2, 16, 600.0)
"""


@pytest.mark.posix
def test_processes_that_measure_end_with_who_asks(tmp_path):
    words, more = [sys.executable, "-c", KILLED], os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=more) as asking:
        measuring = [psutil.Process(int(number)) for number in asking.stdout.readline().split()]
        asking.kill()
    _, alive = psutil.wait_procs(measuring, timeout=30)
    assert len(measuring) == 2 and not alive


@pytest.mark.slow
def test_what_a_process_could_not_do_is_its_sentence():
    with pytest.raises(RunError, match=r"a process that measures has ended \(lamina\._errors\..*: .*hidden"):
        with Beside(asked(hidden="none"), EAGER, 1):
            pass


class Machine:
    """Processes that say what a test wants to hear."""

    calls: ClassVar[list[Any]] = []
    fails = False

    def __init__(self, asked, runtime, most):
        self.calls.append((asked.name, most, runtime.threads, runtime.batch_norm))
        if self.fails:
            raise RunError("no.")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def apart(self, sizes, seconds):
        self.calls.append((dict(sizes), seconds))
        return tuple((size, size / 16) for size in sorted(sizes)), 0.125

    def together(self, ranks, batch, seconds):
        self.calls.append((ranks, batch, seconds))
        return Together(ranks, computing=0.75, waiting=0.25, gradients=0.0625, norms=0.5, small=0.03125)


@pytest.fixture
def machine(monkeypatch):
    monkeypatch.setattr(Machine, "calls", [])
    monkeypatch.setattr(planning, "Beside", Machine)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(planning, "LEAST", 1.0)
    return Machine


SHORT = {"options": {"hidden": (8,), "batch_size": 16}, "epochs": 1, "runtime": Runtime("cpu")}


def test_a_plan_says_that_there_was_no_time_for_ranks_beside_each_other(machine, monkeypatch):
    monkeypatch.setattr(planning, "LEAST", 10.0)
    found = plan_ranks("fnn", lamina.load("iris").split(), 4, seconds=4, **SHORT)
    assert found.work.apart == found.work.together == () and not machine.calls
    assert found.notes == (
        "Ranks were not measured beside each other, for lack of time, but alone, where they have more of the machine: "
        "give measuring at least 20 s.",
    )


def test_a_plan_measures_ranks_of_this_machine_together_and_parts_of_others_beside_each_other(machine):
    found = plan_ranks("fnn", lamina.load("iris").split(), 4, seconds=4, **SHORT)
    assert machine.calls == [("fnn", 2, 1, "global"), ({4: 2}, 1.0), (2, 16, 1.0)]
    assert found.work.apart == ((4, 0.25),) and [met.ranks for met in found.work.together] == [2]
    two, four = found.rows[1:]
    assert (two.computing, two.waiting, two.gradients, two.norms) == (0.75, 0.25, 0.0625, 0.5) and two.step == 1.5625
    assert four.computing == 0.25
    # Two messages of the small sum took 1/32 s; what the gradients, 67 numbers, took longer is for half of them each.
    link = found.cluster.inside
    assert link == found.cluster.between == Link(1 / 64, 67 * 4 / (1 / 16 - 1 / 32))
    # The largest of two exponentials is half a deviation above the mean.
    assert found.work.jitter == pytest.approx(0.25 / 0.75 / 0.5)
    assert four.waiting == pytest.approx(found.work.jitter * 0.25 * (1 / 2 + 1 / 3 + 1 / 4))
    assert found.notes == (
        "A sum over 2 ranks of this machine was measured between the computing of updates: 31.2 ms for a few numbers, "
        "62.5 ms for all gradients. Between nodes the same is assumed, which was measured on no network.",
    )


def test_sums_of_batch_norm_say_how_long_a_few_numbers_take(machine):
    normed = SHORT | {"options": {**SHORT["options"], "batch_norm": True}}
    found = plan_ranks("fnn", lamina.load("iris").split(), 2, seconds=4, **normed)
    assert found.work.norms == (8,) and found.cluster.inside.latency == 0.5 / 4 / 2
    assert "125 ms for a few numbers, 62.5 ms for all gradients" in found.notes[0]


def test_links_that_are_given_are_not_measured(machine):
    own = replace(of_device("cpu"), inside=Link(0.0, 1e9))
    found = plan_ranks("fnn", lamina.load("iris").split(), 2, seconds=4, cluster=own, **SHORT)
    assert machine.calls[1:] == [({8: 2}, 2.0)] and found.cluster == own and found.notes == ()
    between = replace(of_device("cpu"), between=Link(0.0, 1e9))
    found = plan_ranks("fnn", lamina.load("iris").split(), 2, seconds=4, cluster=between, **SHORT)
    assert found.cluster.between == Link(0.0, 1e9) and found.cluster.inside.latency == 1 / 64
    assert found.notes[0].endswith("62.5 ms for all gradients.")


def test_a_plan_says_that_processes_could_not_measure(machine, monkeypatch):
    monkeypatch.setattr(machine, "fails", True)
    data, normed = lamina.load("iris").split(), SHORT | {"options": {**SHORT["options"], "batch_norm": True}}
    found = plan_ranks("fnn", data, 2, seconds=4, **normed)
    assert found.notes == ("Ranks were not measured beside each other, but alone: no.",)
    assert [size for size, _ in found.work.apart] == [8]  # in steps, but alone
    far = replace(of_device("cpu"), per_node=1, cores=1)
    assert plan_ranks("fnn", data, 2, seconds=4, cluster=far, **SHORT).notes == ()
