"""Checkpoints and failures: formulas by hand, and a simulation that agrees with them."""

import math
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError
from lamina.scaling.failures import daly, expected_time, simulate, young
from lamina.scaling.stragglers import slowest

LAWS = settings(max_examples=50, deadline=None)

C, R, M = 2.0, 10.0, 100.0  # seconds of a checkpoint, of a restart, between two failures


def test_formulas_by_hand():
    assert young(C, M) == 20
    assert daly(C, M) == pytest.approx(20 * (1 + 0.1 / 3 + 1 / 900) - 2, rel=1e-14)
    assert daly(3.0, 1.5) == daly(30.0, 1.5) == 1.5  # where a checkpoint takes as long as two failures are apart
    by_hand = 100 * math.exp(0.1) * (math.exp(0.22) - 1) * 1000 / 20
    assert expected_time(1000, 20, C, R, M) == pytest.approx(by_hand, rel=1e-14)
    assert expected_time(1000, 20, C, R, math.inf) == 1100
    assert expected_time(1.0, 1e6, C, R, 1.0) == math.inf


@LAWS
@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(2.0, 1e6))
def test_no_interval_is_much_better_than_that_of_daly(checkpoint, restart, ratio):
    mtbf = ratio * checkpoint
    best = expected_time(1.0, daly(checkpoint, mtbf), checkpoint, restart, mtbf)
    factors = (0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.4, 2.0, 3.0, 10.0)
    others = (expected_time(1.0, factor * daly(checkpoint, mtbf), checkpoint, restart, mtbf) for factor in factors)
    assert best <= min(others) * 1.005


@LAWS
@given(st.floats(1e-2, 1e2), st.floats(10.0, 1e6))
def test_failures_only_add_time(checkpoint, mtbf):
    found = expected_time(1e3, 10.0, checkpoint, 5.0, mtbf)
    assert found >= expected_time(1e3, 10.0, checkpoint, 5.0, math.inf) * (1 - 1e-12)
    assert expected_time(1e3, 10.0, checkpoint, 5.0, mtbf * 2) <= found


def runs(interval: int, **more):
    settings = {"checkpoint": C, "restart": R, "mtbf": 100 * M, "runs": 300, "seed": 5}
    return simulate(2000, 100, 1.0, interval=interval, **{**settings, **more})


def test_the_simulation_agrees_with_the_formula_and_so_does_its_best_interval():
    found = {interval: runs(interval) for interval in (2, 5, 10, 20, 40, 80)}
    for interval, course in found.items():
        exact = expected_time(2000, interval, C, R, M)
        assert course.seconds == pytest.approx(exact, abs=5 * course.deviation / math.sqrt(course.runs))
        assert course.low < course.seconds < course.high and 0 < course.lost < 1
    best = min(found, key=lambda interval: found[interval].seconds)
    assert best == 20 and min(found, key=lambda interval: abs(interval - daly(C, M))) == best
    # every failure ends an attempt, and they come once in M seconds
    assert found[20].failures == pytest.approx(found[20].seconds / M, rel=0.05)


@pytest.mark.parametrize("shape", ["exponential", "normal"])
@pytest.mark.parametrize("interval", [7, 500])
def test_without_failures_a_run_takes_its_slowest_ranks(shape, interval):
    found = simulate(1000, 64, 0.01, deviation=0.002, shape=shape, interval=interval, checkpoint=0.5, runs=200, seed=1)
    exact = 1000 * slowest(64, 0.01, 0.002, shape) + 0.5 * math.ceil(1000 / interval)
    assert found.seconds == pytest.approx(exact, abs=5 * found.deviation / math.sqrt(200)) and found.deviation > 0
    assert found.failures == 0 and found.lost == pytest.approx(0, abs=1e-12)


def test_one_run_by_hand_without_chance():
    found = simulate(25, 8, 2.0, interval=10, checkpoint=1.5, runs=3, seed=9)
    assert (found.seconds, found.low, found.high) == (54.5, 54.5, 54.5)
    assert (found.deviation, found.lost, found.failures) == (0, 0, 0)


def test_a_simulation_is_a_function_of_its_arguments():
    first, again, other = runs(20), runs(20), runs(20, seed=6)
    assert asdict(first) == asdict(again) != asdict(other)


def test_a_run_that_would_never_end_is_refused():
    with pytest.raises(
        ArgumentError, match="a failure comes about every 0.1 s, and the run would need more than 1,000"
    ):
        simulate(10, 10, 100.0, interval=1, mtbf=1.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"interval": 0}, "`interval` must be at least 1, got 0"),
        ({"runs": 0}, "`runs` must be at least 1, got 0"),
        ({"deviation": -1}, "`deviation` must be at least 0, got -1"),
        ({"checkpoint": -1}, "`checkpoint` must be at least 0, got -1"),
        ({"restart": -1}, "`restart` must be at least 0, got -1"),
        ({"mtbf": 0}, "`mtbf` must be greater than 0, got 0"),
        ({"shape": "flat"}, "`shape` must be one of 'exponential', 'normal', got 'flat'"),
        ({"seed": -1}, "`seed` must be at least 0, got -1"),
    ],
)
def test_bad_values(change, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        simulate(10, 2, 1.0, **change)


def test_bad_values_of_the_formulas():
    with pytest.raises(ArgumentError, match="`updates` must be at least 1, got 0"):
        simulate(0, 2, 1.0)
    with pytest.raises(ArgumentError, match="`mean` must be greater than 0, got 0"):
        simulate(10, 2, 0)
    with pytest.raises(ArgumentError, match="`checkpoint` must be greater than 0, got 0"):
        young(0, 1)
    with pytest.raises(ArgumentError, match="`mtbf` must be greater than 0, got -1"):
        young(1, -1)
    with pytest.raises(ArgumentError, match="`interval` must be greater than 0, got 0"):
        expected_time(1, 0, 1, 1, 1)
    with pytest.raises(ArgumentError, match="`work` must be at least 0, got -1"):
        expected_time(-1, 1, 1, 1, 1)
