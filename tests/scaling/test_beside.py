"""What ranks take beside each other is measured in processes, which have the job of this one."""

import sys

import pytest
import torch

import lamina
from lamina._errors import RunError
from lamina.scaling import planning
from lamina.scaling.beside import Asked, _packed, beside
from lamina.scaling.measure import Apart, measured, of_rank
from lamina.scaling.planning import of_device, plan_ranks
from lamina.training._global_norm import normalize_over
from lamina.training.runtime import Runtime

EAGER = Runtime("cpu", threads=1, step="eager")


def asked(data="iris", **options):
    return Asked("fnn", data, {}, {"hidden": (8,), "batch_size": 16, **options}, 3, 0)


def test_processes_measure_at_once():
    timings, spread = beside(asked(), {8: 2, 4: 1}, EAGER, 0.2)
    assert [size for size, _ in timings] == [4, 8] and 0 < timings[0][1] <= timings[1][1] < 10 and spread >= 0


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
        beside(asked(), {8: 1}, EAGER, 0.1)


@pytest.mark.slow
def test_what_a_process_could_not_do_is_its_sentence():
    with pytest.raises(RunError, match=r"a process that measures has ended \(lamina\._errors\..*: .*hidden"):
        beside(asked(hidden="none"), {8: 1}, EAGER, 0.1)


def test_a_plan_measures_ranks_beside_each_other_where_there_is_time(monkeypatch):
    calls = []

    def taken(job, sizes, runtime, seconds):
        calls.append((job.name, dict(sizes), runtime.threads, runtime.batch_norm, seconds))
        return ((4, 0.5), (8, 0.75)), 0.125

    monkeypatch.setattr(planning, "beside", taken)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    short = {"options": {"hidden": (8,), "batch_size": 16}, "epochs": 1, "runtime": Runtime("cpu")}
    data = lamina.load("iris").split()
    found = plan_ranks("fnn", data, 4, seconds=4, **short)
    assert found.work.apart == () and not calls
    assert found.notes == (
        "Ranks were not measured beside each other, for lack of time, but alone, where they have more of the machine: "
        "give measuring at least 20 s.",
    )
    monkeypatch.setattr(planning, "LEAST", 1.0)
    found = plan_ranks("fnn", data, 4, seconds=4, **short)
    assert calls == [("fnn", {8: 2, 4: 2}, 1, "global", 2.0)]
    assert found.work.apart == ((4, 0.5), (8, 0.75)) and found.work.jitter == 0.125 and not found.notes
    assert (found.rows[1].computing, found.rows[2].computing) == (0.75, 0.5)

    def fails(*_):
        raise RunError("no.")

    monkeypatch.setattr(planning, "beside", fails)
    normed = short | {"options": {**short["options"], "batch_norm": True}}
    found = plan_ranks("fnn", data, 2, seconds=4, **normed)
    assert found.notes == ("Ranks were not measured beside each other, but alone: no.",)
    assert [size for size, _ in found.work.apart] == [8]  # in steps, but alone
    far = planning.replace(of_device("cpu"), per_node=1, cores=1)
    assert plan_ranks("fnn", data, 2, seconds=4, cluster=far, **short).notes == ()
