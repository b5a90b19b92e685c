import pytest

from lamina.experiments.lengths import unseen_lengths
from lamina.experiments.result import ClaimError


@pytest.mark.notes("N5.14")
def test_lengths_never_seen_are_handled():
    result = unseen_lengths(seeds=2, tested=(5, 20, 50), steps=150, hidden=12).check()
    assert result.column("seen") == [True, False, False] * 3
    # h on [h; u] with n_h = 12, n_u = 2, and two outputs: the same numbers for every length
    counts = [gates * (12 * 14 + 12) + 2 * 12 for gates in (1, 3, 4)]
    assert result.column("parameters") == [count for count in counts for _ in range(3)]


def test_claims_about_lengths_can_fail():
    with pytest.raises(ClaimError, match="right for every length"):
        unseen_lengths(seeds=1, tested=(5,), steps=1, hidden=4).check()


@pytest.mark.slow
@pytest.mark.notes("N5.14")
def test_lengths_never_seen_are_handled_in_full():
    unseen_lengths().check()
