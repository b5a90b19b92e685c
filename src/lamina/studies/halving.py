"""Successive halving: train all for a little, keep the best part, train those on, and so on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lamina._errors import at_least


@dataclass(frozen=True)
class Halving:
    """When to drop how many of the configurations that are trained as one stack.

    Counted back from the last epoch, so that the last ones train in full: with 27 epochs and a factor of 3 the checks
    are after 1, 3 and 9 epochs, and 27 configurations become 9, 3 and 1.

    Args:
        factor: one in so many goes on.
        first: no check before so many epochs.

    >>> Halving(3).rungs(27), Halving(3).keep(27), Halving(2, first=3).rungs(10)
    ((1, 3, 9), 9, (5,))
    """

    factor: int = 3
    first: int = 1

    def __post_init__(self) -> None:
        at_least("factor", self.factor, 2)
        at_least("first", self.first, 1)

    def rungs(self, epochs: int) -> tuple[int, ...]:
        """Give the epochs after which configurations are dropped."""
        found = []
        epochs //= self.factor
        while epochs >= self.first:
            found.append(epochs)
            epochs //= self.factor
        return tuple(reversed(found))

    def keep(self, count: int) -> int:
        """Say how many of `count` go on: one in `factor`, rounded up."""
        return math.ceil(count / self.factor)

    def drop(self, errors: Sequence[Any]) -> list[int]:
        """Say which places are dropped; errors are numbers or tuples, and of equal ones the earlier place goes on.

        >>> Halving(2).drop([0.3, 0.1, math.inf, 0.2])
        [0, 2]
        """
        order = sorted(range(len(errors)), key=lambda place: (errors[place], place))
        return sorted(order[self.keep(len(errors)) :])
