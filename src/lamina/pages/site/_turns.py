"""Whose turn it is to compute: all pages share one process, in which one thread runs at a time.

Every visitor has some seconds of computing in hand, which come back slowly. Whoever has some left is let in at once,
with a few others at a time; those who have used theirs up share a single place until half of them are back. That place
rests after each of them for seven times as long as it took, if anybody else is there. So a visitor who moves all
sliders of twenty pages without a pause gets what comes back, a fifth of the time, and many of them an eighth beyond
that all together. Of one visitor one page computes at a time.
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

HAND, BACK = 2.0, 0.2
"""Seconds of computing that a visitor has in hand, and how many of them come back in a second."""
PLACES = 4
"""How many pages compute at once, of visitors who have seconds in hand; one more is for all others."""
REST, RESTED = 7.0, 8.0
"""How much longer the place of those others rests than it was used, and for how many seconds at most."""
LONGEST = 10.0
"""Seconds after which a page that still computes no longer keeps others waiting."""
PATIENCE = 30.0
"""Seconds for which a page waits for its turn."""
WAITING = 60
"""How many requests of one visitor may wait."""
_LOOK = 0.1


@dataclass(eq=False)
class _Asked:
    key: Hashable
    visitor: str
    turn: "asyncio.Future[bool]"


@dataclass
class _Busy:
    visitor: str
    since: float
    light: bool


class Turns:
    """Who computes and who waits.

    Args:
        clock: gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._busy: dict[Hashable, _Busy] = {}
        self._asked: list[_Asked] = []
        self._left: dict[str, float] = {}
        self._spent: set[str] = set()
        self._settled = clock()
        self._rest = 0.0

    def left(self, visitor: str) -> float:
        """Return the seconds that a visitor has in hand; below zero for those who have used more.

        Args:
            visitor: whose they are.
        """
        self._settle()
        return self._left.get(visitor, HAND)

    def computes(self, key: Hashable) -> bool:
        """Say whether a page has its turn.

        Args:
            key: of the page.
        """
        return key in self._busy

    async def begin(self, key: Hashable, visitor: str) -> bool:
        """Wait until a page may compute; False when it takes too long.

        Args:
            key: of the page.
            visitor: whose page it is.
        """
        if key in self._busy:
            return True  # marimo takes what comes in the meantime together
        if sum(one.visitor == visitor for one in self._asked) >= WAITING:
            return False
        asked = _Asked(key, visitor, asyncio.get_running_loop().create_future())
        self._asked.append(asked)
        until = self._clock() + PATIENCE
        try:
            self._admit()
            while not asked.turn.done() and self._clock() < until:
                await asyncio.wait({asked.turn}, timeout=_LOOK)  # seconds come back, and long work stops to count
                self._admit()
            return asked.turn.done()
        except asyncio.CancelledError:
            if asked.turn.done():
                self.end(key)
            raise
        finally:
            if asked in self._asked:
                self._asked.remove(asked)

    def end(self, key: Hashable) -> None:
        """Note that a page has computed.

        Args:
            key: of the page.
        """
        self._settle()
        busy = self._busy.pop(key, None)
        if busy is None:
            return
        if not busy.light and len(self._left) > 1:
            self._rest = self._settled + min(REST * (self._settled - busy.since), RESTED)
        self._admit()

    def _settle(self) -> None:
        """Take from those who compute what they have used since last time, each its share, and give some back."""
        now = self._clock()
        passed, self._settled = now - self._settled, now
        for busy in self._busy.values():
            self._left[busy.visitor] = self._left.get(busy.visitor, HAND) - passed / len(self._busy)
        self._left = {
            visitor: left + BACK * passed for visitor, left in self._left.items() if left + BACK * passed < HAND
        }
        self._spent = {
            visitor for visitor, left in self._left.items() if left <= 0 or (visitor in self._spent and left < HAND / 2)
        }

    def _admit(self) -> None:
        """Give turns to those who may have one, first to those who have used least."""
        self._settle()
        now = self._clock()
        self._busy = {key: busy for key, busy in self._busy.items() if now - busy.since < LONGEST}
        for asked in sorted(self._asked, key=lambda one: -self._left.get(one.visitor, HAND)):
            present = self._busy.get(asked.key)
            light = asked.visitor not in self._spent
            alike = sum(busy.light == light for busy in self._busy.values())
            if present is None and any(busy.visitor == asked.visitor for busy in self._busy.values()):
                continue
            if present is None and (alike >= (PLACES if light else 1) or (not light and now < self._rest)):
                continue
            if present is None:
                self._busy[asked.key] = _Busy(asked.visitor, now, light)
            self._asked.remove(asked)
            asked.turn.set_result(True)
