"""The work of the page ch1/overfitting: numbers by hand, and what the notes say of them."""

import pytest

from lamina.pages.chapters.ch1.overfitting._work import overfit


@pytest.mark.notes("N1.44")
def test_a_wide_network_overfits():
    rows = list(overfit(10, 32, 300, 0, check_every=50))
    assert [row["step"] for row in rows] == [50, 100, 150, 200, 250, 300]
    assert rows[-1]["training"] < rows[0]["training"]
    assert min(row["validation"] for row in rows) < rows[-1]["validation"]
