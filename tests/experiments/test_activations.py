import math

import pytest
import torch

from lamina.experiments.activations import (
    FORMULAS,
    activation_cost,
    dead_units,
    operations,
    tanh_against_sigmoid,
)
from lamina.experiments.result import REGISTRY, ClaimError
from lamina.functional.activations import get_activation


def test_registered():
    assert REGISTRY["N1.14"] is tanh_against_sigmoid and REGISTRY["N1.17"] is dead_units
    assert REGISTRY["N1.13"] is activation_cost


@pytest.mark.notes("N1.13")
def test_what_activations_compute_is_counted_and_their_times_are_only_reported():
    result = activation_cost(numbers=1000, repeats=3).check()
    assert result.column("activation") == ["heaviside", "relu", "leaky_relu", "sigmoid", "tanh"]
    assert result.column("exp") == [0, 0, 0, 1, 4]
    assert result.column("operations") == [1, 1, 2, 5, 9]
    assert operations(FORMULAS["relu"]) == ["clamp"] and operations(FORMULAS["leaky_relu"]) == ["mul", "maximum"]
    assert operations(FORMULAS["tanh"]) == ["exp", "neg", "exp", "sub", "exp", "neg", "exp", "add", "div"]
    assert all(microseconds > 0 for microseconds in result.column("microseconds"))
    assert result.rows[1][4] == 1.0
    assert not any("second" in claim.sentence or "time" in claim.sentence for claim in result.claims)


@pytest.mark.notes("N1.13")
@pytest.mark.parametrize("name", FORMULAS)
def test_the_formulas_that_are_counted_are_the_activations(name):
    y = torch.linspace(-6, 6, 241, dtype=torch.float64)
    torch.testing.assert_close(FORMULAS[name](y).double(), get_activation(name)(y), rtol=1e-13, atol=1e-15)


@pytest.mark.notes("N1.14")
def test_tanh_learns_faster_than_sigmoid():
    result = tanh_against_sigmoid(seeds=1, steps=300).check()
    tanh, sigmoid = result.rows
    assert tanh[:3] == ("tanh", 0.0, 1.0) and sigmoid[:3] == ("sigmoid", 0.5, 0.25)
    assert tanh[3] > 0.97 and sigmoid[3] < 0.92
    assert tanh[6] <= 260 and math.isinf(sigmoid[6])
    assert str(result).count("holds: ") == 3


@pytest.mark.slow
@pytest.mark.notes("N1.14")
def test_tanh_learns_faster_than_sigmoid_at_full_size():
    """The catalogue has 0.994-1.000 and 0.88-0.92, from other draws."""
    tanh, sigmoid = tanh_against_sigmoid(seeds=5).check().rows
    assert tanh[5] >= 0.985 and tanh[3] >= 0.99
    assert 0.87 < sigmoid[5] and sigmoid[3] < 0.92


def test_the_claims_about_tanh_can_fail():
    swapped = tanh_against_sigmoid(seeds=1, steps=200, activations=("sigmoid", "tanh"))
    assert [claim.holds for claim in swapped.claims] == [False, False, False]
    with pytest.raises(ClaimError, match="does not hold: sigmoid has the value and the slope of the identity at 0"):
        swapped.check()


@pytest.mark.notes("N1.17")
def test_dead_units_recover_with_leaky_relu_only(unchecked):
    result = dead_units(seeds=3, steps=300).check()
    relu, leaky = result.rows
    assert relu[:4] == ("relu", 0.0, 0, 0.0) and relu[4] == 0.5
    assert leaky[1] == pytest.approx(0.1, abs=1e-14) and leaky[2] == 0
    assert 4 < leaky[3] <= 16 and leaky[4] > 0.85
    assert dead_units(seeds=2, steps=20).rows == dead_units(seeds=2, steps=20).rows


def test_the_claims_about_dead_units_can_fail():
    linear = dead_units(seeds=1, steps=50, activations=("leaky_relu", "identity"))
    failed = {claim.sentence for claim in linear.claims if not claim.holds}
    assert "with leaky_relu the gradient of the dead units is exactly 0" in failed
    two_dead = dead_units(seeds=1, steps=50, activations=("relu", "relu"))
    assert not two_dead.claims[2].holds and not two_dead.claims[4].holds
