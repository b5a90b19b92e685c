"""What an experiment gives: a small table, and the notes' claims with whether they hold in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lamina._errors import LaminaError


class ClaimError(LaminaError, AssertionError):
    """A claim of the notes does not hold in an experiment."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the notes, as far as this experiment can tell, and whether it holds."""

    sentence: str
    holds: bool


@dataclass(frozen=True)
class Result:
    """The outcome of an experiment.

    Args:
        title: what was tried.
        columns: the names of the columns.
        rows: numbers and words; numbers over several seeds are means with their spread in a column of its own.
        claims: what the notes say about it, and whether it holds here.

    >>> result = Result("powers", ("n", "2^n"), ((1, 2), (10, 1024)), (Claim("grows", True),))
    >>> print(result)
    powers
      n   2^n
      1     2
     10  1024
    holds: grows
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    claims: tuple[Claim, ...] = field(default=())

    def column(self, name: str) -> list[Any]:
        """Return one column by its name."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def check(self) -> "Result":
        """Return the result itself, or raise with the first claim that does not hold and the whole table."""
        for claim in self.claims:
            if not claim.holds:
                raise ClaimError(f"does not hold: {claim.sentence}\n{self}")
        return self

    def __str__(self) -> str:
        cells = [self.columns, *(tuple(map(_cell, row)) for row in self.rows)]
        widths = [max(len(row[j]) for row in cells) for j in range(len(self.columns))]
        lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in cells]
        said = [f"{'holds' if claim.holds else 'FAILS'}: {claim.sentence}" for claim in self.claims]
        return "\n".join([self.title, *(f" {line}" for line in lines), *said])


def _cell(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    return f"{value:.4g}"


Function = TypeVar("Function", bound=Callable[..., Result])
REGISTRY: dict[str, Callable[..., Result]] = {}
"""Every experiment by each catalogue id it belongs to."""


def experiment(*ids: str) -> Callable[[Function], Function]:
    """Register an experiment under the catalogue ids whose claims it tries."""

    def register(function: Function) -> Function:
        for key in ids:
            REGISTRY[key] = function
        return function

    return register


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation (with n - 1) of some numbers.

    >>> mean_and_spread([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, 0.0
    return mean, (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5
