import pytest

from lamina.experiments.agreement import accuracy_against_gap
from lamina.experiments.result import ClaimError


@pytest.mark.notes("N5.24", "N5.25")
def test_only_an_open_memory_reaches_over_a_long_gap():
    result = accuracy_against_gap(seeds=3, gaps=(5, 40), steps=100, hidden=16).check()
    far = {row[1:3]: row for row in result.rows if row[0] == 40}
    assert far["gru", 3.0][7] <= 100 and far["lstm", 3.0][7] <= 100 and far["lstm", None][7] is None


def test_claims_about_the_gap_can_fail():
    with pytest.raises(ClaimError, match="over 5 words cells of every kind are right"):
        accuracy_against_gap(seeds=1, gaps=(5,), steps=1, hidden=4).check()


@pytest.mark.slow
@pytest.mark.notes("N5.24", "N5.25")
def test_only_an_open_memory_reaches_over_a_long_gap_in_full():
    accuracy_against_gap().check()
