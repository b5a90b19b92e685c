"""The library's exceptions: each is a `LaminaError` and the builtin that callers already catch.

A message names the argument, the bound, the value and the way out, as in
"`kernel_size` must be at most the padded input (7), got 9: add padding or use a smaller kernel."
"""

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from numbers import Integral


class LaminaError(Exception):
    """Anything the library refuses to do."""


class ArgumentError(LaminaError, ValueError):
    """An argument has a value outside its bounds."""


class ShapeError(LaminaError, ValueError):
    """A tensor has a shape that does not fit."""


class DataError(LaminaError, ValueError):
    """A file, folder or table cannot be used as it is."""


class RunError(LaminaError, RuntimeError):
    """A run folder cannot be used, or a run could not go on."""


class InstructionError(LaminaError, RuntimeError):
    """The processor cannot run what is asked for; `limit` is the `ONEDNN_MAX_CPU_ISA` that cures it, if one does."""

    def __init__(self, sentence: str, limit: str | None) -> None:
        super().__init__(sentence)
        self.limit = limit


class DataWarning(UserWarning):
    """Data can be used, but the user should know something about them."""


class RunWarning(UserWarning):
    """A run goes on, but the user should know how."""


class MissingExtraError(LaminaError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package!r}: install it with  pip install 'lamina-nn[{extra}]'.")


_FULL = ("allocate memory", "not enough memory", "out of memory", "alloc_failed", "could not create a primitive",
         "storage size calculation overflowed", "numel: integer multiplication", "overflow when unpacking long",
         "can't start new thread")  # fmt: skip


def memory_asked(error: BaseException) -> str | None:
    """Say how much memory an error asked for in vain, "" if it does not tell; None for an error about something else.

    >>> memory_asked(RuntimeError("can't allocate memory: you tried to allocate 15360000 bytes.")), memory_asked(
    ...     RuntimeError("CUDA out of memory. Tried to allocate 2.50 GiB.")), memory_asked(MemoryError())
    ('15.4 MB', '2.50 GiB', '')
    >>> memory_asked(ValueError("a wrong shape"))
    """
    text = str(error)
    if not isinstance(error, MemoryError) and not any(words in text.lower() for words in _FULL):
        return None
    found = re.search(r"ried to allocate (\d+) bytes|(?:ried to|Unable to) allocate ([\d.]+ [KMGT]iB)", text)
    if found is None:
        return ""
    if found[2]:
        return found[2]
    size, unit = float(found[1]), "bytes"
    for larger in ("kB", "MB", "GB", "TB", "PB", "EB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.3g} {unit}"


def nearest(name: object, known: Iterable[object], start: str = "; did", end: str = ".") -> str:
    """End a sentence with the known name that comes nearest to one that is not known, if one is near.

    >>> nearest("hiden", ("hidden", "scale")), nearest("zzz", ("hidden", "scale"))
    ("; did you mean 'hidden'?", '.')
    """
    names = {each.lower(): each for each in known if isinstance(each, str)}
    near = get_close_matches(name.lower(), names, 1) if isinstance(name, str) else []
    return f"{start} you mean {names[near[0]]!r}?" if near else end


def choice(name: str, value: object, allowed: Collection[object]) -> None:
    """Raise unless `value` is one of the `allowed` ones.

    >>> choice("reset", "never", ("before", "after"))
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `reset` must be one of 'before', 'after', got 'never'.
    >>> choice("reset", "befor", ("before", "after"))
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `reset` must be one of 'before', 'after', got 'befor'. Did you mean 'before'?
    """
    if value not in allowed:
        listed = ", ".join(map(repr, allowed))
        raise ArgumentError(f"`{name}` must be one of {listed}, got {value!r}.{nearest(value, allowed, ' Did', '')}")


def brief(value: object, most: int = 60) -> str:
    """Quote a value of somebody's data in a sentence: of a long text only its beginning.

    >>> brief("red"), brief("x" * 10_000_000), brief(1.5)
    ("'red'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'", '1.5')
    """
    return repr(value[: most - 3] + "..." if isinstance(value, str) and len(value) > most else value)


MOST = 2**63 - 1
"""The largest whole number of a tensor, and of its sizes."""


def whole(name: str, value: float, bound: int, most: int = MOST) -> None:
    """Raise unless `value` is a whole number from `bound` to `most`.

    >>> whole("batch_size", 1.5, 1)
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `batch_size` must be a whole number of at least 1, got 1.5.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ArgumentError(f"`{name}` must be a whole number of at least {bound}, got {value!r}.")
    at_least(name, value, bound)
    if value > most:
        raise ArgumentError(f"`{name}` must be at most {most:,}, got {value:,}.")


def at_least(name: str, value: float, bound: float) -> None:
    """Raise unless `value` is a number not below `bound`.

    >>> at_least("depth", 0, 1)
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `depth` must be at least 1, got 0.
    """
    if not (_is_number(value) and value >= bound):
        raise ArgumentError(f"`{name}` must be at least {bound}, got {value!r}.")
    if isinstance(value, int) and value > MOST:
        raise ArgumentError(f"`{name}` must be at most {MOST:,}, got {value:,}.")


def above(name: str, value: float, bound: float) -> None:
    """Raise unless `value` is a number greater than `bound`.

    >>> above("eps", 0.0, 0)
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `eps` must be greater than 0, got 0.0.
    """
    if not (_is_number(value) and value > bound):
        raise ArgumentError(f"`{name}` must be greater than {bound}, got {value!r}.")


def between(name: str, value: float, low: float, high: float, *, open_high: bool = False) -> None:
    """Raise unless `low <= value <= high` (`value < high` when `open_high`).

    >>> between("rate", 1.0, 0, 1, open_high=True)
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `rate` must be in [0, 1), got 1.0.
    """
    if not (_is_number(value) and (low <= value < high if open_high else low <= value <= high)):
        raise ArgumentError(f"`{name}` must be in [{low}, {high}{')' if open_high else ']'}, got {value!r}.")


def _is_number(value: object) -> bool:
    """Say whether a value can be compared with a number; a text cannot."""
    return hasattr(value, "__float__") and not isinstance(value, str)
