"""The order of examples: a pure function of seed and epoch."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.training.order import epoch_order


@pytest.mark.notes("N1.42", "N1.45")
@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 2**31), st.integers(0, 100))
@settings(max_examples=40, deadline=None)
def test_an_epoch_is_a_permutation_and_draws_are_within_bounds(n, b, seed, epoch):
    b = min(b, n)
    assert epoch_order(n, b, "epoch", seed, epoch).sort().values.equal(torch.arange(n))
    for sampling in ("with-replacement", "without-replacement"):
        order = epoch_order(n, b, sampling, seed, epoch)
        assert len(order) == n // b * b and 0 <= order.min() and order.max() < n
    batches = epoch_order(n, b, "without-replacement", seed, epoch).split(b)
    assert all(len(batch.unique()) == b for batch in batches)


def test_seed_and_epoch_decide_and_nothing_else():
    before = torch.random.get_rng_state()
    first = epoch_order(100, 10, "epoch", 1, 2)
    assert first.equal(epoch_order(100, 10, "epoch", 1, 2))
    assert not first.equal(epoch_order(100, 10, "epoch", 1, 3)) and not first.equal(epoch_order(100, 10, "epoch", 2, 2))
    assert before.equal(torch.random.get_rng_state())
