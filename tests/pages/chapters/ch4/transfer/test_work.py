"""The work of the page ch4/transfer: numbers by hand, and what the notes say of them."""

import pytest

from lamina.pages.chapters.ch4.transfer._work import BEFORE, digits_twice, own_pictures
from uploads import packed, png


@pytest.mark.slow
@pytest.mark.notes("N4.40")
def test_transfer_is_ahead_of_a_random_start():
    rows = list(digits_twice(200))
    tenth = rows[BEFORE + 9]
    assert tenth["with transfer"]["validation_accuracy"] > tenth["from scratch"]["validation_accuracy"] + 0.1


@pytest.mark.notes("N4.36", "N4.37")
def test_own_pictures_train_the_adapted_network():
    files = {f"{kind}/{i}.png": png(value + i, mode="RGB") for kind, value in (("a", 20), ("b", 200)) for i in range(8)}
    row = next(own_pictures(packed(files)))
    assert sorted(row) == ["epoch", "from scratch", "with transfer"]
