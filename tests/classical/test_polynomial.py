import itertools
import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso

from lamina._errors import ArgumentError, ShapeError
from lamina.classical import polynomial

F64 = torch.float64


@pytest.fixture(scope="module")
def data():
    """The data of check `polynomials`: ten noisy points on a sine, 200 test points."""
    rng = np.random.default_rng(3)
    x = np.linspace(0, 1, 10)
    y = np.sin(2 * np.pi * x) + 0.25 * rng.normal(size=10)
    xt = rng.uniform(0, 1, 200)
    yt = np.sin(2 * np.pi * xt) + 0.25 * rng.normal(size=200)
    return tuple(map(torch.from_numpy, (x, y, xt, yt)))


@pytest.mark.notes("N1.52")
def test_a_polynomial_has_one_more_coefficient_than_its_degree_and_is_linear_in_them():
    u = torch.tensor([-1.0, 0.0, 0.5, 2.0], dtype=F64)
    W, V = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]], dtype=F64)
    assert polynomial.vandermonde(u, 2).tolist() == [[1, -1, 1], [1, 0, 0], [1, 0.5, 0.25], [1, 2, 4]]
    p = polynomial.evaluate
    assert p(u, W).tolist() == [6, 1, 0.75, 9]
    torch.testing.assert_close(p(u, 2 * W - 3 * V), 2 * p(u, W) - 3 * p(u, V), rtol=0, atol=1e-14)
    assert not torch.allclose(p(u + u, W), p(u, W) + p(u, W))
    result = polynomial.fit(u, p(u, W), 2)
    assert result.degree == 2 and len(result.weight) == 3
    torch.testing.assert_close(result.weight, W, rtol=0, atol=1e-13)
    torch.testing.assert_close(result.predict(u), p(u, W), rtol=0, atol=1e-13)


@pytest.mark.notes("N1.53")
def test_condition_numbers_and_residuals_of_degree_nine():
    """The data of check `least_squares_singular`."""
    u = torch.linspace(0, 1, 10, dtype=F64)
    s = torch.sin(2 * math.pi * u) + 0.2 * torch.from_numpy(np.random.default_rng(1).normal(size=10))
    U = polynomial.vandermonde(u, 9)
    np.testing.assert_allclose(U.numpy(), np.vander(u.numpy(), 10, increasing=True), rtol=1e-14)
    assert U.shape == (10, 10)
    assert torch.linalg.cond(U).item() == pytest.approx(1.5e7, rel=0.05)
    assert torch.linalg.cond(U.T @ U).item() == pytest.approx(2.3e14, rel=0.05)
    normal = torch.linalg.solve(U.T @ U, U.T @ s)
    assert 1e-6 < (U @ normal - s).abs().max() < 1e-3  # 3e-5 with one LAPACK, its digits are rounding
    result = polynomial.fit(u, s, 9)
    assert (result.predict(u) - s).abs().max() < 1e-9  # 5e-11
    assert result.error == pytest.approx(0, abs=1e-18)


@pytest.mark.notes("N1.53")
def test_lower_degrees_equal_numpy(data):
    u, s, _, _ = data
    for degree in range(8):
        expected = np.polynomial.polynomial.polyfit(u.numpy(), s.numpy(), degree)
        np.testing.assert_allclose(polynomial.fit(u, s, degree).weight.numpy(), expected, rtol=1e-7)


@pytest.mark.notes("N1.54", "N1.55")
def test_errors_of_the_four_panels(data):
    u, s, v, t = data
    fits = {degree: polynomial.fit(u, s, degree) for degree in (0, 1, 3, 9)}
    train = {degree: fit.error for degree, fit in fits.items()}
    test = {degree: polynomial.error(fit, v, t) for degree, fit in fits.items()}
    for degree, expected in {0: 0.328, 1: 0.263, 3: 0.060}.items():
        assert train[degree] == pytest.approx(expected, abs=5e-4)
    assert train[9] < 1e-18
    for degree, expected in {0: 0.282, 1: 0.153, 3: 0.053, 9: 0.137}.items():
        assert test[degree] == pytest.approx(expected, abs=5e-4)


