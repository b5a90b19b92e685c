"""Small runs for the tests of training."""

import pytest

import lamina
from lamina.data import synthetic
from lamina.data.preprocess import Preprocess
from lamina.training.executors.choose import learner
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays


@pytest.fixture
def moons():
    return synthetic.moons(120, seed=0).split(seed=0)


@pytest.fixture
def net():
    return lambda seed=0, **options: lamina.build("fnn", inputs=2, outputs=2, hidden=(8,), seed=seed, **options)


@pytest.fixture
def step_of(moons, net):
    def make(recipe: Recipe, **options):
        model = net(**options)
        return learner(model, Arrays(Preprocess.fit(moons.train, 2), moons), recipe, Runtime())

    return make
