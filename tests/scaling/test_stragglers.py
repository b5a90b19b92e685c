"""The largest of n draws: known values, and draws that agree with them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError
from lamina.scaling.stragglers import SHAPES, draw_slowest, largest, largest_variance, quantile, slowest

LAWS = settings(max_examples=50, deadline=None)


def test_normals_are_those_of_the_tables():
    assert largest(1, "normal") == pytest.approx(0, abs=1e-15)
    assert largest(2, "normal") == pytest.approx(1 / math.sqrt(math.pi), rel=1e-12)
    assert largest(3, "normal") == pytest.approx(1.5 / math.sqrt(math.pi), rel=1e-12)
    assert largest(10, "normal") == pytest.approx(1.538752730835, rel=1e-10)  # Harter, 1961
    assert largest(100, "normal") == pytest.approx(2.507593639, rel=1e-8)
    assert largest_variance(1, "normal") == pytest.approx(1, rel=1e-12)
    assert largest_variance(2, "normal") == pytest.approx(1 - 1 / math.pi, rel=1e-12)


def test_exponentials_are_harmonic_numbers():
    assert largest(1, "exponential") == 0
    assert largest(4, "exponential") == pytest.approx(1 / 2 + 1 / 3 + 1 / 4, rel=1e-15)
    assert largest_variance(3, "exponential") == pytest.approx(1 + 1 / 4 + 1 / 9, rel=1e-15)
    exact = math.fsum(1 / i for i in range(2, 30_001)), math.fsum(1 / i**2 for i in range(1, 30_001))
    assert largest(30_000, "exponential") == pytest.approx(exact[0], rel=1e-14)  # by the expansion
    assert largest_variance(30_000, "exponential") == pytest.approx(exact[1], rel=1e-12)


def test_the_slowest_by_hand():
    assert slowest(3, 2.0, 0.5) == pytest.approx(2 + 0.5 * (1 / 2 + 1 / 3))
    assert slowest(3, 2.0, 0.5, "normal") == pytest.approx(2 + 0.75 / math.sqrt(math.pi))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ranks", [1, 2, 64, 100_000])
def test_draws_have_the_expected_mean_and_variance(shape, ranks):
    count = 40_000
    uniform = np.random.Generator(np.random.PCG64(7)).random(count)
    drawn = draw_slowest(uniform, ranks, 3.0, 0.5, shape)
    variance = 0.25 * largest_variance(ranks, shape)
    assert drawn.mean() == pytest.approx(slowest(ranks, 3.0, 0.5, shape), abs=5 * math.sqrt(variance / count))
    assert drawn.var() == pytest.approx(variance, rel=0.1)


def test_a_draw_is_the_largest_of_single_ones():
    singles = np.random.Generator(np.random.PCG64(3)).random((20_000, 8))
    for shape in SHAPES:
        highest = draw_slowest(singles, 1, 1.0, 0.2, shape).max(1)
        at_once = draw_slowest(singles.max(1) ** 8, 8, 1.0, 0.2, shape)  # u^(1/8) is the largest of the eight
        assert np.allclose(highest, at_once, rtol=1e-9)


def test_quantiles():
    assert np.allclose(quantile(np.array([0.5, 0.8413447460685429])), [0, 1], atol=1e-12)


@LAWS
@given(st.integers(1, 5000), st.sampled_from(SHAPES))
def test_more_ranks_wait_longer(ranks, shape):
    more = largest(2 * ranks, shape)
    assert more > largest(ranks, shape) - 1e-15 and largest_variance(ranks, shape) > 0
    assert (
        more <= (2 * ranks - 1) / math.sqrt(4 * ranks - 1) + 1e-12
    )  # a bound for every distribution (Hartley and David, 1954)


def test_bad_values():
    with pytest.raises(ArgumentError, match="`ranks` must be at least 1, got 0"):
        largest(0, "normal")
    with pytest.raises(ArgumentError, match="`shape` must be one of 'exponential', 'normal', got 'gamma'"):
        largest_variance(2, "gamma")
    with pytest.raises(ArgumentError, match="`shape` must be one of 'exponential', 'normal', got 'normals'. Did you"):
        draw_slowest(np.array([0.5]), 2, 1.0, 1.0, "normals")
    with pytest.raises(ArgumentError, match="`mean` must be greater than 0, got 0"):
        slowest(2, 0, 1)
    with pytest.raises(ArgumentError, match="`deviation` must be at least 0, got -1"):
        slowest(2, 1, -1)
