"""The numbers that the page on vanishing gradients shows."""

import pytest

from lamina.experiments.scalar_chain import scalar_chain


@pytest.mark.notes("N4.08")
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu", "identity"])
@pytest.mark.parametrize("residual", [True, False])
def test_chain_of_the_example_equals_autograd(activation, residual):
    chain = scalar_chain((0.5, -0.4, 0.8), 1.3, 0.7, activation, residual=residual)
    assert chain.formula == pytest.approx(chain.autograd, rel=1e-14)
    for place, branch in enumerate(chain.branches):
        before, after = chain.features[place : place + 2]
        assert after == pytest.approx(branch + before * residual, abs=1e-15)


@pytest.mark.notes("N4.08")
def test_chain_by_hand():
    chain = scalar_chain((2.0, -0.5, 1.0), 1.0, 1.0, "identity")
    assert chain.features == (1.0, 3.0, 1.5, 3.0)
    assert chain.factors == (3.0, 0.5, 2.0)
    assert chain.loss == 2.0
    assert chain.formula == (2.0 * 2.0 * 0.5 * 1.0, 2.0 * 2.0 * 3.0, 2.0 * 1.5)
