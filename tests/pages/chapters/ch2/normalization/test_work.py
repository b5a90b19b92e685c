"""The work of the page ch2/normalization: numbers by hand, and what the notes say of them."""

import pytest

from lamina.pages.chapters.ch2.normalization._work import with_and_without


@pytest.mark.notes("N2.43")
def test_batch_norm_learns_where_the_plain_network_stalls_or_diverges():
    # Seed 1 has settled after 12 epochs; the accuracy of seed 0 still jumps, and to another value on another CPU.
    *_, small = with_and_without(0.01, 10, 100, 0.1, False, epochs=12, seed=1)
    plain, normalized = (own[-1] for own in small["score"])
    assert plain <= 0.65 and normalized >= 0.85 and small["bad"] == [None, None]
    *_, large = with_and_without(0.2, 10, 100, 0.1, False, epochs=3)
    assert large["bad"][0] is not None and large["bad"][1] is None
