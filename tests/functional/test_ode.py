"""Solvers with fixed steps: order of convergence, equality with the residual layer, time-dependent weights."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import ArgumentError
from lamina.functional.activations import tanh
from lamina.functional.ode import euler_step, integrate, interpolate, layer_dynamics, rk4_step, trajectory
from lamina.functional.residual import residual_step

DEPTHS = (8, 16, 32, 64, 128)


def problem(knots=1, seed=0):
    """The four-dimensional tanh problem of the reference check: the same draws in the same order."""
    g = torch.Generator().manual_seed(seed)
    W = torch.randn(knots, 4, 4, generator=g, dtype=torch.float64)
    b = torch.randn(knots, 4, generator=g, dtype=torch.float64)
    return W, b, torch.randn(4, generator=g, dtype=torch.float64)


def error_ratios(method, depths, reference_steps=500):
    W, b, y0 = problem()
    f = layer_dynamics(W, b, tanh)
    exact = integrate(f, y0, reference_steps, method="rk4")
    errors = [(integrate(f, y0, L, method=method) - exact).norm().item() for L in depths]
    return [a / b for a, b in itertools.pairwise(errors)]


@pytest.mark.notes("N4.15")
def test_euler_is_of_first_order():
    assert [round(ratio, 2) for ratio in error_ratios("euler", DEPTHS)] == [1.96, 1.98, 1.99, 2.0]


@pytest.mark.notes("N4.15", "N4.16")
def test_rk4_is_of_fourth_order():
    ratios = error_ratios("rk4", (8, 16, 32, 64))
    assert all(14 < ratio < 18 for ratio in ratios), ratios


@pytest.mark.notes("N4.15", "N4.16")
def test_euler_steps_are_residual_layers_bit_for_bit():
    W, b, y0 = problem()
    y, L = y0, 20
    for _ in range(L):
        y = residual_step(y, W[0], b[0], tanh, step_size=1 / L)
    assert torch.equal(integrate(layer_dynamics(W, b, tanh), y0, L), y)


@pytest.mark.notes("N4.15", "N4.16")
def test_knots_at_the_steps_are_layers_with_their_own_weights():
    L = 16
    W, b, y0 = problem(knots=L + 1)
    y = y0
    for layer in range(L):
        y = residual_step(y, W[layer], b[layer], tanh, step_size=1 / L)
    torch.testing.assert_close(integrate(layer_dynamics(W, b, tanh), y0, L), y, rtol=0, atol=1e-14)


def test_rk4_keeps_its_order_only_when_the_kinks_of_the_weights_are_at_steps():
    W, b, y0 = problem(knots=3)
    f = layer_dynamics(0.4 * W, b, tanh, end=2.0)
    exact = integrate(f, y0, 512, end=2.0, method="rk4")

    def ratios(depths):
        errors = [(integrate(f, y0, L, end=2.0, method="rk4") - exact).norm().item() for L in depths]
        return [a / b for a, b in itertools.pairwise(errors)]

    assert all(14 < ratio < 18 for ratio in ratios((32, 64, 128)))
    assert all(3.5 < ratio < 5 for ratio in ratios((31, 63, 127)))  # a kink inside a step: second order


def test_one_step_by_hand():
    one = torch.tensor(1.0, dtype=torch.float64)
    assert euler_step(lambda t, y: t + y, 2.0, one, 0.5).item() == 2.5
    # y' = y: the Taylor polynomial of exp to fourth order
    assert rk4_step(lambda t, y: y, 0.0, one, 0.5).item() == pytest.approx(
        sum(0.5**k / math.factorial(k) for k in range(5))
    )
    # y' = t^3 is integrated exactly (Simpson)
    assert rk4_step(lambda t, y: one * t**3, 1.0, one, 1.0).item() == pytest.approx(1 + 15 / 4, rel=1e-14)


def test_trajectory_ends_where_integrate_ends_and_runs_backwards():
    W, b, y0 = problem()
    f = layer_dynamics(W, b, tanh)
    path = trajectory(f, y0, 64, method="rk4")
    assert path.shape == (65, 4) and torch.equal(path[0], y0)
    assert torch.equal(path[-1], integrate(f, y0, 64, method="rk4"))
    back = integrate(f, path[-1], 64, start=1.0, end=0.0, method="rk4")
    torch.testing.assert_close(back, y0, rtol=0, atol=1e-6)


@given(st.integers(1, 6), st.floats(0, 1), st.floats(0.5, 3.0))
def test_interpolate_agrees_with_numpy_and_takes_tensors(knots, share, end):
    import numpy as np

    values = torch.randn(knots, generator=torch.Generator().manual_seed(knots), dtype=torch.float64)
    time = share * end
    expected = np.interp(time, np.linspace(0, end, knots), values.numpy()) if knots > 1 else values[0].item()
    assert interpolate(values, time, end).item() == pytest.approx(expected, abs=1e-12)
    assert interpolate(values, torch.tensor(time, dtype=torch.float64), end).item() == pytest.approx(
        expected, abs=1e-12
    )


def test_gradients_through_the_solver():
    W, b, y0 = problem(knots=2)
    arguments = [t.clone().requires_grad_() for t in (W, b, y0)]
    for method in ("euler", "rk4"):
        assert torch.autograd.gradcheck(
            lambda W, b, y, method=method: integrate(layer_dynamics(W, b, tanh), y, 3, method=method), arguments
        )


def test_wrong_arguments():
    f, y = (lambda t, y: y), torch.zeros(2)
    with pytest.raises(ArgumentError, match=r"`method` must be one of 'euler', 'rk4', got 'heun'"):
        integrate(f, y, 3, method="heun")
    with pytest.raises(ArgumentError, match=r"`steps` must be at least 1, got 0"):
        integrate(f, y, 0)
    with pytest.raises(ArgumentError, match=r"`end` must differ from `start`, got 0.5 for both"):
        trajectory(f, y, 3, start=0.5, end=0.5)
