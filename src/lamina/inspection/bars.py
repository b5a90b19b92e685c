"""Bars and short numbers for tables of plain text."""

from collections.abc import Sequence

EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int = 8) -> str:
    """Draw a part of a whole as a bar, to an eighth of a letter; what is not zero is never invisible.

    >>> bar(0.5, 4), bar(1.0, 4), bar(0.001, 4), bar(0.0, 4)
    ('██', '████', '▏', '')
    """
    eighths = round(min(max(share, 0.0), 1.0) * 8 * width)
    if share > 0:
        eighths = max(eighths, 1)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def short(number: float, units: Sequence[str] = ("", "k", "M", "G", "T", "P"), base: int = 1000) -> str:
    """Write a number with three digits and a letter for its size.

    >>> short(0), short(950), short(235200), short(3.628e9)
    ('0', '950', '235k', '3.63G')
    """
    place = 0
    while abs(number) >= base and place < len(units) - 1:
        number, place = number / base, place + 1
    return f"{number:.0f}{units[place]}" if place == 0 else f"{number:.3g}{units[place]}"


def short_bytes(number: float) -> str:
    """Write a number of bytes.

    >>> short_bytes(512), short_bytes(3136), short_bytes(249513376)
    ('512 B', '3.06 KiB', '238 MiB')
    """
    return short(number, (" B", " KiB", " MiB", " GiB", " TiB"), 1024)
