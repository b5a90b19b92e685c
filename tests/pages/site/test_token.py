"""Tokens: what an address can carry, and guesses that get slower."""

import pytest

from lamina._errors import ArgumentError
from lamina.pages.site import _token as token


@pytest.mark.parametrize("word", ["with a blank", "Frühling-2026", "half;other-half", "a+b+c+d+e", "tab\tinside"])
def test_characters_that_an_address_cannot_carry_are_refused(word):
    with pytest.raises(ArgumentError, match="`--token` may have letters from a to z, digits and"):
        token.check(word)


def test_short_tokens_are_refused():
    with pytest.raises(ArgumentError, match=r"`--token` must have at least 8 characters, got 6: choose a longer one"):
        token.check("spring")
    token.check("A.very-long_token~1")


def test_a_token_of_ours_has_at_least_16_random_characters():
    made = {token.make() for _ in range(200)}
    assert len(made) == 200 and all(len(word) >= 16 for word in made)
    assert len(set("".join(made))) > 60, "all letters of the alphabet of base64"


def test_each_wrong_guess_beyond_five_costs_two_seconds():
    now = 100.0
    guesses = token.Guesses("right-token", clock=lambda: now)
    for _ in range(5):
        assert guesses.wait("a") == 0.0 and not guesses.right("a", "wrong")
    assert guesses.wait("a") == 2.0 and guesses.wait("b") == 0.0, "another address need not wait"
    now += 2.0
    assert guesses.wait("a") == 0.0 and not guesses.right("a", "wrong")
    assert guesses.wait("a") == 2.0
    now += 2.0
    assert guesses.right("a", "right-token")


def test_the_memory_for_guesses_is_bounded(monkeypatch):
    monkeypatch.setattr(token, "_MOST", 10)
    now = 0.0
    guesses = token.Guesses("right-token", clock=lambda: now)
    for number in range(100):
        now += 3.0
        guesses.right(str(number), "wrong")
    assert len(guesses._debts) <= 10
