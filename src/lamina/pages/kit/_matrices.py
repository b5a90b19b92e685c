"""Read a matrix that a visitor types: rows on lines of their own or behind semicolons, numbers between spaces."""

import math
import re

from lamina._errors import DataError

LARGEST = 8
"""How many rows and columns a typed matrix may have; more cannot be read on a page."""


def read_matrix(text: str, name: str = "the matrix", most: int = LARGEST) -> list[list[float]]:
    """Read typed numbers as the rows of a matrix.

    Args:
        text: the numbers; between two of them stands a space or a comma, between two rows a new line or a semicolon.
        name: what the matrix is called, for the sentences that say what is wrong.
        most: how many rows and columns there may be.

    Raises:
        DataError: with a sentence about what cannot be read.

    >>> read_matrix("1 -2.5; 3 4")
    [[1.0, -2.5], [3.0, 4.0]]
    """
    lines = [line for line in re.split(r"[;\n]", text.replace("−", "-")) if line.strip()]
    rows = [[_number(word, name) for word in re.split(r"[\s,]+", line.strip()) if word] for line in lines]
    if not rows:
        raise DataError(f"{name} is empty: type rows of numbers, such as 1 2; 3 4.")
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise DataError(
            f"every row of {name} must have as many numbers as the others, got {' and '.join(map(str, lengths))}."
        )
    if max(len(rows), lengths[0]) > most:
        raise DataError(f"{name} may have at most {most} rows and columns, got {len(rows)} x {lengths[0]}.")
    return rows


def _number(word: str, name: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise DataError(f"{name} must hold numbers, got {word[:20]!r}: write them as 3 or -0.5.") from None
    if not math.isfinite(value) or abs(value) >= 1e6:
        raise DataError(f"{name} must hold numbers below a million, got {word[:20]}.")
    return value
