import math

import pytest
import torch

from lamina.experiments.initialization import (
    flow,
    large_weights,
    saturation,
    small_weights,
    starting_points,
    symmetry,
    variance_by_layer,
    xavier_rule,
)
from lamina.experiments.result import REGISTRY, ClaimError


def test_registered():
    made = {26: starting_points, 27: symmetry, 28: symmetry, 29: symmetry, 30: small_weights, 31: large_weights}
    made |= {32: saturation, 33: xavier_rule, 34: variance_by_layer, 35: variance_by_layer}
    assert {n: REGISTRY[f"N2.{n}"] for n in made} == made


@pytest.mark.notes("N2.26")
def test_starting_points_decide_and_zero_prevents(unchecked):
    result = starting_points(seeds=6, steps=300).check()
    tanh, tanh_zero, relu, relu_zero = result.rows
    for zero in (tanh_zero, relu_zero):
        assert zero[2] == 0.0 and zero[3] > 0.01
        assert zero[4] == pytest.approx(0.254, abs=1e-3)  # half the variance of the sine at these 64 points
    assert tanh[2] > 0.1 and relu[2] > 0.1 and tanh[6] < 0.01
    short = starting_points(seeds=2, steps=2)
    assert short.rows == starting_points(seeds=2, steps=2).rows
    with pytest.raises(ClaimError, match="lead to different results"):
        starting_points(seeds=1, steps=2).check()  # one start, compared with itself


@pytest.mark.notes("N2.27", "N2.28", "N2.29")
def test_equal_neurons_stay_equal_and_random_ones_differ(unchecked):
    constant, random = symmetry().check().rows
    assert constant[1] < 1e-14 and constant[2] == pytest.approx(0.337, abs=0.01)
    assert constant[3] < 1e-9 and constant[5] == "1" and random[5] == "3"
    assert random[1] > 0.1 and random[3] > 1
    with pytest.raises(ClaimError, match="although they do train"):
        symmetry(seeds=2, steps=0).check()


@pytest.mark.notes("N2.30")
def test_small_weights_make_gradients_vanish_everywhere(unchecked):
    small, good = small_weights(seeds=3, trained=1).check().rows
    assert small[1] == pytest.approx(0.08) and good[1] == pytest.approx(1)
    assert small[2] == pytest.approx(1.1e-22, rel=0.5)
    assert small[3] == pytest.approx(7.8e-21, rel=0.5) and small[5] == pytest.approx(1, abs=0.2)
    assert small[6] == 0.5 and good[6] > 0.95
    with pytest.raises(ClaimError, match="the state gradient vanishes"):
        small_weights(seeds=1, depth=5, trained=1, steps=1).check()


@pytest.mark.notes("N2.31")
def test_large_weights_explode_in_wide_layers_only():
    result = large_weights(seeds=5).check()
    assert result.column("std sqrt(n)") == pytest.approx([0.632, 1, 2, 3.2], abs=1e-3)
    linear, relu, nan = (result.column(name) for name in ("linear", "ReLU", "NaN in float32"))
    assert 1e-11 < linear[0] < 1e-6 and 0.05 < linear[1] < 20 and 1e11 < linear[2] < 1e13
    # one layer multiplies the mean square by n std^2, or half of it with ReLU
    assert math.log2(linear[2]) / 20 == pytest.approx(2, abs=0.2)
    assert math.log2(relu[2]) / 20 == pytest.approx(1, abs=0.2)
    assert nan[:3] == [0, 0, 0] and nan[3] > 0.9
    with pytest.raises(ClaimError, match="some widths lie below"):
        large_weights(seeds=1, widths=(10, 25)).check()


@pytest.mark.notes("N2.32")
def test_large_weights_saturate_tanh():
    narrow, wide, *shallow = saturation().check().rows
    assert narrow[3] == 0 and wide[3] == pytest.approx(0.45, abs=0.03)
    assert [row[3] for row in shallow] == sorted(row[3] for row in shallow) and shallow[-1][3] > 0.9
    assert shallow[-1][4] < 0.03 < shallow[0][4]
    assert wide[5] / wide[6] > 1e3  # the notes expect a small first gradient here: large weights outweigh it
    with pytest.raises(ClaimError, match="20 wide layers: the share"):
        saturation(seeds=1, widths=(25, 100)).check()


def test_the_flow_is_that_of_backpropagation():
    linear = flow("identity", 0.25, depth=3, width=4, samples=2, seed=0)
    again = flow("identity", 0.25, depth=3, width=4, samples=2, seed=0)
    assert linear.weights == again.weights and linear.states == again.states
    assert all(torch.equal(a, b) for a, b in zip(linear.features, again.features, strict=True))
    assert len(linear.features) == 4 and linear.features[0].dtype == torch.float64


@pytest.mark.notes("N2.33")
def test_two_rules_by_the_name_of_xavier():
    result = xavier_rule().check()
    assert result.column("1/sqrt(n_in)") == pytest.approx([0.1, 0.1, 0.0357], abs=1e-4)
    assert result.column("sqrt(2/(n_in+n_out))") == pytest.approx([0.1, 0.0632, 0.0502], abs=1e-4)
    assert result.column("glorot") == result.column("torch xavier_normal_")


@pytest.mark.notes("N2.34", "N2.35")
def test_xavier_keeps_the_variance_of_the_identity_only():
    result = variance_by_layer(seeds=3).check()
    identity, tanh, sigmoid, relu, he = result.rows
    assert identity[4] == pytest.approx(1, abs=0.2)
    assert tanh[2:5] == pytest.approx((0.395, 0.104, 0.026), rel=0.06)
    assert sigmoid[8] == pytest.approx(0.5, abs=0.02)
    assert relu[7] == pytest.approx(9.6e-7, rel=0.4) and he[7] == pytest.approx(1, abs=0.3)
    assert variance_by_layer(seeds=1, width=32).rows == variance_by_layer(seeds=1, width=32).rows
    with pytest.raises(ClaimError):  # too few units for averages
        variance_by_layer(seeds=1, width=4, samples=4).check()
