"""The luck of the best of many, against SciPy's binomial distribution and by hand."""

import numpy as np
import pytest
from scipy.stats import binom

from lamina._errors import ArgumentError
from lamina.functional.selection import accuracy_behind, expected_best


@pytest.mark.notes("N1.68")
def test_the_best_of_1024_coins_on_100_points():
    assert expected_best(1024, 100) == pytest.approx(0.6610, abs=1e-4)  # the catalogue measured 0.68 in one draw
    assert expected_best(16, 100) == pytest.approx(0.588, abs=1e-3)
    assert expected_best(1, 100) == 0.5


def test_two_coins_by_hand():
    # Two throws of one coin each: the best shows heads unless both show tails.
    assert expected_best(2, 1) == pytest.approx(3 / 4)
    # P(max = 2) = 1 - (3/4)^2 = 7/16, P(max = 0) = 1/16, so the mean is (2 * 7/16 + 8/16) / 2.
    assert expected_best(2, 2) == pytest.approx((2 * 7 / 16 + 8 / 16) / 2)


@pytest.mark.parametrize(("models", "points", "accuracy"), [(16, 299, 0.97), (1000, 10_000, 0.98), (5, 7, 0.2)])
def test_against_scipy(models, points, accuracy):
    wanted = (1 - binom.cdf(np.arange(points), points, accuracy) ** models).sum() / points
    assert expected_best(models, points, accuracy) == pytest.approx(wanted, abs=1e-9)
    assert expected_best(models, points, 1.0) == 1.0 and expected_best(models, points, 0.0) == 0.0


@pytest.mark.parametrize(
    ("best", "models", "points"), [(0.66, 1024, 100), (0.98, 1024, 10_000), (1.0, 60, 24), (0.9, 1, 50)]
)
def test_the_accuracy_behind_makes_the_best_as_likely_as_not(best, models, points):
    p = accuracy_behind(best, models, points)
    reached = 1 - binom.cdf(round(best * points) - 1, points, p) ** models
    assert reached == pytest.approx(0.5, abs=1e-6) and p < best
    assert accuracy_behind(0.0, models, points) == 0.0


def test_more_models_and_fewer_points_mean_more_luck():
    assert accuracy_behind(0.9, 1000, 100) < accuracy_behind(0.9, 10, 100) < accuracy_behind(0.9, 10, 1000) < 0.9


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, 5), "`models` must be at least 1, got 0"),
        ((5, 0), "`points` must be at least 1, got 0"),
        ((5, 5, 1.5), r"`accuracy` must be in \[0, 1\], got 1.5"),
    ],
)
def test_bounds(arguments, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        expected_best(*arguments)
    with pytest.raises(ArgumentError, match=r"`best` must be in \[0, 1\], got 2"):
        accuracy_behind(2, 5, 5)
