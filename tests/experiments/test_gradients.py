import math
from itertools import pairwise

import pytest

from lamina.experiments.gradients import _deep_flow, gradients_by_layer, identity_term, products, residual_exceptions
from lamina.experiments.result import ClaimError


@pytest.mark.notes("N4.02", "N4.03")
def test_products_need_a_bound_for_all_layers():
    result = products().check()
    assert result.column("all below 1") == [True, True, True, False, False]
    half, low, negative, high, _ = result.column("L = 100")
    assert half == 0.5**100 and negative == 2.0**100 and low == pytest.approx(102 / 202)
    assert high == pytest.approx(math.prod(1 + 1 / j**2 for j in range(1, 101)))


@pytest.mark.notes("N4.12")
def test_gradients_vanish_without_skip_connections():
    result = gradients_by_layer(seeds=3).check()
    assert result.column("layer") == list(range(21))
    assert all(values[-1] == pytest.approx(1) for values in map(result.column, result.columns[1:]))
    fnn = result.column("sigmoid FNN")
    assert all(before < after < 6 * before for before, after in pairwise(fnn))  # by at most 1/4
    assert len(result.series()) == 4 and result.plot.log_y


def test_a_residual_flow_has_as_many_matrices_as_layers():
    flow = _deep_flow("ResNet", "tanh", 0.01, depth=3, width=4, seed=0)
    assert len(flow.weights) == 3 and [tuple(y.shape) for y in flow.features] == [(128, 4)] * 4
    with pytest.raises(ClaimError, match="they vanish in the FNN"):
        gradients_by_layer(seeds=1, depth=5).check()


@pytest.mark.notes("N4.11")
def test_residual_networks_can_vanish_and_explode():
    negative, dead, large, small = residual_exceptions(seeds=2).check().rows
    assert negative[1] == pytest.approx(1e-20, rel=1e-6)
    assert dead[2] == 0 and large[2] > 1e9 and small[1] < 2


@pytest.mark.notes("N4.10")
def test_the_identity_survives_in_every_factor():
    result = identity_term(seeds=2, depths=(1, 3, 12)).check()
    assert max(result.column("autograd apart")) < 1e-13
    assert result.column("without")[-1] < 1e-5 < 1 < result.column("with the identity")[-1]
