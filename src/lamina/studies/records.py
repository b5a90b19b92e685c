"""What a study knows of a configuration: before, while and after it is tried."""

import math
from dataclasses import dataclass, field
from typing import Any

from lamina.populations.members import DIVERGED, FINISHED
from lamina.studies.space import Values

DROPPED = "dropped"
STATES = (FINISHED, DROPPED, DIVERGED)

Rank = tuple[bool, float, float, int]
"""What results are ordered by."""


@dataclass(frozen=True)
class Trial:
    """A configuration with its number in the study."""

    number: int
    values: Values


@dataclass(frozen=True)
class Outcome:
    """What came of a trial.

    Args:
        value: the metric on the validation data, where the weights are best; None if the loss was not finite.
        state: "finished", "dropped" (by halving, before its last epoch) or "diverged".
        tie: decides between equal values, smaller is better: the validation loss.
        epochs: how many were trained.
        curve: the metric at every check.
        spread: the values of each seed, if there was more than one.
        seconds: its share of the time that its stack took.
    """

    value: float | None
    state: str = FINISHED
    tie: float | None = None
    epochs: int | None = None
    curve: tuple[float | None, ...] = ()
    spread: tuple[float | None, ...] = ()
    seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Give what a line of the journal holds; what is not known is left out."""
        known = {name: value for name, value in vars(self).items() if value is not None and value != ()}
        return {"value": self.value, **known}


@dataclass(frozen=True)
class Result:
    """A trial with its outcome.

    >>> Result(0, {"a": 1}, Outcome(0.5)).error("maximize")
    -0.5
    """

    number: int
    values: Values
    outcome: Outcome = field(default_factory=lambda: Outcome(None))

    def error(self, direction: str) -> float:
        """Give a number that is smaller the better the result; infinite without a value."""
        value = self.outcome.value
        if value is None or not math.isfinite(value):
            return math.inf
        return -value if direction == "maximize" else value

    def rank(self, direction: str) -> Rank:
        """Give what results are ordered by: finished ones first, then error, tie and number."""
        tie = self.outcome.tie
        return (
            self.outcome.state != FINISHED,
            self.error(direction),
            math.inf if tie is None or not math.isfinite(tie) else tie,
            self.number,
        )


@dataclass(frozen=True)
class Moment:
    """What is going on right now.

    Args:
        trials: how many are tried at once.
        epoch: which one they are in; where several workers are at it, the mean.
        epochs: how many there are.
        updates: how many updates were made, over all networks.
        workers: how many there are at present.
        rate: networks x updates per second.
    """

    trials: int
    epoch: int = 0
    epochs: int = 0
    updates: int = 0
    workers: int = 1
    rate: float = 0.0
