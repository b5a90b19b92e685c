"""How many connections one address may have open, and how long it may stay silent: others need a place, too."""

import importlib
from collections import Counter
from functools import cache
from typing import Any

from lamina.pages.site._visitors import address, local

MOST = 256
"""Connections of one address that have not become sockets of pages; a class may share one address."""
SILENT = 10.0
"""Seconds in which a new connection has to ask for something."""
FILES = 65_536
"""Open files that the server asks the system for; every connection is one."""


def many_files() -> None:
    """Let this process have more open files, where the system gives few (often 1024)."""
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError:  # Windows has no such limit
        return
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if most == resource.RLIM_INFINITY else min(most, FILES)
    if few != resource.RLIM_INFINITY and few < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


@cache
def counted() -> Any:
    """Return uvicorn's protocol with limits for every address but this machine's own."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    base: Any = AutoHTTPProtocol
    present: Counter[str] = Counter()

    class Connection(base):
        """One connection."""

        _from, _silence = "", None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            where = address({"client": self.client})
            if not local(where):
                self._from = where
                present[where] += 1
                if present[where] > MOST:
                    transport.abort()
                    return
            self._silence = self.loop.call_later(SILENT, self._hang_up)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.scope is not None:
                self._heard()

        def handle_websocket_upgrade(self, *event: Any) -> None:
            self._leave()  # from here on, the number of open pages is what counts
            super().handle_websocket_upgrade(*event)

        def connection_lost(self, exc: Exception | None) -> None:
            self._leave()
            super().connection_lost(exc)

        def _hang_up(self) -> None:
            self.transport.abort()

        def _heard(self) -> None:
            if self._silence is not None:
                self._silence.cancel()
                self._silence = None

        def _leave(self) -> None:
            self._heard()
            if self._from:
                present[self._from] -= 1
                if not present[self._from]:
                    del present[self._from]
                self._from = ""

    return Connection
