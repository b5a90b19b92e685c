import pytest

from lamina.experiments.bidirectional import next_input_task, seen_from_the_middle
from lamina.experiments.result import ClaimError


@pytest.mark.notes("N5.18", "N5.19")
def test_two_directions_see_all_and_most_strongly_nearby():
    result = seen_from_the_middle().check()
    forward, both = result.column("forward"), result.column("both directions")
    assert forward[11:] == [0.0] * 10 and min(forward[:11]) > 0
    assert both[10] == 1.0 and 0.1 < both[9] < 0.3 and 0.1 < both[11] < 0.3
    assert both[0] < 5e-3 and both[20] < 5e-3


@pytest.mark.notes("N5.20")
def test_the_next_input_takes_two_directions():
    result = next_input_task(seeds=2, steps=100, cells=("rnn", "gru")).check()
    assert result.column("directions") == [1, 2, 1, 2]


def test_claims_about_directions_can_fail():
    with pytest.raises(ClaimError, match="two directions solve it"):
        next_input_task(seeds=1, steps=1, cells=("rnn",)).check()


@pytest.mark.slow
@pytest.mark.notes("N5.20")
def test_the_next_input_takes_two_directions_in_full():
    next_input_task().check()
