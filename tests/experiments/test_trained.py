import torch

import lamina
from lamina.data.synthetic import blobs, moons
from lamina.experiments.trained import parts, train
from lamina.training.fit import fit
from lamina.training.recipe import Adam, MiniBatch, Recipe, Stopping


def network():
    return lamina.build("fnn", inputs=2, outputs=2, hidden=8, seed=1)


def test_training_is_that_of_fit_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    split = blobs(60).split(seed=1)
    recipe = Recipe(optimizer=Adam(0.01), epochs=5, batch_size=16, seed=3)
    trained = train(lamina.build("fnn", inputs=2, outputs=4, hidden=8, seed=2), split, recipe)
    assert not list(tmp_path.iterdir()) and split.openings == 0 and trained.reason.step is None
    run = fit(lamina.build("fnn", inputs=2, outputs=4, hidden=8, seed=2), split, recipe, folder=tmp_path / "run")
    inputs, labels = split.validation.take(torch.arange(10))
    outputs, targets = trained.outputs(split.validation)
    assert torch.equal(targets, labels)
    # the loss fell to the end, so that the best weights are the last ones
    assert run.rows[-1]["validation_loss"] == min(row["validation_loss"] for row in run.rows)
    assert torch.equal(outputs, run.outputs(inputs))
    assert trained.accuracy(split.validation) == (outputs.argmax(1) == labels).double().mean().item()


def test_its_checks_are_those_of_fit(tmp_path):
    split, recipe = moons(120).split(seed=5), Recipe(Adam(1e-2), epochs=3, batch_size=32, seed=5)
    run = fit(network(), split, recipe, folder=tmp_path / "run")
    trained = train(network(), split, recipe, watch=True)
    assert trained.rows == list(run.rows) and trained.reason == run.reason and trained.reason.name == "epochs"
    assert train(network(), split, recipe).rows == [run.rows[-1]]


def test_rules_are_asked_and_without_validation_there_is_no_column():
    recipe = Recipe(Adam(1e-2), epochs=9, batch_size=32, stopping=Stopping(max_steps=5))
    trained = train(network(), parts(moons(96)), recipe, watch=True)
    assert trained.reason.name == "max_steps" and trained.rows[-1]["step"] == 5
    assert "validation_loss" not in trained.rows[-1]


def test_a_divergence_is_reported_and_counts_as_wrong():
    split = moons(60).split()
    network = lamina.build("fnn", inputs=2, outputs=2, hidden=(64, 64), initialization="gaussian", scale=2.0)
    trained = train(network, split, Recipe(optimizer=MiniBatch(100.0), epochs=3, batch_size=10))
    assert trained.reason.name == "diverged" and trained.rows == []
    assert trained.reason.step is not None and trained.reason.step < 12
    assert trained.accuracy(split.validation) == 0
