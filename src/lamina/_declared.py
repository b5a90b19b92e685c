"""What an option is declared to be: read a word of a command line as that, and check a value against it.

Loaders, recipes and configurations declare their options once, by annotations; whoever takes options from people asks
here, so that `decimal=,` is a text, `drop=Ticket` a list of one column and `batch_size=1.5` an error.
"""

import ast
import csv
import math
import re
from numbers import Integral, Real
from types import UnionType
from typing import Any, Union, get_args, get_origin

from lamina._errors import ArgumentError

_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_ORDER = (type(None), bool, int, float)
LARGEST = 2**63


def read(name: str, text: str, hint: Any) -> Any:
    """Read a text as what an option is declared to be.

    Args:
        name: what messages call the option.
        text: what was typed.
        hint: the annotation of the option.

    >>> read("decimal", ",", str), read("drop", "Ticket", list[str]), read("hidden", "8,4", int | list[int])
    (',', ('Ticket',), (8, 4))
    >>> read("learning_rate", "0,01", float)
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `learning_rate` must be a number, got '0,01': write 0.01.
    """
    for part in sorted(_parts(hint), key=lambda part: _ORDER.index(part) if part in _ORDER else len(_ORDER)):
        try:
            return _as(text, part, alone=not any(_is_list(other) for other in _parts(hint)))
        except ValueError:
            continue
    raise ArgumentError(f"`{name}` must be {words(hint)}, got {text!r}{_way_out(text, hint)}.")


def write(value: Any) -> str:
    """Write a value as `read` reads it.

    >>> write([16]), write(["a, b", "c"]), write(True), write(None)
    ('16,', "['a, b', 'c']", 'true', 'none')
    """
    if isinstance(value, list | tuple):
        if any(isinstance(part, str) and "," in part for part in value):
            return repr([str(part) for part in value])
        return ",".join(map(write, value)) + ("," if len(value) == 1 else "") if value else "[]"
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def check(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that is not what an option is declared to be.

    >>> check("batch_size", 1.5, int)
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `batch_size` must be a whole number, got 1.5: write 2.
    """
    if isinstance(value, float) and not math.isfinite(value) and float in _parts(hint):
        raise ArgumentError(f"`{name}` must be finite, got {value}.")
    if not fits(value, hint):
        raise ArgumentError(f"`{name}` must be {words(hint)}, got {value!r}{_way_out(str(value), hint)}.")


def fits(value: Any, hint: Any) -> bool:
    """Say whether a value is what an option is declared to be; what no rule knows fits.

    >>> fits(1, float), fits(1.5, int), fits(True, int), fits((8, 4), int | list[int])
    (True, False, False, True)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in inner)
    if hint in (float, int):
        return isinstance(value, Real if hint is float else Integral) and not isinstance(value, bool)
    if isinstance(hint, type) and origin is None and hint is not Any:
        return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
    if _is_list(hint):
        several = isinstance(value, tuple | list) and len(value) == (_length(hint) or len(value))
        return several and all(fits(part, inner[0]) for part in value)
    return True


def words(hint: Any, *, sizes: str = "128,64", names: str = "relu,tanh") -> str:
    """Name what an option is declared to be.

    Args:
        hint: the annotation of the option.
        sizes: how several numbers are written.
        names: how several words are written.

    >>> words(int | None), words(list[str]), words(tuple[int, int])
    ('a whole number or none', 'words such as relu,tanh', '2 sizes such as 8,8')
    """
    known = {float: "a number", int: "a whole number", bool: "true or false", str: "a word", type(None): "none"}

    def several(part: Any) -> str:
        if count := _length(part):
            return f"{count} sizes such as {','.join(['8'] * count)}"
        return f"sizes such as {sizes}" if int in _parts(_inner(part)) else f"words such as {names}"

    return " or ".join(dict.fromkeys(known.get(part) or several(part) for part in _parts(hint)))


def _parts(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _inner(hint: Any) -> Any:
    return get_args(hint)[0] if get_args(hint) else None


def _length(hint: Any) -> int:
    """Give the number of values of tuple[int, int]; 0 where it is free."""
    inner = get_args(hint)
    return len(inner) if get_origin(hint) is tuple and ... not in inner else 0


def _is_list(hint: Any) -> bool:
    return get_origin(hint) is not None and bool(get_args(hint)) and get_origin(hint) not in (Union, UnionType)


def _as(text: str, hint: Any, alone: bool) -> Any:
    """Read a text as one kind of value, or raise ValueError; a word with a comma is a list where there may be one."""
    plain = text.strip()
    if hint is type(None) and plain.lower() == "none":
        return None
    if hint is bool and plain.lower() in _TRUTH:
        return _TRUTH[plain.lower()]
    if hint is int and abs(number := int(plain)) < LARGEST:
        return number
    if hint is float and math.isfinite(real := float(plain)):
        return real
    if _is_list(hint):
        found = tuple(read("", part, _inner(hint)) for part in _listed(plain))
        if not found and plain not in ("()", "[]"):
            raise ValueError(text)
        return found
    if hint is str and text and (alone or ("," not in text and not plain.startswith(("[", "(")))):
        return text
    if hint not in (type(None), bool, int, float, str):  # nothing is known about it
        return text
    raise ValueError(text)


def _listed(text: str) -> list[str]:
    """Take a list apart: a,b or [a, b] or ["a, b", "c"] or (a,)."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if isinstance(value, list | tuple):
        return [str(part) for part in value]
    if re.fullmatch(r"\[.*\]|\(.*\)", text):
        text = text[1:-1]
    return [
        part.strip()
        for part in next(csv.reader([" ".join(text.splitlines())], skipinitialspace=True), [])
        if part.strip()
    ]


def _way_out(text: str, hint: Any) -> str:
    """Suggest the number that was probably meant."""
    decimal = re.fullmatch(r"\s*([+-]?\d+),(\d+)\s*", text)
    if decimal and float in _parts(hint):
        return f": write {decimal[1]}.{decimal[2]}"
    try:
        meant = float(text)
    except ValueError:
        return ""
    if not math.isfinite(meant):
        return ": it must be finite" if float in _parts(hint) else ""
    if int in _parts(hint) and float not in _parts(hint):
        return f": write {round(meant)}" if abs(meant) < 1e15 else ": that is too large"
    return ""
