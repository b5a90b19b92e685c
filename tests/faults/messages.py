"""What a visitor of the pages can say to the server, as a parser for the fuzzers: bodies of requests and frames."""

import contextlib
import json
import time
from pathlib import Path

from lamina._errors import RunError
from visiting import Page, memory, serving

PATHS = ("ch1/perceptron", "ch3/lenet", "tools/playground", "ch5/characters")
EACH = 200
"""Messages after which another visitor opens another page."""
PLACES = ("api/kernel/set_ui_element_value", "api/kernel/set_model_value")
MOST, LONGEST = 1.5e9, 30.0
"""Bytes of the server and seconds of an answer that count as a fault."""


class Visitor:
    """A server and the page that is open; both begin with the first message."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._page = None
        self._said = self._pages = 0

    @property
    def page(self):
        if self._page is None:
            if self._pages == 0:
                self._stack = contextlib.ExitStack()
                self._address, self._process = self._stack.enter_context(serving())
            self._pages += 1
            who = f"192.0.{self._pages // 250 % 250}.{self._pages % 250 + 1}"
            self._page = Page(self._address, PATHS[self._pages % len(PATHS)], who=who).open()
        return self._page

    def close(self) -> None:
        """Stop the server."""
        self._leave()
        self._stack.close()
        self._pages = 0

    def _leave(self) -> None:
        if self._page is not None:
            self._page.close()
        self._page = None

    def seeds(self) -> list[bytes]:
        """Give messages that a browser sends."""
        page, found = self.page, []
        for widget in page.widgets.values():
            value = widget.settings.get("initial-value", 1)
            for each in (value, 2, [0], "text", {"a": 1}):
                found.append(json.dumps({"objectIds": [widget.name], "values": [each]}).encode())
        model = {"modelId": "1", "message": {"method": "update", "state": {}, "buffer_paths": []}, "buffers": []}
        return [*found[:40], json.dumps(model).encode()]

    def say(self, content: bytes, folder: Path) -> object:
        """Send a message as a body, and now and then as a frame.

        Raises:
            RunError: the server refuses it.
            AssertionError: the server fails.
        """
        self._said += 1
        page, begun = self.page, time.monotonic()
        status = page.post(content, PLACES[self._said % 4 == 0])
        if self._said % 20 == 0:
            with contextlib.suppress(Exception):  # the socket may be closed to who says too much
                page.socket.send(content if self._said % 40 else content.decode(errors="replace"))
        if self._said % EACH == 0:
            self._leave()
            honest = self.page.find("marimo-slider")[:1]
            if honest:
                self.page.move({honest[0].name: honest[0].settings["start"]}, timeout=LONGEST)
            said = self._process.said()
            assert "Traceback" not in said, said[-3000:]
            assert memory(self._process.pid) < MOST
        assert time.monotonic() - begun < LONGEST, "the server took too long"
        assert status < 500 or status == 503, f"status {status}"
        if status != 200:
            raise RunError(f"status {status}")
        return status


VISITOR = Visitor()
