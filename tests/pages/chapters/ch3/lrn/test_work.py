"""The work of the page ch3/lrn: numbers by hand, and what the notes say of them."""

import pytest

from lamina.pages.chapters.ch3.lrn._work import dropout_race


@pytest.mark.slow
@pytest.mark.notes("N3.57")
def test_the_race_shows_the_gap_that_dropout_closes():
    last = list(dropout_race(0.5, 0.2, 0))[-1]
    gaps = [seen - unseen for seen, unseen in zip(last["seen"], last["unseen"], strict=True)]
    assert (
        last["epoch"] == 60 and last["seen"][0] > 0.99 and gaps[1] < gaps[0] and last["unseen"][1] > last["unseen"][0]
    )


def test_the_race_yields_plain_rows():
    rows = list(dropout_race(0.5, 0.0, 1, epochs=2))
    assert [row["epoch"] for row in rows] == [1, 2] and all(0 <= v <= 1 for row in rows for v in row["seen"])
    assert rows[1]["seen"][0] > rows[0]["seen"][0] or rows[1]["seen"][1] > rows[0]["seen"][1]
