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
from lamina.populations.members import Member, _noisy_labels, training_data
from lamina.populations.population import Population, train_population, train_together
from lamina.training.loop import drain
from lamina.training.recipe import GD, SGD, Adam, Clip, MiniBatch, Penalty, Recipe, Schedule, Stopping
from lamina.training.runtime import Runtime
from populations.separate import assert_equal_runs, assert_same_history, separately
from safety import changes, state
from training import lasso

CONFIG = configure("fnn", inputs=2, outputs=2, hidden=(8,))


@pytest.fixture(scope="module")
def moons():
    return synthetic.moons(120, seed=0).split(seed=0)


@pytest.fixture(scope="module")
def pictures():
    g = torch.Generator().manual_seed(3)
    images = torch.randint(256, (48, 1, 12, 12), generator=g, dtype=torch.uint8)
    return from_arrays(images, torch.arange(48) % 3).split(seed=0)


def recipe(optimizer=None, **options):
    return Recipe(optimizer or Adam(), **{"epochs": 4, "batch_size": 16, "precision": "float64"} | options)


def members(*recipes, config=CONFIG, **options):
    return [Member(each, config, seed=number, **options) for number, each in enumerate(recipes)]


OPTIONS = {
    "adam": [recipe(Adam(lr, b1, b2, eps)) for lr, b1, b2, eps in
             ((1e-3, 0.9, 0.999, 1e-8), (0.1, 0.5, 0.9, 1e-4), (1e-2, 0.0, 0.99, 1e-8))],
    "gd": [recipe(GD(lr), epochs=20) for lr in (0.01, 0.1, 1.0)],
    "sgd": [recipe(SGD(lr), epochs=1) for lr in (0.001, 0.01, 0.1)],
    "mini batches": [recipe(MiniBatch(lr)) for lr in (0.01, 0.1, 0.5)],
    "momentum": [recipe(MiniBatch(lr, mu)) for lr, mu in ((0.01, 0.9), (0.1, 0.0), (0.05, 0.5))],
    "nesterov": [recipe(MiniBatch(lr, mu, True)) for lr, mu in ((0.01, 0.9), (0.1, 0.3))],
    "penalty": [recipe(penalty=Penalty(s)) for s in (0.0, 1e-3, 1.0)],
    "penalty of norm 1": [recipe(penalty=Penalty(s, 1)) for s in (0.0, 1e-3, 1.0)],
    "proximal": [recipe(MiniBatch(0.1), penalty=Penalty(s, 1)) for s in (0.0, 1e-3, 0.1)],
    "proximal with momentum": [recipe(MiniBatch(0.1, 0.9), penalty=Penalty(s, 1)) for s in (0.0, 1e-2)],
    "proximal with nesterov": [recipe(MiniBatch(0.1, mu, True), penalty=Penalty(1e-2, 1)) for mu in (0.5, 0.9)],
    "clip by the global norm": [recipe(clip=Clip(c), penalty=Penalty(0.1)) for c in (None, 0.01, 10.0)],
    "clip by tensor": [recipe(MiniBatch(0.5), clip=Clip(c, "tensor")) for c in (0.01, 0.1, None)],
    "clip by value": [recipe(MiniBatch(0.5), clip=Clip(c, "value")) for c in (0.01, None, 0.1)],
    "schedules": [recipe(schedule=Schedule("cosine", w, f)) for w, f in ((0.0, 0.0), (0.5, 0.1))],
    "one schedule": [recipe(Adam(lr), schedule=Schedule("one-cycle")) for lr in (1e-3, 1e-2)],
    "drops": [recipe(schedule=Schedule("step", every=e, factor=f)) for e, f in ((1, 0.5), (2, 0.1))],
    "without replacement": [recipe(Adam(lr), sampling="without-replacement") for lr in (1e-3, 1e-2)],
    "with replacement": [recipe(Adam(lr), sampling="with-replacement") for lr in (1e-3, 1e-2)],
    "class weights": [recipe(Adam(lr), class_weights="balanced") for lr in (1e-3, 1e-2)],
    "every second epoch": [recipe(Adam(lr), check_every=2, epochs=5) for lr in (1e-3, 1e-2)],
    "at most 9 steps": [recipe(Adam(lr), stopping=Stopping(max_steps=9)) for lr in (1e-3, 1e-2)],
    "norms": [recipe(Adam(lr), stopping=Stopping(gradient_norm=g, relative_step=r)) for lr, g, r in
              ((1e-3, 1e-9, None), (1e-2, None, 1e-9), (1e-2, None, None))],
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_gives_the_history_of_separate_runs(name, moons):
    population = members(*OPTIONS[name])
    assert_equal_runs(train_population(population, moons), population, moons)


@pytest.mark.parametrize("name", ("adam", "proximal", "clip by the global norm", "class weights", "norms"))
def test_without_a_compiler_too(name, moons, monkeypatch):
    monkeypatch.setattr(native, "works", lambda: False)
    population = [replace(m, label_noise=0.1 * k) for k, m in enumerate(members(*OPTIONS[name]))]
    assert_equal_runs(train_population(population, moons), population, moons)


@pytest.mark.notes("N1.63")
@pytest.mark.parametrize("form", ("reference", pytest.param("native", marks=pytest.mark.skipif(
    compiler() is None, reason="needs a C++ compiler"))))  # fmt: skip
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
def test_dropout_rates_initialization_and_scale_may_differ(shared, moons):
    choices = ((0.0, None, 1.0), (0.3, "xavier", 2.0), (0.6, "glorot", 0.5), (0.3, "gaussian", 0.1))
    population = [
        Member(recipe(seed=3 + 7 * k), replace(CONFIG, hidden=(8, 6), dropout=d, initialization=i, scale=s), seed=k)
        for k, (d, i, s) in enumerate(choices)
    ]
    results = train_population(population, moons, shared_order=shared)
    assert_equal_runs(results, population, moons, shared=shared)


@pytest.mark.parametrize("shared", (True, False))
def test_label_noise_is_part_of_the_training_data_of_a_member(shared, moons):
    population = [
        Member(recipe(seed=k, class_weights="balanced"), CONFIG, seed=k, label_noise=noise)
        for k, noise in enumerate((0.0, 0.2, 0.5))
    ]
    results = train_population(population, moons, shared_order=shared)
    assert_equal_runs(results, population, moons, shared=shared)
    labels = training_data(population[2], moons.train).targets
    assert 0.3 < (labels != training_data(population[0], moons.train).targets).float().mean() < 0.7


@pytest.mark.parametrize("shared", (True, False))
def test_augmentation_follows_the_seed(shared, pictures):
    config = configure("lenet5", inputs=(1, 12, 12), outputs=3, dropout=0.2)
    changes = Augment(flip=True, crop=1, cutout=2)
    population = [Member(recipe(Adam(0.01), augment=changes, seed=k), config, seed=k) for k in range(3)]
    results = train_population(population, pictures, shared_order=shared)
    assert_equal_runs(results, population, pictures, shared=shared)


def test_members_stop_by_their_own_rules(moons):
    waits = (None, 1, 2, None, 3)
    population = members(*[
        recipe(Adam(0.3), epochs=14, stopping=Stopping(patience=p, loss_below=0.2 if k == 3 else None))
        for k, p in enumerate(waits)
    ])  # fmt: skip
    results = train_population(population, moons)
    assert_equal_runs(results, population, moons)
    assert [len(result.rows) for result in results] != [14] * 5
    assert results[0].reason == "epochs"
    assert "patience" in {result.reason for result in results}


def test_a_member_that_diverges_is_frozen_and_the_others_do_not_notice(moons):
    wild = [recipe(MiniBatch(lr), epochs=6) for lr in (0.1, 1e30, 0.2)]
    population, calm = members(*wild), members(wild[0], recipe(MiniBatch(0.1), epochs=6), wild[2])
    together, without = train_population(population, moons), train_population(calm, moons)
    assert [result.state for result in together] == ["finished", "diverged", "finished"]
    assert_equal_runs([together[0], together[2]], [population[0], population[2]], moons)
    assert together[1].first_bad_step == separately(population[1], moons)[1]
    for k in (0, 2):  # in stacks of two and of three members, whose products a CPU may round differently
        assert_same_history(together[k].rows, without[k].rows, 1e-10)
        for name, tensor in without[k].weights.items():
            torch.testing.assert_close(together[k].weights[name], tensor, rtol=1e-8, atol=1e-8)


def test_chunks_and_own_networks_give_the_same(moons):
    population = members(*[recipe(Adam(lr)) for lr in (1e-3, 1e-2, 0.1, 0.3, 1.0)])
    whole = train_population(population, moons)
    for chunk in (1, 2, 3):
        for ours, theirs in zip(train_population(population, moons, chunk=chunk), whole, strict=True):
            assert_same_history(ours.rows, theirs.rows, 1e-10)


def test_dropped_members_end_and_the_rest_goes_on(moons):
    population = members(*[recipe(Adam(10.0**-k), epochs=6) for k in range(5)])
    seen = []

    def halve(event):
        seen.append([row is not None for row in event.row["members"]])
        return {2: [0, 4], 4: [1]}.get(event.epoch)

    results = drain(train_together(population, moons), halve)
    assert [len(result.rows) for result in results] == [2, 4, 6, 6, 2]
    assert [result.reason for result in results] == ["dropped", "dropped", "epochs", "epochs", "dropped"]
    assert seen[2] == [False, True, True, True, False]
    for result, member in zip(results, population, strict=True):
        at, _ = separately(member, moons)
        assert_same_history(result.rows, at.rows[: len(result.rows)], 1e-10)


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


def test_what_has_no_stacked_update_runs_one_by_one(moons):
    population = members(recipe(GD(0.1, line_search=True)), recipe(GD(1.0, line_search=True)))
    results = train_population(population, moons)
    assert_equal_runs(results, population, moons)
    assert all("one by one" in result.notes[0] for result in results)


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


def test_members_are_checked():
    with pytest.raises(ArgumentError, match=r"`label_noise` must be in \[0, 1\], got 1.5"):
        Member(recipe(), CONFIG, label_noise=1.5)
    with pytest.raises(ArgumentError, match="`config` must be the configuration of an architecture.*got Recipe"):
        Member(recipe(), recipe()).build()
    curve = synthetic.curve(30, seed=0)
    with pytest.raises(ArgumentError, match="`label_noise` exchanges classes, got 0.1 for a regression task"):
        training_data(Member(recipe(), CONFIG, label_noise=0.1), curve)


def test_noise_exchanges_labels_for_other_classes():
    labels = torch.arange(3000) % 3
    noisy = _noisy_labels(labels, 3, 0.4, seed=1)
    changed = noisy != labels
    assert abs(changed.float().mean() - 0.4) < 0.03
    shifts = ((noisy - labels) % 3)[changed]
    assert abs((shifts == 1).float().mean() - 0.5) < 0.05
    assert torch.equal(noisy, _noisy_labels(labels, 3, 0.4, seed=1))
    assert not torch.equal(noisy, _noisy_labels(labels, 3, 0.4, seed=2))
    assert _noisy_labels(labels, 3, 0.0, seed=1) is labels
