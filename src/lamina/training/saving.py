"""When to write checkpoints: soon in the beginning, then less often, and never for more than 1 % of the time."""

import time
from collections.abc import Callable

from lamina.training.loop import Progress

FIRST, SHARE, LONGEST = 2.0, 0.01, 600.0
"""Seconds to the first one; the share of the time that writing may take; seconds between two of even the slowest."""


def seldom(
    seconds: float, action: Callable[[Progress], None], clock: Callable[[], float] = time.monotonic
) -> Callable[[Progress], None]:
    """Call `action` after `FIRST` seconds, then after twice as long each time, up to so many seconds.

    Where writing is slow, the pauses are as long as keeps it below `SHARE` of the time, but not above `LONGEST`.

    Args:
        seconds: the usual pause between two calls.
        action: what to call.
        clock: gives the time.
    """
    last, pause, cost = clock(), min(FIRST, seconds), 0.0

    def maybe(progress: Progress) -> None:
        nonlocal last, pause, cost
        begun = clock()
        if begun - last >= max(pause, min(cost / SHARE, LONGEST)):
            action(progress)
            last, pause = clock(), min(2 * pause, seconds)
            cost = last - begun

    return maybe
