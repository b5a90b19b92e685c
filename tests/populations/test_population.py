import gc
import math
from dataclasses import replace

import pytest
import torch

import lamina
from lamina._errors import ArgumentError
from lamina.architectures.build import configure
from lamina.data import synthetic
from lamina.data.arrays import from_arrays
from lamina.data.augment import Augment
from lamina.kernels import native
from lamina.kernels.native import compiler
from lamina.populations.members import Member
from lamina.populations.population import Population, train_population, train_together
from lamina.training.loop import drain
from lamina.training.recipe import GD, Adam, MiniBatch
from lamina.training.runtime import Runtime
from populations.separate import assert_equal_runs, separately
from populations.small import CONFIG, OPTIONS, members, recipe
from safety import changes, state
from training import lasso


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_gives_the_history_of_separate_runs(name, moons):
    population = members(*OPTIONS[name])
    assert_equal_runs(train_population(population, moons), population, moons)


@pytest.mark.parametrize("kind", ("labels", "weighted labels", "weighted classes", "weighted numbers"))
@pytest.mark.parametrize("shared", (True, False))
def test_labels_and_weights_give_the_history_of_separate_runs(kind, shared):
    g = torch.Generator().manual_seed(0)
    inputs = torch.randn(60, 2, generator=g)
    targets = torch.cat([inputs, inputs.sum(1, True)], 1) if "classes" not in kind else (inputs[:, 0] > 0).long()
    targets = targets > 0 if "labels" in kind else targets
    weights = torch.rand(60, generator=g) if "weighted" in kind else None
    data = from_arrays(inputs, targets, weights=weights).split()
    config = configure("fnn", inputs=2, outputs=data.train.spec.outputs, hidden=(8,))
    how = {} if "numbers" in kind else {"class_weights": "balanced", "label_smoothing": 0.2}
    recipes = [recipe(Adam(lr), seed=0 if shared else k, **how) for k, lr in enumerate((1e-3, 1e-2))]
    population = members(*recipes, config=config)
    results = train_population(population, data, shared_order=shared)
    assert_equal_runs(results, population, data, shared=shared)
    assert not any("one by one" in note for result in results for note in result.notes)


@pytest.mark.parametrize("activation", ("gelu", "gelu_tanh"))
def test_networks_with_gelu_give_the_history_of_separate_runs(activation, moons):
    config = configure("fnn", inputs=2, outputs=2, hidden=(8, 5), activation=activation)
    population = members(*[recipe(Adam(lr)) for lr in (1e-3, 1e-2)], config=config)
    results = train_population(population, moons)
    assert_equal_runs(results, population, moons)
    assert all(result.kind == "stacked" and not result.notes for result in results)


def test_label_noise_is_for_examples_without_weights():
    data = from_arrays(torch.rand(30, 2), torch.arange(30) % 2, weights=torch.ones(30)).split()
    with pytest.raises(
        ArgumentError, match="`label_noise` exchanges classes, got 0.2 for examples with weights: leave"
    ):
        train_population(members(recipe(), label_noise=0.2), data)


@pytest.mark.parametrize("name", ("adam", "proximal", "clip by the global norm", "class weights", "norms"))
def test_without_a_compiler_too(name, moons, monkeypatch):
    monkeypatch.setattr(native, "works", lambda: False)
    population = [replace(m, label_noise=0.1 * k) for k, m in enumerate(members(*OPTIONS[name]))]
    assert_equal_runs(train_population(population, moons), population, moons)


@pytest.mark.notes("N1.63")
@pytest.mark.parametrize("form", ("reference", pytest.param("native", marks=pytest.mark.skipif(
    compiler() is None, reason="needs g++"))))  # fmt: skip
@pytest.mark.parametrize("optimizers", (
    [GD(0.3), GD(0.5)], [MiniBatch(0.3), MiniBatch(0.05, 0.9), MiniBatch(0.1, 0.7)],
    [MiniBatch(0.05, 0.9, True), MiniBatch(0.2, 0.5, True)],
))  # fmt: skip
def test_every_member_ends_at_the_minimizer_of_the_norm_1_penalty(optimizers, form, monkeypatch):
    monkeypatch.setattr(native, "works", lambda: form == "native")
    recipes = [replace(lasso.recipe("gd", check_every=lasso.STEPS), optimizer=each) for each in optimizers]
    results = train_population(members(*recipes, config=lasso.CONFIG), lasso.split())
    lasso.assert_at_minimizer([each.weights["affine.weight"][0] for each in results])


