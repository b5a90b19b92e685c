import pytest
import torch

import lamina
from lamina.data.synthetic import blobs, curve, moons, truth_table
from lamina.experiments.trained import make_step, parts, train, train_step, train_together
from lamina.functional.losses import binary_cross_entropy, mse_half
from lamina.training.fit import fit
from lamina.training.recipe import GD, Adam, MiniBatch, Recipe, Stopping

D = torch.float64


def network():
    return lamina.build("fnn", inputs=2, outputs=2, hidden=8, seed=1)


def test_training_is_that_of_fit_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    split = blobs(60).split(seed=1)
    recipe = Recipe(optimizer=Adam(0.01), epochs=5, batch_size=16, seed=3)
    trained = train(lamina.build("fnn", inputs=2, outputs=4, hidden=8, seed=2), split, recipe)
    assert not list(tmp_path.iterdir()) and split.openings == 0 and trained.bad_step is None
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


def test_a_step_can_be_looked_at_between():
    step = make_step(network(), parts(moons(96)), Recipe(Adam(1e-2), epochs=3, batch_size=32, seed=5))
    inputs, labels = step.train.batch(torch.arange(96))
    assert inputs.mean(0).abs().max() < 1e-6 and labels.bincount().tolist() == [48, 48]
    rows, _ = train_step(step)
    assert step.step == 9 and rows[-1]["loss"] < rows[0]["loss"]


def test_a_divergence_is_reported_and_counts_as_wrong():
    split = moons(60).split()
    network = lamina.build("fnn", inputs=2, outputs=2, hidden=(64, 64), initialization="gaussian", scale=2.0)
    trained = train(network, split, Recipe(optimizer=MiniBatch(100.0), epochs=3, batch_size=10))
    assert trained.reason is None and trained.rows == []
    assert trained.bad_step is not None and trained.bad_step < 12
    assert trained.accuracy(split.validation) == 0


@pytest.mark.parametrize("optimizer", ["gd", "adam"])
def test_members_are_trained_as_if_alone(optimizer):
    def networks():
        return [
            lamina.build("fnn", inputs=1, outputs=1, hidden=(5, 4), activation="tanh", seed=i).double() for i in (3, 4)
        ]

    sets = [curve(20, seed=i) for i in range(2)]
    u, s = torch.stack([a.inputs for a in sets]), torch.stack([a.targets[:, None] for a in sets])
    together = networks()
    losses = train_together(together, u, s, mse_half, learning_rate=0.1, steps=30, optimizer=optimizer)
    for i, (alone, member) in enumerate(zip(networks(), together, strict=True)):
        kind = torch.optim.SGD if optimizer == "gd" else torch.optim.Adam
        reference = kind(alone.parameters(), lr=0.1)
        for _ in range(30):
            reference.zero_grad()
            mse_half(alone(u[i]), s[i]).backward()
            reference.step()
        for a, b in zip(alone.parameters(), member.parameters(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)
        assert losses[i].item() == pytest.approx(mse_half(member(u[i]), s[i]).item(), rel=1e-12)
    separate = train_together(networks()[:1], u[:1], s[:1], mse_half, learning_rate=0.1, steps=30, optimizer=optimizer)
    assert separate.item() == pytest.approx(losses[0].item(), rel=1e-9)


def test_members_agree_with_the_step_of_fit():
    table = truth_table("xor")
    build = {"inputs": 2, "outputs": 1, "hidden": 3, "activation": "tanh", "seed": 1}
    alone, member = lamina.build("fnn", **build), lamina.build("fnn", **build)
    train(alone, table.split(), Recipe(optimizer=GD(0.5), epochs=50))
    u, s = table.inputs[None], table.targets.float()[None, :, None]
    train_together([member], u, s, binary_cross_entropy, learning_rate=0.5, steps=50, optimizer="gd")
    torch.testing.assert_close(member(table.inputs), alone(table.inputs), rtol=0, atol=1e-5)
