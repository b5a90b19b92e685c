from pathlib import Path

import pytest
import torch

from lamina.experiments import overfitting
from lamina.experiments.overfitting import (
    degrees,
    early_stopping,
    estimators,
    penalty_in_training,
    trade_off,
    weight_decay,
)
from lamina.experiments.result import REGISTRY, ClaimError
from scripts import script


def test_registered():
    expected = {
        "N1.44": early_stopping,
        "N1.54": degrees,
        "N1.55": degrees,
        "N1.56": estimators,
        "N1.57": estimators,
        "N1.58": estimators,
        "N1.59": trade_off,
        "N1.60": trade_off,
        "N1.62": penalty_in_training,
        "N1.63": weight_decay,
        "N1.64": weight_decay,
    }
    assert all(REGISTRY[key] is function for key, function in expected.items())


@pytest.mark.notes("N1.54", "N1.55")
def test_low_degrees_underfit_and_high_ones_overfit():
    result = degrees(seeds=20).check()
    training, unseen = result.column("training error"), result.column("unseen error")
    # the catalogue has, for one draw, (0.328, 0.282), (0.263, 0.153), (0.060, 0.053), (1e-22, 0.137)
    assert training[0] == pytest.approx(0.25, rel=0.2) and training[9] < 1e-18
    assert unseen[0] == pytest.approx(0.282, rel=0.1) and unseen[1] == pytest.approx(0.153, rel=0.1)
    assert unseen[3] == pytest.approx(0.044, rel=0.1)  # half of noise + squared bias + variance
    assert 0.1 < unseen[9] < 0.6
    assert degrees(seeds=20).rows == result.rows


def test_the_claims_about_degrees_can_fail():
    with pytest.raises(ClaimError, match="the highest degree hits its points exactly"):
        degrees(seeds=3, highest=4).check()


@pytest.mark.notes("N1.56", "N1.57", "N1.58")
def test_the_error_of_an_estimate_is_variance_and_squared_bias():
    result = estimators().check()
    least_squares, small, large = result.rows
    assert least_squares[1] < 1e-4 and least_squares[2] == pytest.approx(0.137, rel=0.05)
    assert small[1] > 100 * least_squares[1] and large[2] < 0.5 * least_squares[2]
    # the catalogue has 0.294 = 0.166 + 0.128 for lambda = 1/20 and other inputs
    assert small[3] == pytest.approx(small[1] + small[2], abs=1e-10) and 0.1 < small[3] < 0.4
    assert estimators(draws=100).rows == estimators(draws=100).rows


def test_the_claims_about_estimators_can_fail():
    with pytest.raises(ClaimError, match="least squares has no bias"):
        estimators(draws=1000, penalties=(0.5, 0.0)).check()


@pytest.mark.notes("N1.59", "N1.60")
def test_bias_falls_and_variance_rises_with_the_degree():
    result = trade_off().check()
    found = {row[0]: row[1:3] for row in result.rows}
    catalogue = {0: (0.543, 0.006), 1: (0.217, 0.011), 3: (0.007, 0.018), 9: (0.0002, 0.254)}
    for degree, (bias, variance) in catalogue.items():
        assert found[degree][0] == pytest.approx(bias, rel=0.1, abs=5e-4)
        assert found[degree][1] == pytest.approx(variance, rel=0.12)
    assert result.column("total")[3] == min(result.column("total"))
    assert trade_off(draws=100).rows == trade_off(draws=100).rows
    trade_off(seed=1).check()


def test_the_claims_about_the_trade_off_can_fail():
    with pytest.raises(ClaimError, match="overfitting, the highest degree"):
        trade_off(highest=3).check()