@pytest.mark.notes("N1.55", "N1.61")
def test_the_degree_search_finds_the_bottom_of_the_u(data):
    u, s, v, t = data
    panels = polynomial.choose_degree(u, s, v, t, degrees=(0, 1, 3, 9))
    assert panels.best.degree == 3 and panels.degrees == (0, 1, 3, 9)
    assert panels.validation_errors[2] == min(panels.validation_errors)
    search = polynomial.choose_degree(u, s, v, t)
    assert search.degrees == tuple(range(10))
    assert all(later <= earlier + 1e-15 for earlier, later in itertools.pairwise(search.training_errors))
    # Over all ten degrees the neighbor 4 is ahead of 3 by a hair on these 200 points.
    errors = search.validation_errors
    assert errors[3] == pytest.approx(0.0531, abs=5e-5) and errors[4] == pytest.approx(0.0517, abs=5e-5)
    assert search.best.degree == 4
    assert all(errors[degree] > errors[3] for degree in (0, 1, 2, 5, 6, 7, 8, 9))
    # Among equal errors the lowest degree wins.
    line = polynomial.choose_degree(u[:2], u[:2] * 0, v[:5], v[:5] * 0, degrees=(2, 1, 0))
    assert line.best.degree == 0


@pytest.mark.notes("N1.62")
@pytest.mark.parametrize("penalty", [1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0])
def test_weight_decay_is_the_closed_form(data, penalty):
    u, s, _, _ = data
    U, N = polynomial.vandermonde(u, 9), 10
    W = polynomial.fit(u, s, 9, penalty).weight
    residual = (U.T @ U + 2 * N * penalty * torch.eye(10, dtype=F64)) @ W - U.T @ s
    assert residual.abs().max() < 1e-8 * N

    def penalized(W):
        return (U @ W - s).square().sum() / (2 * N) + penalty * W.square().sum()

    assert torch.func.grad(penalized)(W).abs().max() < 1e-8
    assert (W != 0).all()


@pytest.mark.notes("N1.62")
def test_torch_calls_twice_lambda_weight_decay():
    penalty, tau = 0.3, 0.1
    w = torch.tensor([1.0, -2.0], dtype=F64, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=tau, weight_decay=2 * penalty)
    w.grad = torch.zeros_like(w)
    optimizer.step()
    torch.testing.assert_close(w.detach(), (1 - 2 * tau * penalty) * torch.tensor([1.0, -2.0], dtype=F64))


@pytest.mark.notes("N1.63")
def test_norm_one_gives_exact_zeros_and_norm_two_does_not(data):
    u, s, _, _ = data
    result = polynomial.fit(u, s, 9, penalty=0.01, norm=1)
    assert (result.weight == 0).sum() == 7 and result.converged and result.iterations < 2000
    reference = Lasso(alpha=0.01, fit_intercept=False, tol=1e-14, max_iter=10**6)
    reference.fit(polynomial.vandermonde(u, 9).numpy(), s.numpy())
    np.testing.assert_allclose(result.weight.numpy(), reference.coef_, atol=1e-8)
    for penalty in (1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0):
        assert (polynomial.fit(u, s, 9, penalty, norm=2).weight == 0).sum() == 0
    # Optimality: each coefficient that is not zero has the gradient -lambda sign(W), the others at most lambda.
    U, W = polynomial.vandermonde(u, 9), result.weight
    g = U.T @ (U @ W - s) / 10
    torch.testing.assert_close(g[W != 0], -0.01 * W[W != 0].sign(), rtol=0, atol=1e-9)
    assert (g.abs() <= 0.01 + 1e-9).all()


