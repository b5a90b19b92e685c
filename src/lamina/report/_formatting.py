"""Numbers, times and names as people read them."""

import math
import re
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

NOTHING = "–"
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_ABSOLUTE = re.compile(r"(?<![\w./:~-])(?:/|[A-Za-z]:[\\/])(?:[^\s/\\'\"`<>|:;,]+[/\\])+([^\s/\\'\"`<>|:;,]*)")


def finite(value: Any) -> float | None:
    """Give a number as a float, or None where there is none: null, NaN and infinity."""
    if value is None:
        return None
    real = float(value)
    return real if math.isfinite(real) else None


def number(value: Any, digits: int = 4, *, padded: bool = False) -> str:
    """Write a number with so many significant digits, whole ones in full; `padded` keeps zeros at the end."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    real = finite(value)
    if real is None:
        return NOTHING
    return f"{real:,.0f}" if 1e4 <= abs(real) < 1e9 else f"{real:{'#' if padded else ''}.{digits}g}"


def percent(share: Any) -> str:
    """Write a share of 1 in percent; what is not quite all never reads 100."""
    real = finite(share)
    if real is None:
        return NOTHING
    if real in (0.0, 1.0):
        return f"{real:.0%}"
    return f"{real:.1%}" if 0.0005 <= real < 0.9995 else f"{real:.2%}"


def duration(seconds: float) -> str:
    """Write a time span."""
    if seconds < 0.1:
        return "under 0.1 s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def shape(sizes: Any) -> str:
    """Write the shape of a tensor."""
    return "×".join(map(str, sizes)) or "one number"


def plain(value: Any) -> str:
    """Write a value of a configuration."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return NOTHING if value is None else str(value)


def base_name(source: str) -> str:
    """Shorten an absolute path to its last part, so that a report says nothing about the machine."""
    for kind in (PurePosixPath, PureWindowsPath):
        path = kind(source)
        if path.is_absolute():
            return path.name or "data"
    return source


def scrub(text: str, source: str = "") -> str:
    """Take absolute paths out of a sentence, that of the data first, for it may have spaces."""
    if source and base_name(source) != source:
        text = text.replace(source, base_name(source))
    return _ABSOLUTE.sub(lambda match: match[1] or "…", text)


def printable(text: str) -> str:
    """Replace characters that no file of text may hold."""
    return _UNPRINTABLE.sub("\ufffd", text)
