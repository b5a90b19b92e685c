"""Who has a page open, and whose turn it is.

There is a limit of open pages. When a new reader comes to a full house, the reader with the most pages gives one up, or
else the page that has rested longest gives way. All pages compute in one process, where one thread runs at a time. So a
visitor's pages take turns: only a few of them compute at once, however many are open and however often their sliders
are moved; the others wait, and no other visitor has to.
"""

import asyncio
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlencode

from lamina.pages.site._guard import App, Message, Receive, Scope, Send
from lamina.pages.site._visitors import session, visitor

TURNS = 1
"""How many pages of one visitor compute at once."""
LONGEST = 10.0
"""Seconds after which a page that still computes no longer keeps the visitor's other pages waiting."""
PATIENCE = 30.0
"""Seconds for which a request waits for its turn."""
WAITING = 60
"""How many requests of one visitor may wait."""
SPOKEN = 50
"""Messages a second that a socket may send us; marimo's page sends none."""
_NAME = re.compile(r"[\w-]{1,64}", re.ASCII)
_DONE = ('{"op": "completed-run"', '{"op": "reconnected"')


@dataclass(eq=False)
class Visit:
    """One open page.

    Args:
        name: its session.
        visitor: whose it is.
        used: when its reader last did something.
        since: when it began to compute; 0 while it rests.
    """

    name: str
    visitor: str = ""
    used: float = field(default_factory=time.monotonic)
    since: float = 0.0
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Visits:
    """The open pages.

    Args:
        most: how many there may be.
        rest: seconds without a touch after which a page may have to give way.
    """

    def __init__(self, most: int, rest: float) -> None:
        self.most, self._rest = most, rest
        self._open: dict[str, Visit] = {}
        self._waiting: Counter[str] = Counter()
        self._rested: dict[str, asyncio.Event] = {}

    def __len__(self) -> int:
        return len(self._open)

    def room(self, who: str = "") -> bool:
        """Say whether one more page can open, perhaps in place of another one."""
        return len(self._open) < self.most or self._next_to_go(who) is not None

    def _next_to_go(self, who: str) -> Visit | None:
        """Return the page that gives way in a full house."""
        counts = Counter(visit.visitor for visit in self._open.values())
        most = max(counts.values(), default=0)
        greedy = [visit for visit in self._open.values() if counts[visit.visitor] == most]
        if most > counts[who] + 1:
            return min(greedy, key=lambda visit: visit.used)
        oldest = min(self._open.values(), key=lambda visit: visit.used, default=None)
        return oldest if oldest is not None and time.monotonic() - oldest.used >= self._rest else None

    def _enter(self, visit: Visit) -> bool:
        before = self._open.get(visit.name)
        if before is not None and before.visitor != visit.visitor:
            return False  # somebody else's page
        if before is None and len(self._open) >= self.most:
            going = self._next_to_go(visit.visitor)
            if going is None:
                return False
            going.over.set()
            self._rests(going)
            del self._open[going.name]
        self._open[visit.name] = visit
        return True

    async def turn(self, scope: Scope) -> tuple[int, str]:
        """Wait until a page may compute; return 200, or the status and the sentence that say why it may not.

        Args:
            scope: of a request that lets a page compute.
        """
        visit = self._open.get(session(scope))
        if visit is None or visit.visitor != visitor(scope):
            return 404, "This page is not open: load it again."
        visit.used = time.monotonic()
        if await self._begins(visit):
            return 200, ""
        return 429, "Your other pages are still computing: wait until they are done."

    async def _begins(self, visit: Visit) -> bool:
        who, until = visit.visitor, time.monotonic() + PATIENCE
        if self._waiting[who] >= WAITING:
            return False
        self._waiting[who] += 1
        try:
            while not visit.since and self._busy(who) >= TURNS:
                rested = self._rested.setdefault(who, asyncio.Event())
                rested.clear()
                try:  # in steps, since a page that computes for very long says nothing
                    await asyncio.wait_for(rested.wait(), 0.5)
                except TimeoutError:
                    if time.monotonic() > until or visit.over.is_set():
                        return False
        finally:
            self._waiting[who] -= 1
            if not self._waiting[who]:
                del self._waiting[who]
        visit.since = time.monotonic()
        return True

    def _busy(self, who: str) -> int:
        now = time.monotonic()
        return sum(visit.visitor == who and 0 < now - visit.since < LONGEST for visit in self._open.values())

    def _rests(self, visit: Visit) -> None:
        visit.since = 0.0
        if visit.visitor in self._rested:
            self._rested[visit.visitor].set()

    async def follow(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the socket of a page until its reader leaves or it has to give way."""
        visit = Visit(session(scope), visitor(scope))
        scope = {**scope, "query_string": urlencode({"session_id": visit.name}).encode()}
        if not _NAME.fullmatch(visit.name) or not await self._begins(visit) or not self._enter(visit):
            await receive()
            await send({"type": "websocket.close", "code": 1013, "reason": "too many pages are open"})
            return
        heard = _Heard(visit, receive, send)

        async def say(message: Message) -> None:
            if visit.over.is_set():
                return
            if (message.get("text") or "").startswith(_DONE):
                self._rests(visit)
            await send(message)

        try:
            await app(scope, heard, say)
        finally:
            self._rests(visit)
            if self._open.get(visit.name) is visit:
                del self._open[visit.name]
            if not any(other.visitor == visit.visitor for other in self._open.values()):
                self._rested.pop(visit.visitor, None)


class _Heard:
    """What a socket says, until its page has to give way, or it says too much."""

    def __init__(self, visit: Visit, receive: Receive, send: Send) -> None:
        self._visit, self._receive, self._send = visit, receive, send
        self._begun, self._count = time.monotonic(), 0

    async def __call__(self) -> Message:
        coming, leaving = asyncio.ensure_future(self._receive()), asyncio.ensure_future(self._visit.over.wait())
        try:
            await asyncio.wait({coming, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not coming.done():
                coming.cancel()
        if self._visit.over.is_set():
            # marimo's page knows this reason and does not try again
            return await self._close(1000, "MARIMO_SHUTDOWN")
        message = await coming
        self._count += 1
        if self._count > SPOKEN:
            if time.monotonic() - self._begun < 1.0:
                return await self._close(1008, "too many messages")
            self._begun, self._count = time.monotonic(), 0
        return message

    async def _close(self, code: int, reason: str) -> Message:
        await self._send({"type": "websocket.close", "code": code, "reason": reason})
        self._visit.over.set()
        return {"type": "websocket.disconnect", "code": 1001}
