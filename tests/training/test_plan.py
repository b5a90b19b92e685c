"""Words become network, data and recipe."""

import pytest
import torch

from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.training.plan import plan
from lamina.training.recipe import Adam, MiniBatch, Penalty, Recipe
from lamina.training.tasks.kinds import task_of
from lamina.training.train import train


def test_preparing_joins_words_data_and_network(tmp_path):
    job = plan(
        "lenet5", "digits", options={"activation": "relu", "learning_rate": 0.5}, epochs=3, seed=4, out=tmp_path / "r"
    )
    assert job.model.config.activation == "relu" and job.recipe.optimizer == Adam(0.5)
    assert (job.recipe.epochs, job.recipe.seed, job.folder) == (3, 4, tmp_path / "r")
    assert job.notes[1] == "pictures of 1 x 8 x 8 are scaled to 1 x 28 x 28"
    assert "changed: activation=relu" in job.notes[2]
    assert plan("fnn", "iris", options={"optimizer": "minibatch", "momentum": 0.9}).recipe.optimizer.momentum == 0.9


def test_a_task_is_planned_for_as_its_split_is():
    split = load("iris").split(seed=0)
    task = task_of(split)
    prepared = task.preprocess
    first, second = plan("fnn", task), plan("fnn", split)
    assert first.recipe == second.recipe and first.folder == second.folder and first.notes == second.notes
    assert first.task.preprocess is not second.task.preprocess and first.task.preprocess == prepared


@pytest.mark.parametrize(
    ("name", "data"), [("lenet5", "digits"), ("fnn", "digits"), ("fnn", "iris"), ("many-to-one", "wave")]
)
def test_data_are_prepared_once_and_the_network_runs_once_before_its_first_update(name, data, monkeypatch):
    fitted, looks, fit = [], [], Preprocess.fit.__func__
    monkeypatch.setattr(Preprocess, "fit", classmethod(lambda cls, *a, **k: fitted.append(a) or fit(cls, *a, **k)))
    job = plan(name, data)
    job.model.register_forward_pre_hook(lambda network, _: looks.append(network.training))
    next(train(job.model, job.task, job.recipe, every=1))
    assert len(fitted) == 1 and looks == [False, True]  # a look at one example, and the update


def test_a_recipe_that_is_given_goes_before_the_recommended_one(tmp_path):
    job = plan("fnn", load("moons"), Recipe(MiniBatch(0.2), epochs=7), options={"hidden": (3,), "penalty": 0.5}, seed=2)
    assert job.recipe == Recipe(MiniBatch(0.2), epochs=7, penalty=Penalty(0.5), seed=2)
    assert job.notes[-1] == "recipe: as given; changed: hidden=(3,), penalty=0.5"
    assert job.split.origin["seed"] == 2 and job.folder.as_posix() == "runs/fnn-moons"


def test_data_may_be_all_that_load_reads_a_split_or_a_task(tmp_path):
    pair = torch.arange(60.0).reshape(30, 2), torch.arange(30.0)
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(f"{i},{i / 2}" for i in range(30)))
    assert plan("fnn", pair).split.note.startswith("arrays: 20 training")
    assert "t.csv: 20 training" in plan("fnn", tmp_path / "t.csv").split.note
    assert plan("fnn", tmp_path / "t.csv").folder.as_posix() == "runs/fnn-t"
    split = load("iris").split(seed=3)
    assert plan("fnn", split).split is split
    task = task_of(split)
    assert plan("fnn", task).task.split is split and plan("fnn", task).model.config.inputs == 4
