"""What is measured on the device at hand, as far as it does not depend on the clock."""

from dataclasses import replace

import pytest
import torch
from torch import nn

import lamina
from lamina.scaling import measure
from lamina.scaling.measure import gradient_bytes, measured, norm_channels, workload
from lamina.training.plan import plan
from lamina.training.recipe import GD, MiniBatch, Recipe, Schedule
from lamina.training.runtime import Runtime


@pytest.fixture
def clock(monkeypatch):
    """A clock that shows a second more whenever it is read."""

    class Clock:
        now = 0.0

        def perf_counter(self) -> float:
            self.now += 1.0
            return self.now

    monkeypatch.setattr(measure, "time", Clock())


def job(**options):
    return plan("fnn", lamina.load("iris"), options={"hidden": (8,), **options}, epochs=3)


def test_what_a_network_sends():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    assert norm_channels(net) == (4,) and norm_channels(net[0]) == ()
    assert gradient_bytes(net, Recipe()) == 4 * (16 + 8 + 10)
    net[0].requires_grad_(False)
    assert gradient_bytes(net, Recipe(precision="float64")) == 8 * 18
    resnet = lamina.build("resnet18", outputs=1000)
    assert len(norm_channels(resnet)) == 20 and sum(norm_channels(resnet)) == 4800
    assert gradient_bytes(resnet, Recipe()) == 4 * 11_689_512


def test_a_workload_has_the_sizes_of_the_job():
    plain = job(batch_size=16)
    work = workload(plain, [(16, 0.2), (4, 0.1)], jitter=0.5)
    assert (work.batch, work.updates, work.epochs, work.tail) == (16, 7, 3, 6)  # 102 of 150 flowers
    drawn = workload(job(batch_size=16, sampling="with-replacement"), [(16, 0.2)])
    assert (drawn.updates, drawn.tail) == (6, 0)
    assert work.timings == ((4, 0.1), (16, 0.2)) and (work.jitter, work.evaluation, work.checkpoint) == (0.5, 0, 0)
    assert work.gradient_bytes == 4 * (5 * 8 + 9 * 3)


def test_every_size_is_timed_with_its_batch(clock):
    plain = job(batch_size=16)
    before = {name: t.clone() for name, t in plain.model.state_dict().items()}
    threads = torch.get_num_threads()
    work = measured(plain, [16, 4, 8, 4], Runtime("cpu", threads=1, step="eager"), seconds=1000)
    assert work.timings == ((4, 1.0), (8, 1.0), (16, 1.0)) and work.jitter == 0  # an update lasts one reading
    assert work.evaluation == work.checkpoint == 1.0
    assert all(torch.equal(before[name], t) for name, t in plain.model.state_dict().items())
    assert torch.get_num_threads() == threads


def test_sizes_without_time_are_left_out_but_not_the_second(clock):
    work = measured(job(batch_size=16), [1, 2, 4, 8, 16], Runtime("cpu", threads=1, step="eager"), seconds=5)
    assert [size for size, _ in work.timings] == [1, 2]


def test_one_example_alone_is_not_normalized(clock):
    plain = job(batch_size=16, batch_norm=True)
    work = measured(plain, [1, 2], Runtime("cpu", threads=1, step="eager"), seconds=1000)
    assert work.norms == (8,) and [size for size, _ in work.timings] == [2]


def test_real_time_passes():
    work = measured(job(batch_size=16), [4, 16], Runtime("cpu", threads=1, step="eager"), seconds=0.1)
    assert 0 < work.timings[0][1] <= work.timings[1][1] < 10 and work.evaluation > 0 and work.checkpoint > 0


def test_the_recipe_of_a_few_updates():
    recipe = Recipe(optimizer=GD(learning_rate=0.5), epochs=90, schedule=Schedule("cosine"), batch_size=7)
    brief = measure._brief(recipe, 3)
    assert brief.optimizer == MiniBatch(learning_rate=0.5) and (brief.epochs, brief.batch_size) == (1, 3)
    assert brief.schedule == Schedule()
    adam = replace(recipe, optimizer=lamina.Adam(learning_rate=0.1))
    assert measure._brief(adam, 3).optimizer == adam.optimizer


def test_what_is_measured_next():
    following = measure._following
    assert following({}, [1, 2, 4], 0.0) == 1
    assert following({1: 1.0}, [2, 4, 8], 40.0) == 8 and following({1: 1.0}, [2, 4, 8], 39.0) == 4  # 5 updates each
    assert following({1: 1.0}, [2, 4, 8], 1.0) == 2  # two sizes make a line
    assert following({1: 1.0, 8: 2.0}, [2, 4], 1000.0) == 4 and following({1: 1.0, 8: 2.0}, [2, 4], 10.0) == 2
    assert following({1: 1.0, 8: 2.0}, [2, 4], 9.0) is None
    assert measure._most({1: 1.0, 8: 2.0}, 16) == 4.0


def test_a_check_is_timed_or_guessed(clock):
    class Step:
        validation = range(30)
        checks = 0

        def evaluate(self):
            self.checks += 1

    step = Step()
    assert measure._check(step, (4, 2.0), 100.0) == 1.0 and step.checks == 1  # one reading of the clock
    # 30 examples at 0.5 s each, of which a third is the forward pass
    assert measure._check(step, (4, 2.0), 4.9) == pytest.approx(5.0) and step.checks == 1
    step.validation = None
    assert measure._check(step, (4, 2.0), 100.0) == 0
