"""The work of the page ch5/characters: numbers by hand, and what the notes say of them."""

import pytest

from lamina._errors import ArgumentError, DataError
from lamina.pages.chapters.ch5.characters._work import text_of, thinned, write, writer


def test_character_model_learns_and_writes():
    rows = list(writer("own", "abcd" * 200, hidden=16, steps=120, every=100.0))
    assert [row["step"] for row in rows] == [0, 120]
    assert rows[-1]["losses"][-1] < 0.2 < 1.2 < rows[0]["losses"][0]
    assert write(rows[-1]["network"], "ab", steps=10, temperature=0.0) == "abcdabcdabcd"
    assert rows[-1]["samples"][0] == write(rows[-1]["network"], "", steps=160, temperature=0.0)


def test_texts_of_the_character_model():
    assert text_of("english").startswith("The sun is shining today\n")
    assert "def rnn_step(" in text_of("code")
    with pytest.raises(DataError, match="has 3 characters, but 400 to 2,000,000 are needed"):
        text_of("own", "abc")
    with pytest.raises(ArgumentError, match="`source` must be one of"):
        text_of("french")
    assert thinned([1.0] * 1000) == [1.0] * 250
