"""The work of the page ch4/vanishing: numbers by hand, and what the notes say of them."""

import pytest

from lamina.pages.chapters.ch4.vanishing._work import both


@pytest.mark.slow
@pytest.mark.notes("N4.13")
def test_twenty_layers_learn_only_with_skip_connections():
    *_, last = both(20, "sigmoid, Xavier")
    assert last["FNN"]["validation_accuracy"] < 0.6 and last["ResNet"]["validation_accuracy"] > 0.9
