"""Populations on CUDA: recorded updates give the histories of separate runs on the CPU."""

from dataclasses import replace

import pytest
import torch

from lamina.architectures.build import configure
from lamina.data.arrays import from_arrays
from lamina.data.augment import Augment
from lamina.populations.members import Member
from lamina.populations.population import train_population, train_together
from lamina.training.loop import drain
from lamina.training.recipe import Adam, MiniBatch, Stopping
from lamina.training.runtime import Runtime
from populations.separate import assert_same_history, separately
from populations.small import CONFIG, OPTIONS, members, recipe

pytestmark = pytest.mark.cuda
CUDA = Runtime("cuda")


def assert_near(results, population, split, tolerance=1e-8, shared=True):
    for result, member in zip(results, population, strict=True):
        at, bad = separately(member, split, population[0].recipe.seed if shared else None)
        assert result.first_bad_step == bad
        assert_same_history(result.rows, at.rows, tolerance)
        assert result.best_row == at.best_row and list(result.weights) == list(at.best)
        assert result.notes == ()


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_gives_the_history_of_separate_runs(name, moons):
    population = members(*OPTIONS[name])
    assert_near(train_population(population, moons, runtime=CUDA), population, moons)


@pytest.mark.parametrize("step", ("eager", "captured"))
@pytest.mark.parametrize("shared", (True, False))
def test_dropout_noise_and_own_order(shared, step, moons):
    choices = ((0.0, 0.0), (0.3, 0.2), (0.6, 0.0))
    population = [
        Member(recipe(seed=3 + 7 * k), replace(CONFIG, hidden=(8, 6), dropout=d), seed=k, label_noise=noise)
        for k, (d, noise) in enumerate(choices)
    ]
    results = train_population(population, moons, runtime=Runtime("cuda", step=step), shared_order=shared)
    assert_near(results, population, moons, shared=shared)


def test_augmented_pictures_and_a_shorter_last_batch():
    g = torch.Generator().manual_seed(3)
    images = torch.randint(256, (50, 1, 12, 12), generator=g, dtype=torch.uint8)
    split = from_arrays(images, torch.arange(50) % 3).split(seed=0)
    config = configure("lenet5", inputs=(1, 12, 12), outputs=3, dropout=0.2)
    population = [Member(recipe(Adam(0.01), augment=Augment(True, 1, cutout=2)), config, seed=k) for k in range(3)]
    assert_near(train_population(population, split, runtime=CUDA), population, split)


def test_members_stop_diverge_and_are_dropped(moons):
    population = members(*[
        recipe(MiniBatch(lr), epochs=8, stopping=Stopping(patience=p)) for lr, p in
        ((0.1, None), (1e30, None), (0.9, 1), (0.2, None), (0.3, None))
    ])  # fmt: skip
    results = drain(train_together(population, moons, runtime=CUDA), lambda event: [4] if event.epoch == 3 else None)
    assert [result.state for result in results] == ["finished", "diverged", "finished", "finished", "finished"]
    assert results[1].first_bad_step == separately(population[1], moons)[1]
    for result, member in zip(results, population, strict=True):
        assert_same_history(result.rows, separately(member, moons)[0].rows[: len(result.rows)], 1e-8)
    assert len(results[4].rows) == 3 and results[4].reason == "dropped"


def test_chunks_take_turns(moons):
    population = members(*[recipe(Adam(lr)) for lr in (1e-3, 1e-2, 0.1, 0.3, 1.0)])
    for chunk in (1, 2):
        assert_near(train_population(population, moons, runtime=CUDA, chunk=chunk), population, moons)
