"""Plans: what is assumed, recommended, simulated and drawn."""

import json
import math
from dataclasses import replace

import pytest

import lamina
from lamina._errors import ArgumentError
from lamina.drawing.svg import svg
from lamina.scaling.collectives import Link
from lamina.scaling.failures import daly
from lamina.scaling.planning import GPUS, assumptions, of_device, plan_ranks, planned
from lamina.scaling.scaled import Workload, scaled
from lamina.training.runtime import Runtime

WORK = Workload(
    batch=4096,
    updates=313,
    epochs=90,
    timings=((4, 8e-3), (4096, 1.6)),
    gradient_bytes=4 * 11_689_512,
    jitter=0.05,
    norms=(64,) * 20,
    evaluation=30.0,
    checkpoint=0.01,
)


def test_a_plan_of_a_thousand_gpus():
    found = planned("resnet18", WORK, GPUS, 1024)
    assert [row.ranks for row in found.rows] == [2**i for i in range(11)]
    assert found.rows == tuple(scaled(WORK, GPUS, 2**i) for i in range(11))
    assert found.best.efficiency >= 0.5 > found.rows[found.rows.index(found.best) + 1].efficiency
    assert found.fastest.run == min(row.run for row in found.rows)
    assert found.too_small is not None and found.too_small.batch < WORK.small <= 2 * found.too_small.batch
    # checkpoints as often as Daly says, in whole updates
    wanted = daly(0.01, GPUS.mtbf * 3600 / found.best.ranks)
    assert found.interval == pytest.approx(wanted, abs=found.best.step)
    # a failure is rare in a run of minutes: the simulation is the row, and a checkpoint for each interval
    checkpoints = math.ceil(313 * 90 / found.course.interval)
    assert found.course.seconds == pytest.approx(found.best.run + 0.01 * checkpoints, rel=0.02)


def test_failures_make_a_run_longer():
    often = replace(GPUS, mtbf=20.0)
    calm, rough = planned("", WORK, GPUS, 64), planned("", WORK, often, 64)
    assert rough.best == calm.best and rough.course.failures > 1 > calm.course.failures
    assert rough.course.seconds > calm.course.seconds and rough.interval < calm.interval
    assert planned("", WORK, often, 64, seed=1).course != rough.course == planned("", WORK, often, 64).course


def test_updates_vary_in_a_simulation_as_they_were_measured():
    calm = replace(GPUS, mtbf=math.inf)
    one = planned("", WORK, calm, 1).course
    assert one.deviation == pytest.approx(0.05 * 1.6 * math.sqrt(313 * 90), rel=0.15)
    assert one.seconds == pytest.approx(planned("", WORK, calm, 1).best.run, rel=1e-3)
    some = planned("", WORK, calm, 64, least=0.0)
    row, course = some.best, some.course
    # The largest of 64 exponentials deviates by the root of 1 + 1/4 + 1/9 + ...; sums in between add to the mean alone.
    expected = 0.05 * row.computing * math.sqrt(sum(1 / i**2 for i in range(1, 65)) * 313 * 90)
    assert row.ranks == 64 and course.deviation == pytest.approx(expected, rel=0.15)
    assert course.seconds == pytest.approx(row.run, rel=1e-3)


def test_without_failures_or_costs_of_checkpoints():
    assert planned("", WORK, replace(GPUS, mtbf=math.inf), 8).course.interval == 313 * 90
    free = planned("", replace(WORK, checkpoint=0.0, updates=10, epochs=1), GPUS, 8)
    assert free.course.interval == 1


def test_ranks_without_examples_are_named():
    small = replace(WORK, batch=16, timings=((1, 1e-3), (16, 2e-3)))
    (sentence,) = planned("", small, GPUS, 32).notes
    assert sentence.startswith("A batch of 16 examples leaves ranks beyond 16 without any")
    assert planned("", small, GPUS, 16).notes == ()


def test_a_plan_is_plain_json():
    found = planned("resnet18", WORK, GPUS, 8)
    values = json.loads(json.dumps(found.as_dict()))
    assert values["recommended"] == found.best.ranks and values["rows"][3]["ranks"] == 8
    assert values["rows"][3]["step"] == found.rows[3].step and values["small_batch"] == WORK.small
    assert values["work"]["gradient_bytes"] == WORK.gradient_bytes and values["cluster"]["per_node"] == 8