@pytest.mark.parametrize("shared", (True, False))
@pytest.mark.parametrize("more", ({}, {"rotation": 20.0, "contrast": 0.4}, {"mixup": 0.4, "cutmix": 1.0}), ids=str)
def test_augmentation_follows_the_seed(shared, more, pictures):
    config = configure("lenet5", inputs=(1, 12, 12), outputs=3, dropout=0.2)
    changes = Augment(flip=True, crop=1, cutout=2, **more)
    population = [Member(recipe(Adam(0.01), augment=changes, seed=k), config, seed=k) for k in range(3)]
    results = train_population(population, pictures, shared_order=shared)
    assert_equal_runs(results, population, pictures, shared=shared)


def test_events_come_after_every_so_many_updates_and_every_check(moons):
    population, seen = members(recipe(epochs=2), recipe(epochs=2)), []
    results = drain(train_together(population, moons, every=2), seen.append)
    assert [(event.epoch, event.step) for event in seen if event.row is None] == [
        (0, 2),
        (0, 4),
        (1, 6),
        (1, 8),
        (1, 10),
    ]
    assert [event.row for event in seen if event.row] == [
        {"epoch": epoch, "step": 5 * epoch, "members": [result.rows[epoch - 1] for result in results]}
        for epoch in (1, 2)
    ]


def test_nothing_is_held_between_events_and_a_dropped_population_leaves_everything(moons):
    before = state()
    run = train_together(members(recipe(), recipe()), moons, every=2, runtime=Runtime(threads=2, deterministic=True))
    for _ in range(4):
        next(run)
        assert changes(before, state()) == []
    del run
    gc.collect()
    assert changes(before, state()) == []


def test_float32_is_near(moons):
    population = members(*[recipe(Adam(lr), precision="float32") for lr in (1e-3, 1e-2)])
    assert_equal_runs(train_population(population, moons), population, moons, tolerance=1e-4)


def test_half_precision_is_near(moons):
    population = members(*[recipe(Adam(lr), precision="bfloat16") for lr in (1e-3, 1e-2)])
    for result, member in zip(train_population(population, moons), population, strict=True):
        for ours, theirs in zip(result.rows, separately(member, moons)[0].rows, strict=True):
            assert math.isclose(ours["loss"], theirs["loss"], abs_tol=0.02)


def test_regression_and_one_output(moons):
    curve = synthetic.curve(60, seed=0).split(seed=0)
    config = configure("fnn", inputs=1, outputs=1, hidden=(6,), activation="tanh")
    population = members(*[recipe(Adam(lr)) for lr in (1e-3, 1e-1)], config=config)
    assert_equal_runs(train_population(population, curve), population, curve)
    config = configure("fnn", inputs=2, outputs=1, hidden=(6,))
    for weights in (None, "balanced"):
        population = members(*[recipe(Adam(lr), class_weights=weights) for lr in (1e-3, 1e-1)], config=config)
        assert_equal_runs(train_population(population, moons), population, moons)


def test_losses_by_name_are_those_of_separate_runs(moons):
    curve = synthetic.curve(60, seed=0).split(seed=0)
    config = configure("fnn", inputs=1, outputs=1, hidden=(6,), activation="tanh")
    for loss in ("mae", "huber", "quantile"):
        population = members(*[recipe(Adam(lr), loss=loss, huber_delta=0.3) for lr in (1e-3, 1e-1)], config=config)
        assert_equal_runs(train_population(population, curve), population, curve)
    population = members(*[recipe(Adam(lr), loss="focal") for lr in (1e-3, 1e-1)])
    results = train_population(population, moons)
    assert_equal_runs(results, population, moons)
    assert all(result.together == 2 for result in results)


def test_a_loss_or_a_metric_of_ones_own_runs_one_by_one(moons):
    def mean(outputs, labels):
        return torch.nn.functional.cross_entropy(outputs, labels, reduction="none")

    def worst(outputs, labels):
        return mean(outputs, labels).max()

    population = members(*[recipe(Adam(lr), loss=mean, metrics={"worst": worst}) for lr in (1e-3, 1e-1)])
    results = train_population(population, moons)
    assert_equal_runs(results, population, moons)
    assert all("no stack computes a loss or a metric of your own" in result.notes[0] for result in results)
    plain = train_population(members(*[recipe(Adam(lr)) for lr in (1e-3, 1e-1)]), moons)
    for ours, theirs in zip(results, plain, strict=True):
        assert ours.rows[-1]["validation_loss"] == pytest.approx(theirs.rows[-1]["validation_loss"], rel=1e-6)
        assert ours.rows[-1]["validation_worst"] > ours.rows[-1]["validation_loss"]


