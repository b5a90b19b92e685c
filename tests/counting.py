"""A small work for tests: it counts."""

import time
from collections.abc import Iterator


def count(to: int, pause: float = 0.02, fail_at: int | None = None) -> Iterator[int]:
    """Count up to a number, slowly.

    Args:
        to: the last number.
        pause: seconds before each.
        fail_at: the number that cannot be counted.

    >>> list(count(3, pause=0))
    [1, 2, 3]
    """
    for number in range(1, to + 1):
        time.sleep(pause)
        if number == fail_at:
            raise ValueError(f"{number} cannot be counted")
        yield number


def fill(size: int) -> Iterator[int]:
    """Take so many bytes of memory, and write to them.

    >>> list(fill(10))
    [10]
    """
    yield len(bytearray(b"x") * size)


def length(word: str) -> int:
    """Count letters; an empty word is refused.

    >>> length("ab")
    2
    """
    from lamina._errors import DataError

    if word == "":
        raise DataError("an empty word has no length")
    return len(word)


def rarely(to: int, seconds: float) -> Iterator[int]:
    """Count, and tell a number only when it is due.

    Args:
        to: the last number.
        seconds: between two numbers that are told.

    >>> list(rarely(3, 100.0))
    [1]
    """
    from lamina.pages.kit._races import paced

    for number, due in paced(range(1, to + 1), seconds):
        if due:
            yield number
