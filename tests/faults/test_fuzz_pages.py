"""Messages to the pages that nobody would send by mistake: nothing raises, hangs, or leaves the bounds of a widget.

The seeds are fixed. `LAMINA_FUZZ_SECONDS` gives the slow test more time than its usual 30 seconds, and
`LAMINA_FUZZ_REQUESTS` asks for more than 400 requests.
"""

import asyncio
import json
import os
import random
import time

import pytest

from faults.messages import text, value

pytestmark = pytest.mark.faults("hostile visitors")
SEED = 22
HEADERS = (b"host", b"origin", b"cookie", b"content-length", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest",
           b"marimo-session-id", b"x-forwarded-for", b"content-type")  # fmt: skip


def test_any_request_gets_an_answer(monkeypatch):
    from lamina.pages.site import _bodies as bodies
    from lamina.pages.site._guard import Guard
    from lamina.pages.site.server import Site

    monkeypatch.setattr(bodies, "PATIENCE", 0.5)
    draw = random.Random(SEED)
    site = Site()
    inner = bodies.Bodies(site, 45)
    guards = Guard(inner), Guard(inner, hosts=None, token="secret-of-ours")
    home = "/ch1/perceptron"
    known = ["/", "/catalogue", home, f"{home}/", f"{home}/ws", f"{home}/@file/x", "/runs/x", "/static/lamina/"]
    known.append(f"{home}/api/kernel/set_ui_element_value")

    async def one(guard):
        kind = draw.choice(("http", "http", "websocket"))
        path = draw.choice(known) + (text(draw) if draw.random() < 0.5 else "")
        headers = [(name, text(draw).encode("latin-1", "replace")) for name in HEADERS if draw.random() < 0.3]
        headers += [(b"host", b"127.0.0.1:2718")] if draw.random() < 0.8 else []
        scope = {
            "type": kind, "path": path, "raw_path": path.encode(), "root_path": "", "http_version": "1.1",
            "scheme": "http", "method": draw.choice(("GET", "POST", "PUT", "HEAD", "OPTIONS", "X")), "headers": headers,
            "query_string": text(draw).encode("latin-1", "replace"), "client": (text(draw), 1),
            "server": ("127.0.0.1", 2718),
        }  # fmt: skip
        first = {"type": "http.request", "body": text(draw).encode(), "more_body": False}
        sent, asked = [], [{"type": "websocket.connect"} if kind == "websocket" else first]

        async def receive():
            return asked.pop() if asked else {"type": f"{kind}.disconnect", "code": 1001}

        async def send(message):
            sent.append(message)

        await asyncio.wait_for(guard(scope, receive, send), 20)
        assert sent and sent[0]["type"] in ("http.response.start", "websocket.close"), path
        assert sent[0].get("status", 403) < 500 or sent[0]["status"] == 503, (path, headers, sent)

    async def story():
        for _ in range(int(os.environ.get("LAMINA_FUZZ_REQUESTS", "400"))):
            await one(draw.choice(guards))

    asyncio.run(story())


def test_any_value_leaves_a_widget_within_its_bounds(monkeypatch):
    import marimo as mo
    from marimo._plugins.ui._core.ui_element import UIElement

    from lamina.pages.kit import _bounds as bounds

    held = ("slider", "number", "text", "text_area", "file", "checkbox", "switch", "dropdown")
    for kind, name in ((UIElement, "_update"), *((getattr(mo.ui, one), "_convert_value") for one in held)):
        monkeypatch.setattr(kind, name, getattr(kind, name))
    bounds.hold_widgets()
    draw = random.Random(SEED)
    slider, steps, number = mo.ui.slider(1, 10, value=3), mo.ui.slider(steps=[1, 5, 9]), mo.ui.number(0, 7, value=1)
    words, choice, file = mo.ui.text("a", max_length=9), mo.ui.dropdown(["a", "b"], value="a"), mo.ui.file()
    mark = mo.ui.switch(value=False)
    both = mo.ui.dictionary({"a": mo.ui.slider(1, 10, value=3), "b": mo.ui.text("x", max_length=9)})
    for _ in range(4000):
        for widget in (slider, steps, number, words, choice, file, mark, both):
            widget._update(value(draw))
        assert 1 <= slider.value <= 10 and steps.value in (1, 5, 9)
        assert number.value is None or 0 <= number.value <= 7
        assert (
            isinstance(words.value, str)
            and len(words.value) <= 9
            and choice.value in ("a", "b")
            and mark.value in (True, False)
        )
        assert all(isinstance(one.contents, bytes) for one in file.value)
        assert 1 <= both.value["a"] <= 10 and len(both.value["b"]) <= 9


@pytest.mark.slow
def test_a_server_stands_any_message():
    from visiting import Page, memory, serving

    draw, until = random.Random(SEED), time.monotonic() + float(os.environ.get("LAMINA_FUZZ_SECONDS", "30"))
    paths = ("ch1/perceptron", "ch3/lenet", "tools/playground", "ch5/characters")
    inputs, slowest = 0, 0.0
    with serving() as (address, process):
        honest = Page(address, "ch1/perceptron", who="192.0.2.1").open()
        slider = honest.find("marimo-slider")[0]
        while time.monotonic() < until:
            page = Page(address, draw.choice(paths), who="192.0.2.2").open()
            for _ in range(40):
                place = draw.choice(("set_ui_element_value", "set_model_value"))
                values = {draw.choice(list(page.widgets)): value(draw) for _ in range(draw.randrange(4))}
                body = json.dumps({"objectIds": list(values), "values": list(values.values()), "modelId": text(draw),
                                   "message": value(draw), "buffers": value(draw)}).encode()  # fmt: skip
                if draw.random() < 0.3:
                    cut = draw.randrange(len(body))
                    body = body[:cut] + draw.randbytes(draw.randrange(5)) + body[cut + draw.randrange(3) :]
                start = time.monotonic()
                assert page.post(values if draw.random() < 0.3 else body, f"api/kernel/{place}") < 600
                slowest, inputs = max(slowest, time.monotonic() - start), inputs + 1
            for _ in range(5):
                page.socket.send(draw.randbytes(draw.randrange(500)) if draw.random() < 0.5 else text(draw))
                inputs += 1
            page.close()
            honest.move({slider.name: draw.choice((-1, 0, 1))})
        assert memory(process.pid) < 1.5e9
        assert "Traceback" not in process.said(), process.said()[-3000:]
    print(f"{inputs} messages, the slowest answer after {slowest:.2f} s")
