"""The secret of a class: made at random unless one is given, of characters that an address carries, slow to guess."""

import hmac
import re
import secrets
import time
from collections.abc import Callable

from lamina._errors import ArgumentError

LENGTH = 16
"""Characters of a token that is made here: 96 random bits."""
SHORTEST = 8
"""Characters of a token of the user's own."""
FREE, WAIT = 5, 2.0
"""Wrong guesses that an address has free, and the seconds that each further one costs it."""
_MOST = 10_000
"""Addresses whose guesses are remembered."""


def make() -> str:
    """Return a new token.

    >>> len(make()), make() != make(), check(make())
    (16, True, None)
    """
    return secrets.token_urlsafe(LENGTH * 3 // 4)


def check(token: str) -> None:
    """Refuse a token that an address or a cookie cannot carry, or that is guessed too soon.

    Raises:
        ArgumentError: it has other characters, or too few.
    """
    if bad := re.search(r"[^A-Za-z0-9._~-]", token):
        raise ArgumentError(
            f"`--token` may have letters from a to z, digits and . _ ~ - alone, since an address has to carry it, got "
            f"{bad[0]!r}: choose another one, or leave it out, and one is made."
        )
    if len(token) < SHORTEST:
        raise ArgumentError(
            f"`--token` must have at least {SHORTEST} characters, got {len(token)}: choose a longer one, or leave it "
            f"out, and one of {LENGTH} random characters is made."
        )


class Guesses:
    """Compares what visitors show with the token; an address that is often wrong has to wait.

    Args:
        token: the secret.
        clock: gives seconds.
    """

    def __init__(self, token: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._token, self._clock = token.encode(), clock
        self._debts: dict[str, float] = {}

    def wait(self, address: str) -> float:
        """Return the seconds that an address has to wait before its next guess is looked at.

        Args:
            address: where guesses come from.
        """
        return max(0.0, self._debts.get(address, 0.0) - self._clock() - (FREE - 1) * WAIT)

    def right(self, address: str, word: str) -> bool:
        """Say whether a guess is right; a wrong one is remembered. Nobody asks while the address has to wait.

        Args:
            address: where it comes from.
            word: the guess.
        """
        if hmac.compare_digest(word.encode(), self._token):
            return True
        now = self._clock()
        if len(self._debts) >= _MOST:
            self._debts = {key: until for key, until in self._debts.items() if until > now}
        self._debts[address] = max(now, self._debts.get(address, 0.0)) + WAIT
        return False
