"""When to write checkpoints: soon in the beginning, then less often, and never for more than 1 % of the time."""

import time
from collections.abc import Callable

from lamina.training.loop import Progress

FIRST, SHARE, LONGEST = 2.0, 0.01, 600.0
"""Seconds to the first one; the share of the time that writing may take; seconds between two of even the slowest."""


class Pace:
    """Says when something is due: after `FIRST` seconds, then after twice as long each time, up to so many seconds.

    Where it takes long, the pauses are as long as keeps it below `SHARE` of the time, but not above `LONGEST`.

    Args:
        seconds: the usual pause between two times; 0 for always.
        clock: gives the time.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._last, self._pause, self._cost = clock(), min(FIRST, seconds), 0.0

    @property
    def due(self) -> bool:
        """Whether it is time."""
        return not self._seconds or self._clock() - self._last >= max(self._pause, min(self._cost / SHARE, LONGEST))

    def __call__(self, action: Callable[[Progress], None], progress: Progress) -> None:
        """Do what was due."""
        begun = self._clock()
        action(progress)
        self._last, self._pause = self._clock(), min(2 * self._pause, self._seconds)
        self._cost = self._last - begun


def seldom(
    seconds: float, action: Callable[[Progress], None], clock: Callable[[], float] = time.monotonic
) -> Callable[[Progress], None]:
    """Call `action` as often as `Pace` says."""
    pace = Pace(seconds, clock)

    def maybe(progress: Progress) -> None:
        if pace.due:
            pace(action, progress)

    return maybe
