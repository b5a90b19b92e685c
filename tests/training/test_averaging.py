"""Averaged weights in runs: what is averaged, judged, kept and resumed."""

import copy

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

import lamina
from lamina._errors import ArgumentError
from lamina.training.executors.choose import learner
from lamina.training.loop import Progress, drain
from lamina.training.recipe import Adam, Averaging, MiniBatch, Recipe, as_dict, from_dict, with_options
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import task_of

RECIPE = Recipe(Adam(0.02), epochs=4, batch_size=16, averaging=Averaging(1.0), precision="float64")


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2))


@pytest.fixture
def split():
    return lamina.load("moons", count=120).split()


def made(split, recipe):
    return learner(net(), task_of(split, seed=0), recipe, Runtime("cpu", step="eager"))


def test_a_run_averages_as_torch_does(split):
    step = made(split, RECIPE)
    theirs = AveragedModel(step.model, use_buffers=True)
    for epoch in range(2):
        step.begin(epoch)
        for _ in range(step.batches):
            step()
            theirs.update_parameters(step.model)
    found, live = step.weights(), step.model.state_dict()
    for name, expected in theirs.module.state_dict().items():
        if expected.is_floating_point():
            torch.testing.assert_close(found[name], expected, rtol=1e-12, atol=1e-14)
            assert not torch.equal(found[name], live[name])
    assert torch.equal(found["1.num_batches_tracked"], live["1.num_batches_tracked"])


def test_a_check_judges_the_average_and_leaves_the_network_as_it_was(split):
    step = made(split, RECIPE)
    step.begin(0)
    for _ in range(step.batches):
        step()
    before = copy.deepcopy(step.model.state_dict())
    judged = step.evaluate()
    assert all(torch.equal(t, before[name]) for name, t in step.model.state_dict().items())
    plain = made(split, with_options(RECIPE, averaging=0.0))
    plain.model.load_state_dict(step.weights())
    assert plain.evaluate() == judged and plain.average is None
    plain.model.load_state_dict(before)
    assert plain.evaluate() != judged


def test_the_run_keeps_the_weights_that_were_judged(split, tmp_path):
    run = lamina.fit(net(), split, RECIPE, folder=tmp_path / "run")
    plain = lamina.fit(net(), split, with_options(RECIPE, averaging=0.0), folder=tmp_path / "plain")
    assert [row["loss"] for row in run.rows] == [row["loss"] for row in plain.rows]  # the path is the same
    best = min(row["validation_loss"] for row in run.rows)
    step = made(split, with_options(RECIPE, averaging=0.0))
    step.model.load_state_dict(run.model.state_dict())
    assert step.evaluate()["validation_loss"] == pytest.approx(best, rel=1e-12)


def test_averaging_starts_after_its_share_of_the_updates(split):
    step = made(split, with_options(RECIPE, averaging_start=0.5))
    assert step.average.start == 2 * step.batches
    for epoch in range(2):
        step.begin(epoch)
        for _ in range(step.batches):
            step()
    assert int(step.average.count) == 0 and all(
        torch.equal(t, step.model.state_dict()[name]) for name, t in step.weights().items()
    )
    step.begin(2)
    step()
    first = {name: t.clone() for name, t in step.model.state_dict().items()}
    assert int(step.average.count) == 1
    assert all(torch.equal(t, first[name]) for name, t in step.weights().items())


@pytest.mark.parametrize("decay", [0.9, 1.0])
def test_a_resumed_run_is_the_uninterrupted_one_bit_for_bit(split, tmp_path, decay):
    recipe = Recipe(MiniBatch(0.3, momentum=0.9), epochs=4, batch_size=16, averaging=Averaging(decay))
    network = lamina.build("fnn", inputs=2, outputs=2, hidden=(8,))
    whole = lamina.fit(copy.deepcopy(network), split, recipe, folder=tmp_path / "whole")
    lamina.fit(network, split, with_options(recipe, epochs=2), folder=tmp_path / "half")
    found = lamina.resume(tmp_path / "half", data=split, epochs=4)
    assert found.rows == whole.rows
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, found.model.state_dict()[name]), name


def test_a_run_that_continues_may_begin_to_average(split, tmp_path):
    lamina.fit(lamina.build("fnn", inputs=2, outputs=2), split, Recipe(epochs=2), folder=tmp_path / "run")
    found = lamina.resume(tmp_path / "run", data=split, epochs=4, options={"averaging": 0.9})
    assert len(found.rows) == 4
    assert "decay = 0.9" in (tmp_path / "run/config.toml").read_text()


def test_frozen_and_tied_weights(split):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.last = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)
            self.second.weight = self.first.weight
            self.last.requires_grad_(False)

        def forward(self, inputs):
            return self.last(self.second(torch.tanh(self.first(inputs))))

    torch.manual_seed(0)
    step = learner(Tied(), task_of(split, seed=0), RECIPE, Runtime("cpu", step="eager"))
    step.begin(0)
    step()
    step()
    found = step.weights()
    assert torch.equal(found["first.weight"], found["second.weight"])
    assert "average/last.weight" not in step.state() and len(step.average.means) == 3
    assert not torch.equal(found["first.weight"], step.model.first.weight)


def test_the_iterator_judges_averages_too(split):
    rows = []
    for decay in (0.0, 1.0):
        at = Progress()
        drain(lamina.train(net(), split, with_options(RECIPE, averaging=decay), at=at))
        rows.append([row["validation_loss"] for row in at.rows])
    assert rows[0] != rows[1]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"averaging": -0.1}, r"`averaging` must be in \[0, 1\], got -0.1"),
        ({"averaging": 1.5}, r"`averaging` must be in \[0, 1\], got 1.5"),
        ({"averaging_start": 1.0}, r"`averaging_start` must be in \[0, 1\), got 1.0"),
    ],
)
def test_bounds(options, match):
    with pytest.raises(ArgumentError, match=match):
        with_options(Recipe(), **options)


def test_the_record_is_read_back():
    recipe = with_options(Recipe(), averaging=0.999, averaging_start=0.25)
    assert recipe.averaging == Averaging(0.999, 0.25)
    assert from_dict(as_dict(recipe)) == recipe
    stored = as_dict(recipe)
    del stored["averaging"]
    assert from_dict(stored) == Recipe()  # a run of an older version
