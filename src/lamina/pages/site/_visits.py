"""Who has a page open: there is a limit, and when a new reader comes, the page that has rested longest gives way."""

import asyncio
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from lamina.pages.site._guard import App, Message, Receive, Scope, Send


@dataclass(eq=False)
class Visit:
    """One open page.

    Args:
        name: its session.
        used: when its reader last did something.
    """

    name: str
    used: float = field(default_factory=time.monotonic)
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

    def __len__(self) -> int:
        return len(self._open)

    def touch(self, headers: dict[bytes, bytes]) -> None:
        """Note that a reader has done something."""
        visit = self._open.get(headers.get(b"marimo-session-id", b"").decode("latin-1"))
        if visit is not None:
            visit.used = time.monotonic()

    def room(self) -> bool:
        """Say whether one more page can open; the page that has rested longest is closed if need be."""
        if len(self._open) < self.most:
            return True
        oldest = min(self._open.values(), key=lambda visit: visit.used, default=None)
        if oldest is None or time.monotonic() - oldest.used < self._rest:
            return False
        oldest.over.set()
        del self._open[oldest.name]
        return True

    async def follow(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the socket of a page until its reader leaves or it has to give way."""
        names = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session_id", [""])
        if not self.room():
            await receive()
            await send({"type": "websocket.close", "code": 1013, "reason": "too many pages are open"})
            return
        visit = Visit(names[0])
        self._open[visit.name] = visit

        async def heard() -> Message:
            coming, leaving = asyncio.ensure_future(receive()), asyncio.ensure_future(visit.over.wait())
            await asyncio.wait({coming, leaving}, return_when=asyncio.FIRST_COMPLETED)
            leaving.cancel()
            if not visit.over.is_set():
                return await coming
            coming.cancel()
            # marimo's page knows this reason and does not try again
            await send({"type": "websocket.close", "code": 1000, "reason": "MARIMO_SHUTDOWN"})
            return {"type": "websocket.disconnect", "code": 1001}

        async def say(message: Message) -> None:
            if not visit.over.is_set():
                await send(message)

        try:
            await app(scope, heard, say)
        finally:
            if self._open.get(visit.name) is visit:
                del self._open[visit.name]
