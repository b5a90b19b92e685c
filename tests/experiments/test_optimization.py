import math

import pytest

from lamina.experiments import optimization
from lamina.experiments.optimization import conditioning, line_search, stationary_points
from lamina.experiments.result import REGISTRY, ClaimError
from lamina.training import change


def test_registered():
    for key, function in {"N1.38": conditioning, "N1.39": line_search, "N1.50": stationary_points}.items():
        assert REGISTRY[key] is function


@pytest.mark.notes("N1.38")
def test_the_condition_number_slows_gradient_descent_only():
    result = conditioning(seeds=3).check()
    gd, scaled, adam, turned = (result.column(name) for name in ("gd", "scaled", "adam", "adam, turned"))
    # theory: (kappa + 1) / 2 times log 100 steps for the slowest component, less what the start lacks in it
    for kappa, steps in zip((10, 100, 1000), gd, strict=True):
        assert 0.3 < steps / ((kappa + 1) / 2 * math.log(100)) < 1.1
    assert scaled == [7, 7, 7]  # 0.5^7 < 1/100 < 0.5^6
    assert max(adam) < 110 and 200 < turned[-1] < 1000
    assert conditioning(seeds=3).rows == result.rows


def test_a_claim_about_conditioning_can_fail(monkeypatch):
    """Without its scaling of components Adam is no better."""
    monkeypatch.setitem(optimization.OPTIMIZERS, "adam", optimization.OPTIMIZERS["gd"])
    monkeypatch.setattr(optimization, "Adam", lambda rate: optimization.GradientDescent(1e-3))
    result = conditioning(seeds=1, conditions=(10.0, 100.0))
    with pytest.raises(ClaimError, match="there Adam needs far fewer steps"):
        result.check()


@pytest.mark.notes("N1.39", "N1.40")
def test_the_line_search_decreases_the_loss_at_every_step():
    result = line_search(seeds=1, steps=40).check()
    rows = {row[:2]: row[2:] for row in result.rows}
    for first in (1e-3, 1.0, 1e3):
        falls, loss, _, largest, passes = rows[first, True]
        assert falls == 1.0 and loss < 0.2 and 1 < largest < 50 and 2 <= passes < 4
    assert rows[1e-3, False][1] > 0.5 and rows[1e3, False][0] < 0.9 and rows[1e3, False][1] > 1
    assert line_search(seeds=1, steps=40).rows == result.rows


@pytest.mark.slow
@pytest.mark.notes("N1.39", "N1.40")
def test_the_line_search_at_full_size():
    line_search(seeds=5, steps=200).check()


def test_a_line_search_that_takes_the_first_step_is_found_out(monkeypatch):
    def first_step(loss, params, grads, value, first, strength, shares):
        for p, g in zip(params, grads, strict=True):
            p.sub_(first / 2 * g)
        return first / 2

    monkeypatch.setattr(change, "armijo", first_step)
    result = line_search(seeds=1, steps=10)
    with pytest.raises(ClaimError, match="with a line search the loss falls at every step"):
        result.check()


@pytest.mark.notes("N1.50")
def test_only_stationary_points_can_be_expected(unchecked):
    result = stationary_points(seeds=6, steps=700).check()
    deep, convex, noisy = result.rows
    assert deep[2] < 0.01 and deep[3] == pytest.approx(math.log(2) / 2, abs=5e-3)  # a local minimum of XOR
    assert convex[3] == pytest.approx(convex[2], abs=1e-5) and convex[5] < 1e-3
    assert noisy[5] > 0.05 and noisy[3] > convex[3]
    assert stationary_points(seeds=2, steps=50).rows == stationary_points(seeds=2, steps=50).rows


@pytest.mark.slow
@pytest.mark.notes("N1.50")
def test_only_stationary_points_can_be_expected_at_full_size():
    deep, *_ = stationary_points(seeds=50, steps=3000).check().rows
    assert deep[5] < 2e-3


def test_too_few_steps_end_nowhere():
    with pytest.raises(ClaimError, match="gradient descent ends at points with a small gradient"):
        stationary_points(seeds=3, steps=5).check()
