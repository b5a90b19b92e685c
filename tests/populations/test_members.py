"""What may differ between members, and what is refused."""

from dataclasses import replace

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.data import synthetic
from lamina.populations.members import Member, _noisy_labels, training_data
from lamina.populations.population import train_population
from populations.separate import assert_equal_runs
from populations.small import CONFIG, recipe


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
