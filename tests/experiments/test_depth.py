import math
from pathlib import Path

import pytest
import torch

from lamina.experiments.depth import (
    composition,
    deep_and_shallow,
    deep_training,
    existence_only,
    linear_piece_counts,
    parity_sizes,
    wave,
    widening,
)
from lamina.experiments.result import REGISTRY, ClaimError
from lamina.functional.dense import parameter_count
from scripts import script

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "deep_networks.py"


def test_registered():
    made = (widening, existence_only, parity_sizes, linear_piece_counts, composition, deep_and_shallow, deep_training)
    assert tuple(REGISTRY[f"N2.{n}"] for n in (16, 17, 18, 19, 20, 21, 25)) == made


@pytest.mark.notes("N2.16")
def test_wider_is_better_on_average():
    u = torch.tensor([[0.125], [0.375]], dtype=torch.float64)
    torch.testing.assert_close(wave(u), torch.tensor([[1.125], [-0.625]], dtype=torch.float64))
    result = widening(seeds=5, widths=(4, 8, 16, 32, 64)).check()
    errors = result.column("error")
    assert errors[0] > 0.5 and errors[-1] < 1e-6
    # geometric means lie between the extremes
    assert all(least <= error <= most for _, error, least, most in result.rows)
    assert widening(seeds=2, widths=(4, 8)).rows == widening(seeds=2, widths=(4, 8)).rows


def test_claims_about_width_can_fail():
    with pytest.raises(ClaimError, match="falls with every widening"):
        widening(seeds=2, widths=(32, 8)).check()
    with pytest.raises(ClaimError, match="a width exists at which the error is at most 1e-12"):
        widening(seeds=2, widths=(4, 8), tolerance=1e-12).check()
    with pytest.raises(ClaimError, match="a few units are not enough"):
        widening(seeds=2, widths=(32, 64)).check()


@pytest.mark.notes("N2.17")
def test_good_weights_exist_but_training_finds_others(unchecked):
    result = existence_only(seeds=4).check()
    given, found, there, elsewhere, many_there, many = result.rows
    assert given[4] < 1e-7 and 0.01 < found[3] < found[4] < 0.5 and found[2] > 0.01
    assert there[1] < 0.3 < elsewhere[1]  # fits the noise of standard deviation 0.5, misses the sine
    assert many_there[1] == pytest.approx(0.5, abs=0.05) and many[4] < 0.2


def test_claims_about_existence_can_fail(unchecked):
    short = existence_only(seeds=2, steps=1)
    assert short.rows == existence_only(seeds=2, steps=1).rows
    with pytest.raises(ClaimError, match="fits the noise of few points"):
        existence_only(seeds=2, steps=20).check()


@pytest.mark.notes("N2.18", "N2.19")
def test_parity_takes_exponentially_many_units_in_one_hidden_layer():
    result = parity_sizes().check()
    assert result.column("hidden units") == [2, 8, 128]
    assert result.column("units of the tree") == [3, 9, 21]
    assert result.column("its layers") == [2, 4, 6]
    assert result.column("right") == result.column("right in the tree") == [4, 16, 256]


@pytest.mark.notes("N2.19")
def test_pieces_double_with_every_layer():
    result = linear_piece_counts(layers=(1, 2, 5, 8)).check()
    assert result.column("pieces of k layers") == result.column("its pieces") == [2, 4, 32, 256]
    assert result.column("most in a random layer")[-1] <= 17 < 255 <= result.column("units of a layer that does it")[-1]


def test_a_wrong_count_of_pieces_is_noticed(monkeypatch):
    import lamina.experiments.depth as module

    monkeypatch.setattr(module, "tent_map", module.shallow_tent_map)
    linear_piece_counts(layers=(2,)).check()  # the same function, so as many pieces
    monkeypatch.setattr(module, "tent_map", lambda k: module.shallow_tent_map(k + 1))
    with pytest.raises(ClaimError, match=r"k layers of width 2 have 2\^k pieces"):
        linear_piece_counts(layers=(2,)).check()
    monkeypatch.setattr(module, "parity_tree", module.shallow_parity)
    with pytest.raises(ClaimError, match="the tree takes"):
        parity_sizes((4,)).check()


