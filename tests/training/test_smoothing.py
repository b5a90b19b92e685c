"""Smoothed targets in whole runs: the first update is torch's, and checks are judged by the true targets."""

import pytest
import torch
from torch.nn import functional as F

import lamina
from lamina.data.arrays import from_arrays
from lamina.training.loop import Progress

SMOOTH = 0.3


def first_step(net, data, recipe):
    """Give the network before training and the rows of one epoch of a single update with all examples."""
    before, at = {name: t.clone() for name, t in net.state_dict().items()}, Progress()
    for _ in lamina.train(net, data, recipe, at=at):
        pass
    return before, at.rows[0]


@pytest.mark.parametrize("kind", ["classes", "one logit", "labels"])
def test_the_loss_of_a_run_is_smoothed_and_that_of_its_checks_is_not(kind):
    g = torch.Generator().manual_seed(0)
    inputs = torch.randn(60, 3, generator=g)
    targets = torch.stack([inputs[:, 0] > 0, inputs[:, 1] > 1], 1) if kind == "labels" else (inputs[:, 0] > 0).long()
    split = from_arrays(inputs, targets).split()
    outputs = 1 if kind == "one logit" else 2
    net = lamina.build("fnn", inputs=3, outputs=outputs, hidden=4)
    recipe = lamina.Recipe(lamina.GD(1e-6), epochs=1, label_smoothing=SMOOTH, precision="float64")
    before, row = first_step(net, split, recipe)
    fresh = lamina.build("fnn", inputs=3, outputs=outputs, hidden=4).double()
    fresh.load_state_dict(before)
    task = lamina.task_of(split)
    source = task.source(split.train, recipe, "cpu")
    prepared, wanted = source.batch(torch.arange(len(split.train)))
    logits = fresh(prepared.double()).detach()
    if kind == "classes":
        expected = F.cross_entropy(logits, wanted, label_smoothing=SMOOTH)
    else:
        soft = wanted.double() * (1 - SMOOTH) + SMOOTH / 2
        expected = F.binary_cross_entropy_with_logits(logits.reshape(soft.shape), soft)
    assert row["loss"] == pytest.approx(expected.item(), rel=1e-9)
    examples, wanted = task.source(split.validation, recipe, "cpu").batch(torch.arange(len(split.validation)))
    logits = net(examples.double()).detach()
    plain = (
        F.cross_entropy(logits, wanted)
        if kind == "classes"
        else F.binary_cross_entropy_with_logits(logits.reshape(wanted.shape), wanted.double())
    )
    assert row["validation_loss"] == pytest.approx(plain.item(), rel=1e-6)


def test_a_run_is_evaluated_by_the_true_targets_now_and_later(tmp_path):
    data = lamina.load("moons", count=120)
    recipe = lamina.Recipe(lamina.Adam(0.05), epochs=3, label_smoothing=SMOOTH)
    run = lamina.fit(lamina.build("fnn", inputs=2, outputs=2), data, recipe, folder=tmp_path / "run")
    test = run.split.open_test()
    inputs, labels = test.take(torch.arange(len(test)))
    expected = F.cross_entropy(run.outputs(inputs), labels).item()
    assert run.evaluate().metrics["loss"] == pytest.approx(expected, rel=1e-5)
    again = lamina.Run.load(tmp_path / "run")
    assert again.objective.smoothing == run.objective.smoothing == 0.0
    assert again.evaluate(again=True).metrics["loss"] == pytest.approx(expected, rel=1e-5)


def test_numbers_have_nothing_to_smooth(tmp_path):
    data = from_arrays(torch.randn(30, 2), torch.randn(30))
    with pytest.raises(
        lamina.LaminaError, match="`label_smoothing` is for classes and labels, but the targets are numb"
    ):
        net = lamina.build("fnn", inputs=2, outputs=1)
        lamina.fit(net, data, lamina.Recipe(label_smoothing=0.1), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()
