import pytest

from lamina.experiments.dropout import dropout_gap
from lamina.experiments.result import ClaimError


@pytest.mark.notes("N3.57")
def test_dropout_narrows_the_gap(unchecked):
    result = dropout_gap(seeds=1, count=100, width=128).check()
    without, dropped, *_ = result.rows
    assert without[2] == 1 and dropped[2] < 1 and without[4] > dropped[4] + 0.05
    assert result.column("wrong labels") == [0.2, 0.2, 0.0, 0.0]


def test_claims_about_dropout_can_fail(unchecked):
    with pytest.raises(ClaimError, match="learned by heart"):
        dropout_gap(seeds=1, epochs=1, width=16).check()


@pytest.mark.slow
@pytest.mark.notes("N3.57")
def test_with_more_seeds():
    dropout_gap(seeds=6).check()
