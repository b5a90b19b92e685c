"""Training on mixed, turned and recolored examples: losses by hand for every objective, runs, resume, refusals."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

import lamina
from lamina._errors import ArgumentError, DataError
from lamina.data.arrays import from_arrays
from lamina.data.augment import Augment
from lamina.data.mixing import joined
from lamina.populations._losses import Losses
from lamina.studies.search import search
from lamina.training.executors.choose import learner
from lamina.training.fit import fit, resume
from lamina.training.loop import Event
from lamina.training.objective import Objective
from lamina.training.recipe import SGD, Adam, MiniBatch, Recipe, as_dict, from_dict, option_types, with_options
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import task_of
from training.tasks.steps import made, pairs, run_epochs

SHARE = torch.tensor(0.3)


def cubes(outputs, targets):
    """A loss that gives one number for a batch, and is not linear in the targets."""
    return (outputs - targets).abs().pow(3).mean()


def numbers(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


LABELS = torch.tensor([2, 0, 1, 1])
OBJECTIVES = {
    "classes": (Objective("nll"), 3, LABELS),
    "smoothed": (Objective("nll", smoothing=0.2), 3, LABELS),
    "balanced": (Objective("nll", weights=torch.tensor([0.5, 2.0, 1.0])), 3, LABELS),
    "focal": (Objective("nll", gamma=2.0), 3, LABELS),
    "two classes": (Objective("bce"), 1, LABELS % 2),
    "labels": (Objective("bce"), 3, (numbers(1, 4, 3) > 0).float()),
    "numbers": (Objective("mse"), 2, numbers(2, 4, 2)),
    "own": (Objective("mse", error=cubes), 2, numbers(3, 4, 2)),
    "own for classes": (Objective("nll", error=F.cross_entropy), 3, LABELS),
    "weighted": (Objective("nll", weighted=True), 3, torch.stack([LABELS.float(), torch.tensor([1.0, 2, 0, 1])], 1)),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_loss_is_the_mixture_of_the_losses_with_either_target(name):
    objective, width, targets = OBJECTIVES[name]
    both = replace(objective, mixed=tuple(targets.shape[1:]))
    outputs, rows = numbers(4, 4, width), joined(targets, SHARE)
    for judge in ("loss", "score"):
        first, second = (getattr(objective, judge)(outputs, each) for each in (targets, targets.roll(1, 0)))
        found = getattr(both, judge)(outputs, rows)
        torch.testing.assert_close(found.double(), 0.3 * first.double() + 0.7 * second.double(), rtol=1e-6, atol=1e-6)
    assert both.count(rows) == 4 and both.plain == replace(objective, smoothing=0.0) and both.single == objective


def test_the_loss_of_two_examples_by_hand():
    """Logits 0 and ln 3: probabilities 1/4 and 3/4 of the classes 0 and 1; labels 0 and 1, a third of the neighbor."""
    outputs = torch.tensor([[1.0, 3.0], [1.0, 3.0]]).log()
    rows = joined(torch.tensor([0, 1]), torch.tensor(2 / 3))
    quarter, rest = -torch.tensor(0.25).log(), -torch.tensor(0.75).log()
    found = Objective("nll", mixed=()).loss(outputs, rows)
    torch.testing.assert_close(found, (quarter + rest) / 2)  # either target is half right: shares do not matter
    found = Objective("nll", mixed=()).loss(outputs[:1], rows[:1])
    torch.testing.assert_close(found, 2 / 3 * quarter + 1 / 3 * rest)
    assert Objective("nll", mixed=()).score(outputs[:1], rows[:1]).item() == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", ["classes", "balanced", "focal", "two classes", "labels", "numbers", "weighted"])
def test_members_of_a_stack_mix_as_one_network_does(name):
    objective, width, targets = OBJECTIVES[name]
    shape, shares = tuple(targets.shape[1:]), torch.tensor([0.3, 0.8])
    weights = None if objective.weights is None else objective.weights[None]
    losses = Losses(objective.kind, weights, objective.weighted, gamma=objective.gamma, mixed=shape)
    outputs = numbers(5, 4, 2, width)
    rows = joined(targets.unsqueeze(1), shares, axes=2)
    for judge in ("loss", "score"):
        found = getattr(losses, judge)(outputs, rows)
        for k in range(2):
            alone = getattr(replace(objective, mixed=shape), judge)(outputs[:, k], joined(targets, shares[k]))
            assert found[k].item() == pytest.approx(alone.item(), rel=1e-6)


def small(seed=0):
    return lamina.build("fnn", inputs=64, outputs=10, hidden=(64,), seed=seed)


@pytest.mark.parametrize(
    "changes", [Augment(mixup=0.2), Augment(cutmix=1.0), Augment(mixup=0.4, cutmix=1.0)], ids=lambda c: "+".join(c.made)
)
def test_digits_are_learned_from_mixtures(changes, tmp_path):
    """The loss falls, validation digits are told apart, and those rows are judged without mixtures."""
    data = lamina.load("digits").split(seed=0)
    run = fit(small(), data, Recipe(Adam(0.005), epochs=8, augment=changes), folder=tmp_path / "run")
    first, last = run.rows[0], run.rows[-1]
    assert last["loss"] < 0.8 * first["loss"]
    assert last["validation_accuracy"] > 0.9 and last["validation_loss"] < 0.5
    assert last["validation_loss"] < last["loss"]  # mixtures cannot be predicted exactly
    assert 0.5 < last["accuracy"] < last["validation_accuracy"]
    assert run.objective.mixed is None and run.evaluate().metrics["accuracy"] > 0.9
    assert lamina.Run.load(run.folder).evaluate() == run.evaluate()


def test_turned_and_recolored_digits_are_learned(tmp_path):
    changes = Augment(rotation=15.0, brightness=0.2, contrast=0.2)
    run = fit(small(), lamina.load("digits"), Recipe(Adam(0.005), epochs=8, augment=changes), folder=tmp_path / "run")
    assert run.rows[-1]["validation_accuracy"] > 0.9


def test_mixtures_in_pieces_are_those_of_the_whole_batch():
    data = task_of(lamina.load("digits").split(seed=0)).for_network(small())
    recipe = Recipe(MiniBatch(0.05), epochs=1, batch_size=300, precision="float64", augment=Augment(mixup=0.3))
    steps = []
    for size in (None, 70):
        steps.append(learner(small(), data, replace(recipe, micro_batch=size), Runtime("cpu", step="eager")))
        run_epochs(steps[-1], 1)
    for mine, theirs in zip(*(step.state().values() for step in steps), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-7, atol=1e-9)  # shares are float32


class Stop(Exception):
    pass


def test_a_killed_run_sees_the_same_mixtures_again(tmp_path, monkeypatch):
    monkeypatch.setattr(lamina.training.fit, "CHECKPOINT_SECONDS", 0.0)
    data = lamina.load("digits")
    changes = Augment(rotation=10.0, contrast=0.3, mixup=0.2, cutmix=0.5)
    recipe = Recipe(Adam(0.01), epochs=2, batch_size=200, augment=changes)
    whole = fit(small(), data, recipe, folder=tmp_path / "whole")

    def kill(event: Event) -> None:
        if event.step == 8:
            raise Stop

    with pytest.raises(Stop):
        fit(small(), data, recipe, folder=tmp_path / "killed", observers=(kill,))
    again = resume(tmp_path / "killed")
    assert again.rows == whole.rows
    longer = resume(tmp_path / "killed", epochs=3, options={"mixup": 0.0, "cutmix": 0.0})
    assert longer.rows[:2] == whole.rows and longer.rows[2]["accuracy"] > whole.rows[1]["accuracy"]


def test_tables_and_vectors_are_mixed_too(tmp_path):
    run = fit(
        lamina.build("fnn", inputs=4, outputs=3, hidden=(16,)),
        lamina.load("iris"),
        Recipe(Adam(0.02), epochs=40, augment=Augment(mixup=0.2)),
        folder=tmp_path / "iris",
    )
    assert run.rows[-1]["validation_accuracy"] > 0.85
    g = torch.Generator().manual_seed(0)
    inputs = torch.randn(200, 3, generator=g)
    data = from_arrays(inputs, inputs @ torch.tensor([1.0, -2.0, 0.5]))
    run = fit(
        lamina.build("fnn", inputs=3, outputs=1, hidden=(16,)),
        data,
        Recipe(Adam(0.02), epochs=40, batch_size=32, augment=Augment(mixup=0.2)),
        folder=tmp_path / "numbers",
    )
    assert run.rows[-1]["validation_mse"] < 0.1  # of a variance of 1


def test_options_by_their_flat_names():
    recipe = with_options(Recipe(), mixup=0.2, rotation=15, cutmix=1, hue=0.1)
    assert recipe.augment == Augment(mixup=0.2, rotation=15, cutmix=1, hue=0.1)
    assert from_dict(as_dict(recipe)) == recipe
    names = ("rotation", "brightness", "contrast", "saturation", "hue", "mixup", "cutmix")
    assert {option_types()[name] for name in names} == {float} and option_types()["micro_batch"] == int | None


def test_a_search_may_choose_them(tmp_path):
    """Members that share their changes of pictures make one stack."""
    space = {"mixup": [0.0, 0.2], "learning_rate": [0.002, 0.005]}
    recipe = Recipe(Adam(), epochs=1, batch_size=200, augment=Augment(rotation=5.0))
    study = search("fnn", lamina.load("digits"), space, recipe=recipe, folder=tmp_path / "study")
    assert len(study.trials) == 4 and {trial.values["mixup"] for trial in study.trials} == {0.0, 0.2}
    assert study.best.values["mixup"] in (0.0, 0.2) and study.test["examples"] > 100


def test_what_makes_no_sense_is_refused():
    with pytest.raises(
        ArgumentError, match="`mixup` mixes the examples of a batch, but batches have 1 example: use a l"
    ):
        learner(
            small(),
            task_of(lamina.load("digits")).for_network(small()),
            Recipe(SGD(), augment=Augment(mixup=0.2)),
            Runtime("cpu"),
        )
    for changes, sentence in (
        (Augment(mixup=0.2), "`mixup` mixes numbers, got data of kind 'pairs': leave it out"),
        (Augment(rotation=3.0), "`rotation` changes pictures, got data of kind 'pairs': leave it out"),
    ):
        with pytest.raises(DataError, match=sentence):
            made(pairs(), "seq2seq", Recipe(augment=changes))
