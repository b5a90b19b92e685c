"""The chain with one node per layer: its numbers by hand, and the product of the notes beside automatic derivatives."""

import math

import pytest

from lamina.experiments.scalar_chain import scalar_chain


@pytest.mark.notes("N4.08")
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
def test_the_product_of_the_notes_is_the_derivative(activation, residual):
    chain = scalar_chain((0.7, -0.4, 1.3), 0.8, 0.2, activation, residual=residual)
    assert chain.formula == pytest.approx(chain.autograd, rel=1e-12, abs=1e-15)


def test_two_layers_by_hand():
    chain = scalar_chain((0.5, 2.0), 1.0, 0.0, "tanh")
    first = math.tanh(0.5)
    y1 = 1 + first
    second = math.tanh(2 * y1)
    y2 = y1 + second
    assert chain.features == pytest.approx((1.0, y1, y2)) and chain.branches == pytest.approx((first, second))
    assert chain.factors == pytest.approx((1 + 0.5 * (1 - first**2), 1 + 2 * (1 - second**2)))
    assert chain.loss == pytest.approx(y2**2 / 2)
    slopes = y2 * chain.factors[1] * (1 - first**2), y2 * (1 - second**2) * y1
    assert chain.formula == pytest.approx(slopes)
    plain = scalar_chain((0.5, 2.0), 1.0, 0.0, "tanh", residual=False)
    assert plain.features == pytest.approx((1.0, first, math.tanh(2 * first)))
