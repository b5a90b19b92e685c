"""Order, lengths, directions, translation: what recurrent networks can do that others cannot."""

import jaxtyping
import pytest

from lamina.experiments.bidirectional import next_input_task, seen_from_the_middle
from lamina.experiments.lengths import unseen_lengths
from lamina.experiments.order import order_counts
from lamina.experiments.result import REGISTRY, ClaimError
from lamina.experiments.translation_toy import PAIRS, learned_by_heart


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    """Switch the shape checker off, which costs more than a small update."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def test_registered():
    wanted = {"N5.01": order_counts, "N5.14": unseen_lengths, "N5.18": seen_from_the_middle,
              "N5.19": seen_from_the_middle, "N5.20": next_input_task,
              "N5.03": learned_by_heart, "N5.49": learned_by_heart}  # fmt: skip
    assert {key: REGISTRY[key] for key in wanted} == wanted


@pytest.mark.notes("N5.01")
def test_only_the_order_counts():
    result = order_counts(seeds=2, length=6, steps=200, hidden=16).check()
    assert result.rows[0][1:4] == (0.5, 0.5, 0.5)
    assert result.column("network") == ["counts", "rnn", "gru", "lstm"]


def test_claims_about_order_can_fail():
    with pytest.raises(ClaimError, match="recurrent networks of every kind solve it"):
        order_counts(seeds=1, length=6, steps=1, hidden=4).check()


@pytest.mark.slow
@pytest.mark.notes("N5.01")
def test_only_the_order_counts_in_full():
    order_counts().check()


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


@pytest.mark.notes("N5.03", "N5.49")
def test_sentences_learned_by_heart_end_by_themselves():
    result = learned_by_heart(seeds=2, steps=100, variants=("gru",)).check()
    assert result.rows[0][2:] == (len(PAIRS), 12, "heute scheint die sonne")
    lengths = [tuple(len(text.split()) for text in pair) for pair in PAIRS]
    assert lengths[0] == (5, 4)


def test_claims_about_translation_can_fail():
    result = learned_by_heart(seeds=1, steps=1, variants=("gru",))
    with pytest.raises(ClaimError, match="ends by itself"):
        result.check()


@pytest.mark.slow
@pytest.mark.notes("N5.03", "N5.49")
def test_sentences_are_learned_by_heart_in_full():
    learned_by_heart().check()
