"""What a visitor of the pages can say to the server, as a parser for the fuzzers: bodies of requests and frames."""

import contextlib
import json
import random
import string
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
PIECES = ("127.0.0.1", ":2718", "http://", "[", "]", "::1", "lamina-token=", ";", "=", '"', "%", "\\", "/", "..", "@",
          "ü", "\x00", "\t", " ", "-1", "9" * 400, "null", "token=", "&", "?", "#", "ws", "s_1")  # fmt: skip


def text(draw):
    if draw.random() < 0.5:
        return "".join(draw.choices(PIECES, k=draw.randrange(6)))
    return "".join(draw.choices(string.printable, k=draw.randrange(40)))


def value(draw, depth=0):
    """Make any JSON value, mostly the ugly ones."""
    simple = (None, True, False, 0, -1, 1e308, -1e308, 10**30, 0.1, "", "nan", [], {}, text(draw), text(draw) * 50)
    kind = draw.randrange(4 if depth < 3 else 1)
    if kind == 1:
        return [value(draw, depth + 1) for _ in range(draw.randrange(4))]
    if kind == 2:
        return {text(draw): value(draw, depth + 1) for _ in range(draw.randrange(4))}
    return draw.choice(simple)


def message(page, draw):
    """Make a message that can be read, with values that nobody would send by mistake: its body, and its address."""
    models = [widget.settings["model-id"] for widget in page.find("marimo-anywidget")]
    if models and draw.random() < 0.3:
        state = {draw.choice(("ink", "label", "side", "layout", "_esm", text(draw))): value(draw)}
        said = draw.choice(
            ({"method": "update", "state": state, "bufferPaths": []}, {"method": "custom", "content": state})
        )
        return json.dumps({"modelId": draw.choice(models), "message": said, "buffers": []}).encode(), PLACES[1]
    names = draw.choices([*page.widgets, "unknown"], k=draw.choice((1, 1, 3)))
    return json.dumps({"objectIds": names, "values": [value(draw) for _ in names]}).encode(), PLACES[0]


class Visitor:
    """A server and the page that is open; both begin with the first message."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._page = None
        self._said = self._pages = self._heard = 0

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
        self._pages = self._heard = 0

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
        model = {"modelId": "1", "message": {"method": "update", "state": {}, "bufferPaths": []}, "buffers": []}
        return [*found[:40], json.dumps(model).encode()]

    def say(self, content: bytes, folder: Path) -> object:
        """Send a message as a body, and now and then as a frame.

        Most bytes that were changed are no message any more: they decide which hostile one is sent behind them.

        Raises:
            RunError: the server refuses it.
            AssertionError: the server fails.
        """
        self._said += 1
        page, begun = self.page, time.monotonic()
        status = page.post(content, PLACES[b"modelId" in content])
        if status == 400:
            status = page.post(*message(page, random.Random(content)))
        if self._said % 20 == 0:
            with contextlib.suppress(Exception):  # the socket may be closed to who says too much
                page.socket.send(content if self._said % 40 else content.decode(errors="replace"))
        if self._said % EACH == 0:
            self._look()
        assert time.monotonic() - begun < LONGEST, "the server took too long"
        assert status < 500 or status == 503, f"status {status}"
        if status != 200:
            raise RunError(f"status {status}")
        return status

    def _look(self) -> None:
        """Open the next page, as another visitor; it works, and the server has neither traced back nor grown."""
        self._leave()
        honest = self.page.find("marimo-slider")[:1]
        if honest:
            self.page.move({honest[0].name: honest[0].settings["start"]}, timeout=LONGEST)
        said = self._process.said()
        new, self._heard = said[self._heard :], len(said)
        assert "Traceback" not in new, new[-3000:]
        assert memory(self._process.pid) < MOST


VISITOR = Visitor()
