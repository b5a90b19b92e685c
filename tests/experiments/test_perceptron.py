import math

import pytest

from lamina.experiments.perceptron import logical_functions
from lamina.experiments.result import REGISTRY, ClaimError


@pytest.mark.notes("N1.80")
def test_a_neuron_learns_or_and_and_but_not_xor():
    result = logical_functions(seeds=5, epochs=150).check()
    assert REGISTRY["N1.80"] is logical_functions
    rows = {row[:2]: row[2:] for row in result.rows}
    for gate in ("or", "and"):
        assert rows[gate, "perceptron rule"][:2] == rows[gate, "logistic loss"][:2] == (0, 0)
        assert rows[gate, "logistic loss"][2] < 0.05
    assert rows["xor", "perceptron rule"][1] >= 1 and rows["xor", "logistic loss"][1] >= 1
    assert rows["xor", "logistic loss"][2] == pytest.approx(math.log(2), abs=1e-3)
    assert logical_functions(seeds=2, epochs=20).rows == logical_functions(seeds=2, epochs=20).rows


@pytest.mark.slow
@pytest.mark.notes("N1.80")
def test_a_neuron_from_a_hundred_starts():
    logical_functions(seeds=100, epochs=300).check()


def test_the_claims_can_fail():
    with pytest.raises(ClaimError, match="or and xor are learned without error"):
        logical_functions(seeds=2, epochs=50, gates=("or", "xor", "and")).check()
    with pytest.raises(ClaimError, match="or is never below one error"):
        logical_functions(seeds=2, epochs=50, gates=("or", "and", "or")).check()