@pytest.mark.notes("N1.62", "N1.63", "N1.64")
def test_a_suitable_penalty_tames_a_high_degree():
    result = weight_decay(seeds=10).check()
    squared, (norm, _, *one) = result.rows[:-1], result.rows[-1]
    unseen, largest = ([row[place] for row in squared] for place in (3, 4))
    assert min(unseen) < 0.06 and unseen[-1] == pytest.approx(0.283, rel=0.05)
    assert largest[0] > 1e4 and largest[3] < 20 and largest[-1] < 1e-2
    assert norm == 1 and 5 <= one[3] <= 9
    assert weight_decay(seeds=2).rows == weight_decay(seeds=2).rows


@pytest.mark.parametrize(
    ("penalties", "sentence"),
    [((0.0, 100.0), "a suitable penalty halves"), ((0.0, 1e-8, 1e-6), "one that is too large underfits")],
)
def test_the_claims_about_penalties_can_fail(penalties, sentence):
    with pytest.raises(ClaimError, match=sentence):
        weight_decay(seeds=3, penalties=penalties).check()


@pytest.mark.notes("N1.62", "N1.63")
def test_a_penalty_in_training_ends_at_the_closed_form():
    result = penalty_in_training(seeds=1).check()
    rows = {row[0]: row[1:] for row in result.rows}
    assert rows["squared norm in the loss"][0] < 1e-6
    assert rows["torch SGD, weight_decay 2 lambda"][0] < 1e-6
    assert 0.02 < rows["torch SGD, weight_decay lambda"][0] < 0.1
    assert rows["norm 1 in the loss"][2] == 5  # the five inputs without influence
    assert penalty_in_training(seeds=1, steps=5).rows == penalty_in_training(seeds=1, steps=5).rows


@pytest.mark.slow
@pytest.mark.notes("N1.62", "N1.63")
def test_a_penalty_in_training_for_more_data_sets():
    penalty_in_training(seeds=10).check()
    penalty_in_training(seeds=3, strength=0.2).check()


def test_a_penalty_without_its_factor_is_found_out(monkeypatch):
    """Half the penalty ends where torch's `weight_decay` of lambda does."""
    full = overfitting.Penalty
    monkeypatch.setattr(overfitting, "Penalty", lambda strength, norm=2: full(strength / 2, norm))
    with pytest.raises(ClaimError, match="the squared norm in the loss ends at the closed form"):
        penalty_in_training(seeds=1, steps=100).check()


@pytest.mark.notes("N1.44")
def test_the_error_on_unseen_points_is_smallest_before_the_end():
    result = early_stopping(seeds=2, steps=400).check()
    for _, best, unseen, end, training, training_end, stop, kept in result.rows:
        assert 50 < best < 300 and 0.04 < unseen < 0.12
        assert end > 1.1 * unseen and training_end < training
        assert stop == best + 100 and kept == unseen
    assert early_stopping(seeds=1, steps=30).rows == early_stopping(seeds=1, steps=30).rows


@pytest.mark.slow
@pytest.mark.notes("N1.44")
def test_early_stopping_for_more_data_sets():
    early_stopping(seeds=10, steps=1500).check()


def test_with_enough_points_there_is_no_overfitting():
    with pytest.raises(ClaimError, match="the error on unseen points is smallest well before"):
        early_stopping(seeds=1, steps=150, points=400).check()


def test_the_example_chooses_a_degree_and_keeps_its_promise():
    path = Path(__file__).resolve().parents[2] / "examples" / "polynomials.py"
    done = script(path)
    assert done.returncode == 0, done.stderr
    assert "degree 3" in done.stdout and done.stdout.count("*") > 10
    assert script(path, "--target", "0.001").returncode == 1


def test_samples_are_the_figure_of_the_notes():
    points, values = overfitting._samples(seed=0, draws=500)
    assert points.tolist() == torch.linspace(0, 1, 10, dtype=torch.float64).tolist()
    errors = values - torch.sin(2 * torch.pi * points)
    assert errors.std().item() == pytest.approx(0.25, rel=0.05) and errors.mean().abs() < 0.02
