"""The work of the page ch5/translation: numbers by hand, and what the notes say of them."""

import pytest

from lamina.experiments.translation_toy import PAIRS
from lamina.pages.chapters.ch5.translation._work import by_heart


@pytest.mark.slow
@pytest.mark.notes("N5.49")
def test_twelve_sentences_are_learned_by_heart():
    last = list(by_heart("gru"))[-1]
    assert last["right"] == 12
    assert last["said"] == [german for _, german in PAIRS]
