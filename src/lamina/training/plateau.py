"""A learning rate that falls when the validation loss no longer does."""

import math
from collections.abc import Sequence

from lamina.training.recipe import Schedule
from lamina.training.stopping import Row, judged


class Plateau:
    r"""Say how much of the learning rate is left after the checks so far: a function of the history alone.

    After `wait` checks in a row that did not lower the smallest validation loss (training loss, without validation
    examples) by the share `improvement` of itself, the rate is multiplied by `factor`, but never falls below `final` of
    what it was; then the counting begins anew.

    Differs: torch's `ReduceLROnPlateau(patience=p)` waits for p + 1 such checks; its `threshold` is `improvement`.

    Args:
        schedule: its numbers; all of the rate is left with one of another kind.

    >>> left = Plateau(Schedule("plateau", wait=2, factor=0.5))
    >>> [left([{"step": 1, "loss": loss} for loss in (1.0, 0.8, 0.9, 0.8)[:checks]]) for checks in (1, 2, 3, 4)]
    [1.0, 1.0, 1.0, 0.5]
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._begin()

    def _begin(self) -> None:
        self._read, self._waited, self._best, self._left = 0, 0, math.inf, 1.0
        self._last: Sequence[Row] = []

    def __call__(self, rows: Sequence[Row]) -> float:
        """Give the share of the rate for the steps after these checks."""
        schedule = self.schedule
        if schedule.kind != "plateau":
            return 1.0
        if rows[self._read - 1 : self._read] != self._last:  # another history
            self._begin()
        for row in rows[self._read :]:
            if row["step"] <= schedule.since:
                continue
            loss = judged(row)
            asked = schedule.improvement * abs(self._best) if math.isfinite(self._best) else 0.0
            better = loss < self._best - asked
            self._best, self._waited = (loss, 0) if better else (self._best, self._waited + 1)
            if self._waited >= schedule.wait:
                self._left, self._waited = max(self._left * schedule.factor, schedule.final), 0
        self._read, self._last = len(rows), rows[-1:]
        return self._left
