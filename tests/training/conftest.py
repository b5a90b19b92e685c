"""Small runs for the tests of training."""

import pytest

import lamina
from lamina.data import synthetic
from lamina.data.preprocess import Preprocess
from lamina.training.executors.choose import learner
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Recipe
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
        return learner(model, Arrays(Preprocess.fit(moons.train, 2), moons), recipe, Runtime("cpu"))

    return make


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    net = lamina.build("fnn", inputs=64, outputs=10, hidden=(32,))
    folder = tmp_path_factory.mktemp("runs") / "digits"
    return fit(net, lamina.load("digits"), Recipe(Adam(0.01), epochs=8), folder=folder)


@pytest.fixture(scope="session")
def curve(tmp_path_factory):
    data = lamina.load("linear")
    net = lamina.build("fnn", inputs=data.spec.inputs, outputs=1, hidden=(16,), activation="tanh")
    folder = tmp_path_factory.mktemp("runs") / "curve"
    return fit(net, data, Recipe(Adam(0.02), epochs=60, batch_size=16), folder=folder)
