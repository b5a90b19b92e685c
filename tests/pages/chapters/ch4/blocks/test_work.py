"""The work of the page ch4/blocks: numbers by hand, and what the notes say of them."""

import pytest

from lamina.pages.chapters.ch4.blocks._work import STEPS, stacks


@pytest.mark.slow
@pytest.mark.notes("N4.28")
def test_deep_stack_of_preactivation_blocks_trains_best():
    *_, last = stacks(50)
    assert last["preactivation"]["loss"] < last["original"]["loss"] < last["plain"]["loss"]
    assert last["plain"]["step"] == STEPS
