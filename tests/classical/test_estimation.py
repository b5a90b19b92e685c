import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError, ShapeError
from lamina.classical import estimation, linear_regression, polynomial

F64 = torch.float64


def ridge_estimates():
    """The 20 000 ridge estimates of check `bias_variance`, and the generator after them."""
    rng = np.random.default_rng(0)
    theta = np.array([1.0, -2.0, 0.5])
    U = rng.normal(size=(20, 3))
    P = np.linalg.solve(U.T @ U + 2 * np.eye(3), U.T)
    estimates = (P @ (U @ theta)[:, None] + P @ rng.normal(size=(20, 20_000))).T
    return torch.from_numpy(estimates), torch.from_numpy(theta), rng


@pytest.mark.notes("N1.56")
def test_the_least_squares_estimate_varies_with_its_data_and_is_unbiased(as_user):
    U = torch.randn(20, 2, generator=torch.Generator().manual_seed(0), dtype=F64)
    truth = torch.tensor([1.0, -2.0], dtype=F64)

    def sampler(g):
        return U, U @ truth + 0.5 * torch.randn(20, generator=g, dtype=F64)

    def estimator(u, s):
        return linear_regression.fit(u, s).weight

    estimates = estimation.sample_estimates(estimator, sampler, draws=1000, seed=1)
    assert estimates.shape == (1000, 2) and estimates.std(0).min() > 0.05
    assert estimation.bias(estimates, truth).abs().max() < 0.02
    covariance = 0.25 * torch.linalg.inv(U.T @ U)  # what theory says for noise of variance 1/4
    assert estimation.variance(estimates).item() == pytest.approx(covariance.trace().item(), rel=0.1)
    again = estimation.sample_estimates(estimator, sampler, draws=1000, seed=1)
    assert again.equal(estimates)


@pytest.mark.notes("N1.57")
def test_numbers_by_hand():
    estimates, truth = torch.tensor([1.0, 2.0, 6.0], dtype=F64), torch.tensor(2.0, dtype=F64)
    assert estimation.bias(estimates, truth).item() == 1.0
    assert estimation.variance(estimates).item() == pytest.approx(41 / 3 - 9, abs=1e-14)  # E(x^2) - E(x)^2
    vector = torch.stack([estimates, 2 * estimates], 1)
    covariance = torch.from_numpy(np.cov(vector.T.numpy(), bias=True))
    assert estimation.variance(vector).item() == pytest.approx(covariance.trace().item(), abs=1e-13)
    assert estimation.bias(vector, truth * torch.tensor([1.0, 2.0], dtype=F64)).tolist() == [1.0, 2.0]


@pytest.mark.notes("N1.58")
def test_the_ridge_estimate_of_the_notes():
    estimates, theta, _ = ridge_estimates()
    parts = estimation.decompose(estimates, theta)
    assert parts.total == pytest.approx(0.29361, abs=5e-6)
    assert parts.variance == pytest.approx(0.16561, abs=5e-6)
    assert parts.squared_bias == pytest.approx(0.12800, abs=5e-6)
    assert abs(parts.total - parts.variance - parts.squared_bias) < 1e-10


@pytest.mark.notes("N1.58")
@given(seed=st.integers(0, 10_000), shape=st.sampled_from([(), (1,), (3,), (2, 2)]))
@settings(max_examples=50, deadline=None)
def test_the_identity_holds_for_all_estimates(seed, shape):
    g = torch.Generator().manual_seed(seed)
    estimates, truth = torch.randn(7, *shape, generator=g, dtype=F64), torch.randn(shape, generator=g, dtype=F64)
    parts = estimation.decompose(estimates, truth)
    assert parts.total == pytest.approx(parts.squared_bias + parts.variance, abs=1e-12)


@pytest.mark.notes("N1.59")
def test_bias_and_variance_of_predictions_by_degree():
    """The table of check `bias_variance`, from the same random numbers."""
    rng = ridge_estimates()[2]
    x, points = torch.linspace(0, 1, 10, dtype=F64), torch.linspace(0.05, 0.95, 50, dtype=F64)
    truth = torch.sin(2 * math.pi * points)
    parts = {}
    for degree in (0, 1, 3, 9):
        noise = torch.from_numpy(rng.normal(size=(10, 2000)))
        targets = torch.sin(2 * math.pi * x)[:, None] + 0.25 * noise
        weights = linear_regression.fit(polynomial.vandermonde(x, degree), targets).weight
        predictions = (polynomial.vandermonde(points, degree) @ weights).T
        parts[degree] = estimation.decompose_predictions(predictions, truth)
    for degree, (squared_bias, variance) in {0: (0.543, 0.006), 1: (0.217, 0.011), 3: (0.007, 0.018)}.items():
        assert parts[degree].squared_bias == pytest.approx(squared_bias, abs=5e-4)
        assert parts[degree].variance == pytest.approx(variance, abs=5e-4)
    assert parts[9].squared_bias == pytest.approx(0.0002, abs=5e-5)
    assert parts[9].variance == pytest.approx(0.254, abs=5e-4)
    assert min(parts, key=lambda degree: parts[degree].total) == 3


@pytest.mark.notes("N1.60")
def test_the_trade_off_over_all_degrees():
    """Bias falls, variance rises, their sum has its bottom inside: what the figure draws."""
    x, points = torch.linspace(0, 1, 10, dtype=F64), torch.linspace(0.05, 0.95, 50, dtype=F64)
    truth = torch.sin(2 * math.pi * points)
    noise = 0.25 * torch.randn(10, 2000, generator=torch.Generator().manual_seed(0), dtype=F64)
    parts = []
    for degree in range(10):
        fit = linear_regression.fit(polynomial.vandermonde(x, degree), torch.sin(2 * math.pi * x)[:, None] + noise)
        predictions = (polynomial.vandermonde(points, degree) @ fit.weight).T
        parts.append(estimation.decompose_predictions(predictions, truth))
    assert all(b.variance > a.variance for a, b in itertools.pairwise(parts))
    assert all(b.squared_bias < a.squared_bias + 1e-3 for a, b in itertools.pairwise(parts))
    best = min(range(10), key=lambda degree: parts[degree].total)
    assert best == 3 and parts[0].total > 10 * parts[3].total and parts[9].total > 5 * parts[3].total


def test_wrong_arguments(as_user):
    with pytest.raises(
        ShapeError, match=r"`estimates` must hold at least 1 row of the shape of `truth` \(3,\), got \(5, 2\)"
    ):
        estimation.decompose(torch.zeros(5, 2), torch.zeros(3))
    with pytest.raises(ShapeError, match=r"at least 1 row .* got \(0, 2\)"):
        estimation.variance(torch.zeros(0, 2))
    with pytest.raises(ArgumentError, match="`estimates` must be finite, got 2 NaN"):
        estimation.bias(torch.tensor([1.0, float("nan"), float("inf")]), torch.tensor(0.0))
    with pytest.raises(ArgumentError, match="`draws` must be at least 1, got 0"):
        estimation.sample_estimates(lambda u, s: s, lambda g: (torch.zeros(1), torch.zeros(1)), draws=0)