def test_what_has_no_stacked_update_runs_one_by_one(moons):
    population = members(recipe(GD(0.1, line_search=True)), recipe(GD(1.0, line_search=True)))
    results = train_population(population, moons)
    assert_equal_runs(results, population, moons)
    assert all("one by one" in result.notes[0] for result in results)


@pytest.mark.parametrize("optimizer", [Adam(0.02), GD(0.1, line_search=True)], ids=["stacked", "one by one"])
def test_members_may_have_data_of_their_own(optimizer, moons):
    """Folds of different sizes, each with a preparation of its own, in one population."""
    other = synthetic.moons(90, noise=0.3, seed=5).split(seed=1)
    own = recipe(optimizer, epochs=2)
    population = [replace(each, seed=seed) for seed, each in enumerate(members(own, own, own, own))]
    results = train_population(population, [moons, other, moons, other])
    for part in (moons, other):
        places = [k for k in range(4) if (part is other) == bool(k % 2)]
        assert_equal_runs([results[k] for k in places], [population[k] for k in places], part)
    with pytest.raises(ArgumentError, match="`split` must be one, or one for each of the 4 members, got 3"):
        train_population(population, [moons, other, moons])


def test_a_population_gives_its_members_back():
    nets = [lamina.build("fnn", inputs=3, outputs=2, hidden=(4,), batch_norm=True, seed=k) for k in range(3)]
    population = Population(nets)
    assert list(population.stack()) == list(nets[0].state_dict())
    for name, tensor in population.member(2).state_dict().items():
        assert torch.equal(tensor, nets[2].state_dict()[name])
    own = torch.randn(5, 3, 3, generator=torch.Generator().manual_seed(0))
    outputs = population(own, own=True)
    for k, net in enumerate(nets):
        torch.testing.assert_close(outputs[:, k], net(own[:, k]))
    with pytest.raises(ArgumentError, match=r"`number` must be in \[0, 2\], got 3"):
        population.member(3)
    assert len(population) == 3 and population.notes() == ()


def test_different_shapes_are_refused_with_what_differs(moons):
    wide = replace(CONFIG, hidden=(9,))
    with pytest.raises(ArgumentError, match=r"hidden is \(8,\) in member 0 and \(9,\) in member 1: group them"):
        train_population([Member(recipe(), CONFIG), Member(recipe(), wide)], moons)
    with pytest.raises(ArgumentError, match="batch_size is 16 in member 0 and 32 in member 1"):
        train_population(members(recipe(), recipe(batch_size=32)), moons)
    with pytest.raises(ArgumentError, match="optimizer is .*Adam.* in member 0 and .*MiniBatch"):
        train_population(members(recipe(), recipe(MiniBatch())), moons)
    with pytest.raises(ArgumentError, match="at least one member, got none"):
        train_population([], moons)
    with pytest.raises(ArgumentError, match="`chunk` must be at least 1, got 0"):
        train_population(members(recipe()), moons, chunk=0)
    with pytest.raises(ArgumentError, match="`every` must be at least 1, got 0"):
        next(train_together(members(recipe()), moons, every=0))
    other = lamina.build("perceptron", inputs=3)
    with pytest.raises(ArgumentError, match="`models` must have one form, but .* in model 0 and .* in model 1"):
        Population([other, lamina.build("fnn", inputs=3, outputs=1)])
    with pytest.raises(ArgumentError, match="at least one network, got none"):
        Population([])
    bend = [lamina.build("fnn", inputs=3, outputs=1, activation=name) for name in ("tanh", "relu")]
    with pytest.raises(ArgumentError, match=r"is Detector\(activation=tanh\) in model 0 and Detector\(activation=relu"):
        Population(bend)
    nets = [lamina.build("cifar-resnet", outputs=3, depth=8, mirror=mirror) for mirror in (True, False)]
    with pytest.raises(ArgumentError, match=r"\(mirror=True\) in model 0 and .*\(mirror=False\) in model 1"):
        Population(nets)
