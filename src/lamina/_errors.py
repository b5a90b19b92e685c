"""The library's exceptions: each is a `LaminaError` and the builtin that callers already catch.

A message names the argument, the bound, the value and the way out, as in
"`kernel_size` must be at most the padded input (7), got 9: add padding or use a smaller kernel."
"""

from collections.abc import Collection


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


class MissingExtraError(LaminaError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package!r}: install it with  pip install 'lamina[{extra}]'.")


def choice(name: str, value: object, allowed: Collection[object]) -> None:
    """Raise unless `value` is one of the `allowed` ones.

    >>> choice("reset", "never", ("before", "after"))
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `reset` must be one of 'before', 'after', got 'never'.
    """
    if value not in allowed:
        raise ArgumentError(f"`{name}` must be one of {', '.join(map(repr, allowed))}, got {value!r}.")


def at_least(name: str, value: float, bound: float) -> None:
    """Raise unless `value` is a number not below `bound`.

    >>> at_least("depth", 0, 1)
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `depth` must be at least 1, got 0.
    """
    if not value >= bound:
        raise ArgumentError(f"`{name}` must be at least {bound}, got {value!r}.")


def above(name: str, value: float, bound: float) -> None:
    """Raise unless `value` is a number greater than `bound`.

    >>> above("eps", 0.0, 0)
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `eps` must be greater than 0, got 0.0.
    """
    if not value > bound:
        raise ArgumentError(f"`{name}` must be greater than {bound}, got {value!r}.")


def between(name: str, value: float, low: float, high: float, *, open_high: bool = False) -> None:
    """Raise unless `low <= value <= high` (`value < high` when `open_high`).

    >>> between("rate", 1.0, 0, 1, open_high=True)
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `rate` must be in [0, 1), got 1.0.
    """
    if not (low <= value < high if open_high else low <= value <= high):
        raise ArgumentError(f"`{name}` must be in [{low}, {high}{')' if open_high else ']'}, got {value!r}.")