def test_a_plan_is_drawn(tmp_path):
    found = planned("resnet18", WORK, GPUS, 1024)
    text = svg(found.scene())
    for words in ("examples per second", "ideal", f"recommended, {found.best.ranks}", "batch norm", "slowest rank"):
        assert words in text
    assert "reading" not in text  # nothing waits for data
    assert found.save(tmp_path / "plan.png").stat().st_size > 1000
    assert "<svg" in planned("one", WORK, GPUS, 1).save(tmp_path / "one.svg").read_text()


def test_what_a_device_suggests(monkeypatch):
    assert of_device("cuda") is GPUS and GPUS.mtbf == pytest.approx(54 * 24 / 419 * 16_384) == pytest.approx(
        50_677, abs=0.1
    )
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    assert (of_device("cpu").cores, of_device("cpu").per_node) == (6, 6)
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert of_device("cpu").cores == 1


def test_what_was_assumed_is_said_and_what_was_given_is_not():
    assert [said.split()[0] for said in assumptions(GPUS, "cuda:0")] == ["within", "between", "a"]
    given = replace(GPUS, between=Link(1e-6, 1e9), mtbf=1.0)
    assert [said.split()[0] for said in assumptions(given, "cuda")] == ["within"]
    assert "gloo" in assumptions(of_device("cpu"), "cpu")[0]


def test_timings_that_are_given_are_used_as_they_are():
    split = lamina.load("iris").split()
    found = plan_ranks("fnn", split, 2, cluster=GPUS, timings=[(16, 0.2), (8, 0.1)], options={"batch_size": 16})
    assert [row.computing for row in found.rows] == [0.2, 0.1] and found.device == "" and found.notes == ()
    assert found.work.jitter == found.work.checkpoint == 0
    found = plan_ranks(
        "fnn", split, 2, cluster=GPUS, timings=[(16, 0.2)], jitter=0.1, checkpoint=3.0, options={"batch_size": 16}
    )
    assert found.notes[0].startswith("Only one timing was given") and found.rows[1].computing == 0.1
    assert (found.work.jitter, found.work.checkpoint) == (0.1, 3.0)


def test_other_numbers_of_examples():
    split, options = lamina.load("iris").split(), {"batch_size": 16}
    plain = plan_ranks("fnn", split, 1, timings=[(16, 0.2)], options=options)
    more = plan_ranks("fnn", split, 1, timings=[(16, 0.2)], options=options, examples=1000)
    assert plain.work.updates == 7 and more.work.updates == 63 and more.work.batch == 16
    with pytest.raises(ArgumentError, match=r"`examples` must be at least the batch \(16\), got 10: lower batch_size"):
        plan_ranks("fnn", split, 1, timings=[(16, 0.2)], options=options, examples=10)


def test_readers_of_a_running_text_are_its_examples(tmp_path):
    (tmp_path / "fox.txt").write_text("the quick brown fox jumps over the lazy dog. " * 200)
    options, timings = {"hidden": 8, "batch_size": 24, "window": 10}, [(8, 0.1), (24, 0.2)]
    found = plan_ranks("many-to-many", tmp_path / "fox.txt", 3, timings=timings, options=options)
    assert found.work.batch == 24 and [row.batch for row in found.rows] == [24, 12, 8] and found.work.tail == 0
    with pytest.raises(ArgumentError, match="`examples` is for data whose examples stand by themselves"):
        plan_ranks("many-to-many", tmp_path / "fox.txt", 3, timings=timings, options=options, examples=10**6)


def test_measured_here():
    found = plan_ranks("fnn", "iris", 4, options={"batch_size": 8}, runtime=Runtime("cpu"), seconds=0.1, jitter=0.25)
    sizes = {size for size, _ in found.work.timings}
    assert 2 in sizes and len(sizes) >= 2 and sizes <= {2, 4, 8}
    assert found.device == "on the CPU, 1 thread" and found.work.jitter == 0.25 and found.name == "fnn, iris"
    assert found.course.seconds > 0 and found.rows[0].efficiency == 1


def test_bad_numbers_of_ranks():
    with pytest.raises(ArgumentError, match="`ranks` must be at least 1, got 0"):
        plan_ranks("fnn", "iris", 0)
