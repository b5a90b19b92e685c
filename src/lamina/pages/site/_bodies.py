"""What visitors may send: bodies are counted while they come in, and refused before they are in memory.

A page keeps what was uploaded to it for as long as it is open. So there is a bound for one body, one for all that a
visitor has sent to pages that are still open, and one for all visitors together.
"""

import asyncio
import time
from dataclasses import dataclass

from lamina.pages.kit._uploads import LARGEST
from lamina.pages.site._guard import App, Message, Receive, Scope, Send, refuse
from lamina.pages.site._messages import WIDGETS
from lamina.pages.site._visitors import session, visitor

FILE = LARGEST * 4 // 3 + 100_000
"""Bytes of a body with a file, which comes as base64 with some words around it."""
WORDS = 1_000_000
"""Bytes of every other body."""
VISITOR, TOGETHER = 4 * FILE, 16 * FILE
"""Bytes that one visitor and all visitors may have sent to open pages."""
SMALL = 100_000
"""Bytes of a body that are not worth counting, such as the place of a slider."""
PATIENCE = 60.0
"""Seconds that a body may take."""


@dataclass
class RefusalError(Exception):
    """Why a body is not taken: the status of the answer, and a sentence."""

    status: int
    sentence: str


class Bodies:
    """An application whose visitors can send only so much.

    Args:
        app: the pages.
        kept: seconds for which a closed page can come back, and with it what was uploaded.
    """

    def __init__(self, app: App, kept: float) -> None:
        self._app, self._kept = app, kept
        self._held: dict[tuple[str, str], int] = {}
        self._open: dict[tuple[str, str], int] = {}
        self._closed: dict[tuple[str, str], float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a page, and remember when it was closed: it gives back what it holds some time later."""
        key = visitor(scope), session(scope)
        self._open[key] = self._open.get(key, 0) + 1
        self._closed.pop(key, None)
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]
                self._closed[key] = time.monotonic()

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        counted = _Counted(self, scope, receive, send)
        try:
            await self._app(scope, counted.receive, counted.send)
        except Exception:
            if counted.refusal is None:  # the application saw the visitor leave in the middle of a body
                raise
        finally:
            counted.finish()
        if counted.refusal is not None and not counted.begun:
            refusal = counted.refusal
            await refuse(scope, receive, send, refusal.status, refusal.sentence, ((b"connection", b"close"),))

    def hold(self, key: tuple[str, str], before: int, now: int) -> None:
        """Count what a page holds: it grows while a body comes in.

        Raises:
            RefusalError: a bound is reached.
        """
        self._forget()
        mine = sum(size for (who, _), size in self._held.items() if who == key[0])
        every = sum(self._held.values())
        more = now - before
        if mine + more > VISITOR:
            raise RefusalError(
                429,
                f"Your open pages hold {mine / 1e6:.0f} MB of uploads, and a visitor has {VISITOR / 1e6:.0f} MB: close "
                f"some of them and wait {self._kept:.0f} seconds.",
            )
        if every + more > TOGETHER:
            raise RefusalError(503, f"All open pages together hold {every / 1e6:.0f} MB of uploads: try again later.")
        self._held[key] = self._held.get(key, 0) + more

    def give_back(self, key: tuple[str, str], size: int) -> None:
        """Count less for a page."""
        self._held[key] = self._held.get(key, 0) - size
        if self._held[key] <= 0:
            del self._held[key]

    def settle(self, key: tuple[str, str], size: int) -> None:
        """Keep counting one body per page, its largest: a page forgets a file when it gets another one."""
        if key not in self._open and key not in self._closed:
            self.give_back(key, size)  # a page that does not exist keeps nothing
        elif (rest := self._held.get(key, 0)) > FILE:
            self.give_back(key, rest - max(size, rest - size))

    def _forget(self) -> None:
        now = time.monotonic()
        for key in [key for key, since in self._closed.items() if now - since > self._kept]:
            del self._closed[key]
            self._held.pop(key, None)


class _Counted:
    """One request: its body is counted on its way in, and cut off at a bound."""

    def __init__(self, bodies: Bodies, scope: Scope, receive: Receive, send: Send) -> None:
        self._bodies, self._receive, self._send = bodies, receive, send
        self._key = visitor(scope), session(scope)
        self._most = FILE if scope["path"].endswith("/" + WIDGETS) else WORDS
        self._size = self._held = 0
        self._until = time.monotonic() + PATIENCE
        self._whole = False
        self.begun = False
        self.refusal: RefusalError | None = None
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if said.isdigit() and int(said) > self._most:
            self.refusal = self._too_large()

    def _too_large(self) -> RefusalError:
        return RefusalError(413, f"This is too large: a page takes at most {self._most / 1e6:.1f} MB here.")

    async def receive(self) -> Message:
        """Give the next part of the body; after a bound, say that the visitor has left."""
        if self._whole:
            return await self._receive()
        if self.refusal is None:
            try:
                message = await asyncio.wait_for(self._receive(), self._until - time.monotonic())
            except TimeoutError:
                self.refusal = RefusalError(408, f"The request did not come in {PATIENCE:.0f} seconds.")
            else:
                self._count(len(message.get("body", b"")))
                self._whole = not message.get("more_body", False)
                if self.refusal is None:
                    return message
        return {"type": "http.disconnect"}

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._most:
            self.refusal = self._too_large()
        elif self._size > SMALL:
            try:
                self._bodies.hold(self._key, self._held, self._size)
                self._held = self._size
            except RefusalError as refusal:
                self.refusal = refusal

    async def send(self, message: Message) -> None:
        """Pass the answer on, unless the request is refused."""
        if self.refusal is None:
            self.begun = True
            await self._send(message)

    def finish(self) -> None:
        """Give back what was counted for a body that was not taken."""
        if self._held and (self.refusal is not None or not self._whole):
            self._bodies.give_back(self._key, self._held)
        elif self._held:
            self._bodies.settle(self._key, self._held)
