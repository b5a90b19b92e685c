"""What every task answers, or refuses with a way out."""

import pytest

from lamina._errors import ArgumentError, DataError
from lamina.training.tasks.task import wrong


def test_who_predicts_and_who_writes(poet, translator, critic):
    with pytest.raises(ArgumentError, match="is a language model, which continues a text: use `write`"):
        poet.predict("ab")
    with pytest.raises(ArgumentError, match="was trained for translation: use `predict`"):
        translator.write("ab")
    with pytest.raises(DataError, match="no text to read, got an empty list"):
        translator.predict([])
    with pytest.raises(DataError, match="trained on texts, got int: give a text"):
        critic.predict(3)
    with pytest.raises(ArgumentError, match="`beams` must be at least 1, got 0"):
        translator.predict("one", beams=0)
    with pytest.raises(ArgumentError, match="`top_k` must be at least 1, got 0"):
        poet.write("a", top_k=0)


def test_wrong_answers_keep_the_order_and_are_cut():
    assert wrong([2, 0, 1], ["a", "b", "c"], ["a", "x", "y"]) == [2, 1]
    assert wrong(range(99), ["a"] * 99, ["b"] * 99) == list(range(24))