@pytest.mark.notes("N2.20")
def test_depth_suits_compositions(unchecked):
    shallow, deep, given = composition(seeds=3).check().rows
    assert (shallow[:2], deep[:2]) == (("1-197-1", 592), ("1-16-16-16-1", 593))
    assert shallow[2] == pytest.approx(0.5, abs=0.05)  # hardly better than the constant, whose error is 0.58
    assert deep[2] < 0.1 and given[1] == parameter_count((1, 2, 2, 2, 1)) and given[2] < 1e-6


def test_claims_about_compositions_can_fail(unchecked):
    with pytest.raises(ClaimError, match="the deep one is better"):
        composition(seeds=2, steps=2).check()
    with pytest.raises(ClaimError, match="the same number of parameters"):
        composition(seeds=1, steps=2, hidden=((190,), (16, 16, 16))).check()


@pytest.mark.notes("N2.21")
def test_deep_and_shallow_are_compared_but_not_ranked():
    result = deep_and_shallow(seeds=2, epochs=6).check()
    assert result.column("network") == ["64-60-10", "64-32-32-32-10", "30-96-2", "30-32-32-32-2"]
    assert result.column("parameters") == [4510, 4522, 3170, 3170]
    assert min(result.column("accuracy")) > 0.85
    assert not any("better" in claim.sentence or "beat" in claim.sentence for claim in result.claims)
    small = deep_and_shallow(seeds=1, epochs=1, data=("breast-cancer",))
    assert small.rows == deep_and_shallow(seeds=1, epochs=1, data=("breast-cancer",)).rows


def test_claims_about_equal_budgets_can_fail():
    with pytest.raises(ClaimError, match="every network learns"):
        deep_and_shallow(seeds=1, epochs=1, deep=(1, 1, 1, 1), data=("digits",)).check()


@pytest.mark.notes("N2.25")
def test_deep_sigmoid_networks_stay_at_chance(unchecked):
    result = deep_training(seeds=2).check()
    flat, sigmoid, tanh, relu = result.rows
    assert flat[4] == pytest.approx(0.88, abs=0.04) and sigmoid[4] == pytest.approx(0.5, abs=0.03)
    assert tanh[4] > 0.95 and relu[4] > 0.93
    # the sigmoid's slope is at most 1/4, so that 19 layers pass at most 4^-19 = 4e-12 of it
    assert sigmoid[3] < 1e-10 and all(0.01 < row[3] < 10 for row in (flat, tanh, relu))


def test_claims_about_deep_training_can_fail(unchecked):
    learns = (2, "sigmoid", "xavier", 1.0), (20, "tanh", "xavier", 1.0), (20, "relu", "he", 1.0)
    with pytest.raises(ClaimError, match="tanh with L = 20 stays at chance"):
        deep_training(seeds=1, steps=100, starts=learns).check()


@pytest.mark.slow
@pytest.mark.notes("N2.25")
def test_deep_training_at_full_size():
    """The catalogue has 0.88-0.92, 0.48-0.50 and 0.995-1.0, from other draws."""
    flat, sigmoid, tanh, relu = deep_training(count=512, steps=400, least=0.98).check().rows
    assert 0.86 < flat[6] <= flat[7] < 0.93 and 0.47 < sigmoid[6] <= sigmoid[7] < 0.53
    assert tanh[4] > 0.99 and relu[4] > 0.985


@pytest.mark.notes("N2.25")
def test_the_example_keeps_its_promise():
    done = script(SCRIPT)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [float(line[-1]) > 0.9 for line in lines[1:]] == [False, False, True, True]
    assert not math.isnan(float(lines[1][-1]))


@pytest.mark.slow
def test_the_example_fails_below_its_promise():
    assert script(SCRIPT, "--target", "1.01").returncode == 1
