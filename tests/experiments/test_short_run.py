import torch

from lamina.architectures.fnn import FNN, FNNConfig
from lamina.data.synthetic import moons
from lamina.experiments.short_run import make_step, short_run, train_step
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Recipe, Stopping

RECIPE = Recipe(Adam(1e-2), epochs=3, batch_size=32, seed=5)


def network():
    return FNN(FNNConfig(2, 2, hidden=8), seed=1)


def test_it_is_fit_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = moons(120).split(seed=5)
    run = fit(network(), parts, RECIPE, folder=tmp_path / "run")
    model = network()
    rows, reason = short_run(model, parts.train, parts.validation, RECIPE)
    assert reason == run.reason and reason.name == "epochs"
    assert list(run.rows) == rows
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_rules_are_asked_and_without_validation_there_is_no_column():
    recipe = Recipe(Adam(1e-2), epochs=9, batch_size=32, stopping=Stopping(max_steps=5))
    rows, reason = short_run(network(), moons(96), None, recipe)
    assert reason.name == "max_steps" and rows[-1]["step"] == 5
    assert "validation_loss" not in rows[-1]


def test_a_step_can_be_looked_at_between():
    step = make_step(network(), moons(96), None, RECIPE)
    inputs, labels = step.train.batch(torch.arange(96))
    assert inputs.mean(0).abs().max() < 1e-6 and labels.bincount().tolist() == [48, 48]
    rows, _ = train_step(step)
    assert step.step == 9 and rows[-1]["loss"] < rows[0]["loss"]
