"""Who has a page open: there is a limit, and in a full house somebody gives way when a new reader comes.

That is the reader with the most pages, or else the page that has rested longest. A page that was closed can come back
for a while, as long as nobody else needs its room.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlencode

from lamina.pages.site._guard import App, Message, Receive, Scope, Send, refuse
from lamina.pages.site._messages import understood
from lamina.pages.site._turns import Turns
from lamina.pages.site._visitors import session, visitor

SPOKEN = 50
"""Messages a second that a socket may send us; marimo's page sends none."""
_NAME = re.compile(r"[\w-]{1,64}", re.ASCII)
_DONE = ('{"op": "completed-run"', '{"op": "reconnected"')


@dataclass(eq=False)
class Visit:
    """One open page.

    Args:
        name: its session, which the visitor's browser has chosen; every page has its own.
        visitor: whose it is.
        page: the address of the page.
        used: when its reader last did something.
    """

    name: str
    visitor: str = ""
    page: str = ""
    used: float = field(default_factory=time.monotonic)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def key(self) -> tuple[str, str]:
        """The page and the session."""
        return self.page, self.name


class Visits:
    """The open pages, and those that were closed a moment ago.

    Args:
        most: how many there may be, those included that were closed.
        rest: seconds without a touch after which a page may have to give way.
        forget: ends a session of a closed page, which then cannot come back.
        kept: seconds for which a closed page can come back.
    """

    def __init__(
        self, most: int, rest: float, forget: Callable[[str, str], object] = lambda page, name: None, kept: float = 45.0
    ) -> None:
        self.most, self._rest, self._forget, self._kept = most, rest, forget, kept
        self._open: dict[tuple[str, str], Visit] = {}
        self._closed: dict[tuple[str, str], Visit] = {}
        self._turns = Turns()

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

    def _foreign(self, visit: Visit) -> bool:
        """Say whether the session is that of somebody else, who has it open or can still come back to it."""
        for closed in [one for one in self._closed.values() if time.monotonic() - one.used >= self._kept]:
            self._forget(*self._closed.pop(closed.key).key)
        before = self._open.get(visit.key) or self._closed.get(visit.key)
        return before is not None and before.visitor != visit.visitor

    def _enter(self, visit: Visit) -> bool:
        if self._foreign(visit):
            return False
        if visit.key not in self._open and len(self._open) >= self.most:
            going = self._next_to_go(visit.visitor)
            if going is None:
                return False
            going.over.set()
            self._turns.end(going.key)
            del self._open[going.key]
        self._closed.pop(visit.key, None)
        while self._closed and len(self._open) + len(self._closed) >= self.most:
            counts = Counter(closed.visitor for closed in self._closed.values())
            greedy = max(self._closed.values(), key=lambda closed: counts[closed.visitor])  # their oldest
            self._forget(*self._closed.pop(greedy.key).key)
        self._open[visit.key] = visit
        return True

    async def _admitted(self, visit: Visit) -> bool:
        """Wait for the turn of a page that opens; it needs room, too."""
        if self._foreign(visit) or not self.room(visit.visitor):
            return False
        if not await self._turns.begin(visit.key, visit.visitor):
            return False
        if self._enter(visit):
            return True
        self._turns.end(visit.key)
        return False

    async def serve(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that lets a page compute, when it is the page's turn.

        The body is taken in first: nobody keeps a turn by sending slowly.
        """
        parts = [await receive()]
        while parts[-1].get("more_body", False):
            parts.append(await receive())
        visit = self._open.get((scope["path"].partition("/api/")[0], session(scope)))
        if parts[-1]["type"] == "http.disconnect":
            return
        if visit is None or visit.visitor != visitor(scope):
            await refuse(scope, receive, send, 404, "This page is not open: load it again.")
            return
        if not understood(scope["path"], b"".join(part.get("body", b"") for part in parts)):
            await refuse(scope, receive, send, 400, "The message of the page cannot be read: load the page again.")
            return
        visit.used = time.monotonic()
        fresh = not self._turns.computes(visit.key)
        if not await self._turns.begin(visit.key, visit.visitor):
            await refuse(scope, receive, send, 429, "The pages have much to compute: try again in a moment.")
            return

        async def replay() -> Message:
            return parts.pop(0) if parts else await receive()

        async def say(message: Message) -> None:
            if fresh and message.get("status", 200) != 200:  # nothing is computed
                self._turns.end(visit.key)
            await send(message)

        await app(scope, replay, say)

    async def follow(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the socket of a page until its reader leaves or it has to give way."""
        visit = Visit(session(scope), visitor(scope), scope["path"].removesuffix("/ws"))
        scope = {**scope, "query_string": urlencode({"session_id": visit.name}).encode()}
        if not _NAME.fullmatch(visit.name) or not await self._admitted(visit):
            await receive()
            await send({"type": "websocket.close", "code": 1013, "reason": "too many pages are open"})
            return
        heard, gone = _Heard(visit, receive, send), False

        async def say(message: Message) -> None:
            nonlocal gone
            if visit.over.is_set():
                return
            if (message.get("text") or "").startswith(_DONE):
                self._turns.end(visit.key)
            try:
                await send(message)
            except (OSError, RuntimeError):  # uvicorn has closed the socket: the reader is gone, or has said too much
                gone = True
                raise

        try:
            await app(scope, heard, say)
        except RuntimeError:
            if not gone:  # else marimo has listened once more to a reader who has left
                raise
        finally:
            if self._open.get(visit.key) is visit:
                del self._open[visit.key]
                self._turns.end(visit.key)
            if visit.key not in self._open:
                visit.used = time.monotonic()
                self._closed.pop(visit.key, None)
                self._closed[visit.key] = visit


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
        if message["type"] == "websocket.receive" and message.get("text") is None:
            message = {**message, "text": ""}  # marimo reads text, and a frame of bytes has none
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
