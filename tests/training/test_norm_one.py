"""Training with a penalty of norm 1 ends at the minimizer of the loss plus penalty, however it is descended."""

import pytest

from lamina.training.recipe import GD, Adam, MiniBatch, Schedule
from lamina.training.runtime import Runtime
from training import lasso


@pytest.mark.notes("N1.63")
@pytest.mark.parametrize("name", lasso.OPTIMIZERS)
def test_every_way_down_ends_at_the_minimizer(name):
    lasso.assert_at_minimizer([lasso.trained(lasso.step_of(lasso.recipe(name)))])


@pytest.mark.notes("N1.63")
@pytest.mark.parametrize(
    "optimizer", [MiniBatch(0.02, 0.5), MiniBatch(0.3, 0.9), MiniBatch(0.01, 0.98), GD(1e-3, True)]
)
def test_neither_rate_nor_momentum_moves_the_minimizer(optimizer, monkeypatch):
    monkeypatch.setitem(lasso.OPTIMIZERS, "other", optimizer)
    step = lasso.step_of(lasso.recipe("other", epochs=2000))
    lasso.assert_at_minimizer([lasso.trained(step, 2000)])


def test_a_warm_up_ends_there_too():
    recipe = lasso.recipe("momentum", schedule=Schedule("warmup", warmup=0.3))
    lasso.assert_at_minimizer([lasso.trained(lasso.step_of(recipe))])


@pytest.mark.cuda
@pytest.mark.parametrize("name", [name for name in lasso.OPTIMIZERS if name != "line search"])
def test_the_captured_update_ends_at_the_minimizer(name):
    recipe = lasso.recipe(name, precision="float32")  # torch's SGD on the device takes its rate in single precision
    with Runtime("cuda", step="captured").applied(recipe.precision) as runtime:
        step = lasso.step_of(recipe, runtime)
        assert step.kind == "captured", step.reason
        lasso.assert_at_minimizer([lasso.trained(step)], tolerance=1e-6)


@pytest.mark.notes("N1.63")
def test_adam_gets_the_subgradient_and_stays_near_the_minimizer(monkeypatch):
    monkeypatch.setitem(lasso.OPTIMIZERS, "adam", Adam(0.02))
    expected = lasso.minimizer()
    weight = lasso.trained(lasso.step_of(lasso.recipe("adam")))
    falling = lasso.trained(lasso.step_of(lasso.recipe("adam", schedule=Schedule("cosine"))))
    assert (weight - expected).abs().max() < 2 * 0.02 and not (weight == 0).any()
    assert (falling - expected).abs().max() < 1e-3
