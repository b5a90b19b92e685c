import math

import pytest

from lamina.experiments.clipping_rnn import clipping_and_memory
from lamina.experiments.result import ClaimError


@pytest.mark.notes("N5.28")
def test_clipping_cures_explosion_and_not_vanishing():
    result = clipping_and_memory(seeds=2, steps=60).check()
    wild, tamed, calm, same = result.rows
    assert math.isnan(wild[3]) and wild[2] == tamed[2] > 1e9 and tamed[3] < 1e-3 * tamed[2]
    assert calm[2:] == same[2:] and calm[3] == pytest.approx(math.log(2), abs=0.02)


def test_claims_about_clipping_can_fail():
    with pytest.raises(ClaimError, match="exploding gradients without clipping make the run diverge"):
        clipping_and_memory(seeds=1, steps=1, length=3, gap=3).check()


@pytest.mark.slow
@pytest.mark.notes("N5.28")
def test_clipping_cures_explosion_and_not_vanishing_in_full():
    clipping_and_memory().check()
