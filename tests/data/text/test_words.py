import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.text.strategies import texts
from lamina.data.text import words
from lamina.data.text.words import _clean, _is_punctuation, _join_words, split_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The sun, the moon!", ["The", "sun", ",", "the", "moon", "!"]),
        ("Don't pay 10,000.50 at 10:30", ["Don't", "pay", "10,000.50", "at", "10:30"]),
        ("T-shirt - it's rock'n'roll", ["T-shirt", "-", "it's", "rock'n'roll"]),
        ("3 .5, 3.", ["3", ".", "5", ",", "3", "."]),
        ("a_b c/d", ["a_b", "c", "/", "d"]),
        ("wait...", ["wait", ".", ".", "."]),
        ("  ", []),
        ("", []),
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा", "।"]),
        ("שלום, עולם", ["שלום", ",", "עולם"]),
        ("hello שלום world", ["hello", "שלום", "world"]),
        ("世界。", ["世界", "。"]),
        ("👩‍👩‍👧👍🏽🇩🇪🇫🇷", ["👩‍👩‍👧", "👍🏽", "🇩🇪", "🇫🇷"]),
        ("1️⃣ ❤️!", ["1️⃣", "❤️", "!"]),
        ("zero\u200bwidth soft\u00adhyphen \u202eright\u202c", ["zerowidth", "softhyphen", "right"]),
        ("cafe\u0301", ["café"]),
        ("half \ud83d", ["half", "\ufffd"]),
        ("a\x00b\x1fc", ["a", "b", "c"]),
    ],
)
def test_words_of_a_text(text, expected):
    assert split_words(text) == expected
    assert split_words(_join_words(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Hello, world!",
        'He said "yes, sir" and left (in a hurry).',
        "Er sagte „ja“, sie “no” und »vielleicht«.",
        "It costs $5, that is 10% of what #2 wants; isn't it?",
        "¿Qué? ¡Sí!",
    ],
)
def test_joining_puts_marks_where_they_were(text):
    assert _join_words(split_words(text)) == text


@given(texts)
@settings(max_examples=300, deadline=None)
def test_splitting_a_joined_text_gives_the_same_words(text):
    found = split_words(text)
    assert split_words(_join_words(found)) == found
    assert "".join(found).split() == ["".join(found)] * bool(found)  # no spaces within words


@given(st.text(alphabet=st.characters(max_codepoint=0x2AF), max_size=50))
@settings(max_examples=200, deadline=None)
def test_the_fast_way_splits_as_the_slow_one(text):
    text = _clean(text)
    if words._PLAIN.fullmatch(text):
        assert words._FAST.findall(text) == words._split_any(text)


def test_punctuation_is_not_an_emoji():
    assert [_is_punctuation(mark) for mark in (",", "—", "।", "$", "😀", "_", "a")] == [True] * 3 + [False] * 4
