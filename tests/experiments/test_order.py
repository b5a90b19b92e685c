import pytest

from lamina.experiments.bidirectional import next_input_task, seen_from_the_middle
from lamina.experiments.lengths import unseen_lengths
from lamina.experiments.order import order_counts
from lamina.experiments.result import REGISTRY, ClaimError
from lamina.experiments.translation_toy import learned_by_heart


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