@pytest.mark.notes("N1.63")
def test_norm_one_stops_at_its_limit_and_at_zero(data):
    u, s, _, _ = data
    cut = polynomial.fit(u, s, 9, penalty=1e-4, norm=1, max_iterations=3)
    assert cut.iterations == 3 and not cut.converged
    U = polynomial.vandermonde(u, 9)
    size, one = torch.linalg.eigvalsh(U.T @ U / 10)[-1], polynomial.fit(u, s, 9, penalty=1e-4, norm=1, max_iterations=1)
    step = U.T @ s / 10 / size  # from zero along the gradient, then towards zero by lambda per unit of the step
    torch.testing.assert_close(one.weight, step.sign() * (step.abs() - 1e-4 / size).clamp(min=0), rtol=0, atol=1e-12)
    assert (polynomial.fit(u, s, 9, penalty=100.0, norm=1).weight == 0).all()
    assert polynomial.fit(u, s, 9, 0.0, norm=1).weight.equal(polynomial.fit(u, s, 9).weight)
    for closed in (polynomial.fit(u, s, 9), polynomial.fit(u, s, 9, penalty=0.1)):
        assert closed.iterations == 0 and closed.converged  # no iterations where there is a closed form


@pytest.mark.notes("N1.64")
def test_a_suitable_penalty_avoids_overfitting_and_a_large_one_underfits(data):
    u, s, v, t = data
    fits = {penalty: polynomial.fit(u, s, 9, penalty) for penalty in (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0)}
    errors = {penalty: polynomial.error(fit, v, t) for penalty, fit in fits.items()}
    for penalty, expected in {0.0: 0.137, 1e-8: 0.063, 1e-4: 0.053, 1e-2: 0.100, 100.0: 0.283}.items():
        assert errors[penalty] == pytest.approx(expected, abs=5e-4)
    assert min(errors, key=errors.get) == 1e-4
    sizes = {penalty: fit.weight.abs().max().item() for penalty, fit in fits.items()}
    assert sizes[0.0] == pytest.approx(2e5, rel=0.2) and sizes[1e-4] == pytest.approx(5.5, abs=0.05)


def test_more_coefficients_than_points_give_the_least_norm():
    u = torch.tensor([0.5, 1.0], dtype=F64)
    W = polynomial.fit(u, torch.tensor([1.0, 2.0], dtype=F64), 4).weight
    U = polynomial.vandermonde(u, 4)
    torch.testing.assert_close(W, torch.linalg.pinv(U) @ torch.tensor([1.0, 2.0], dtype=F64), rtol=0, atol=1e-12)


def test_wrong_arguments(as_user):
    u, s = torch.linspace(0, 1, 5, dtype=F64), torch.ones(5, dtype=F64)
    with pytest.raises(ArgumentError, match="`degree` must be at least 0, got -1"):
        polynomial.fit(u, s, -1)
    with pytest.raises(ArgumentError, match=r"`penalty` must be at least 0, got -0\.1"):
        polynomial.fit(u, s, 1, penalty=-0.1)
    with pytest.raises(ArgumentError, match="`norm` must be one of 1, 2, got 3"):
        polynomial.fit(u, s, 1, 0.1, norm=3)
    with pytest.raises(ArgumentError, match="`max_iterations` must be at least 1, got 0"):
        polynomial.fit(u, s, 1, 0.1, norm=1, max_iterations=0)
    with pytest.raises(ShapeError, match="`points` and `targets` must hold the same number of examples, got 5 and 4"):
        polynomial.fit(u, s[:4], 1)
    with pytest.raises(ShapeError, match="`points` and `targets` must have 1 axis each, got 2 and 1"):
        polynomial.fit(u[:, None], s, 1)
    with pytest.raises(ArgumentError, match="`points` must be finite, got 5 NaN"):
        polynomial.fit(u / 0, s, 1)
    with pytest.raises(ArgumentError, match="`targets` must be finite"):
        polynomial.error(polynomial.fit(u, s, 1), u, s * float("nan"))
    with pytest.raises(ArgumentError, match="`degrees` must name at least 1 degree, got none"):
        polynomial.choose_degree(u, s, u, s, degrees=())
