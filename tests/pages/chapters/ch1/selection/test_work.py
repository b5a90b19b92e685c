"""The work of the page ch1/selection: numbers by hand, and what the notes say of them."""

from lamina.pages.chapters.ch1.selection._work import MOMENTA, RATES, grid


def test_grid_gives_a_row_for_each_momentum():
    rows = list(grid(3, 1, 0))
    assert [row["momentum"] for row in rows] == list(MOMENTA)
    assert all(row["run"] == 3 and len(row["losses"]) == len(RATES) for row in rows)
    assert rows[0]["losses"][0] > rows[0]["losses"][2]  # one epoch with a tiny step learns little
