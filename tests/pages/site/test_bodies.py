"""Bodies are counted while they come in: what is too large never is in memory."""

import asyncio

import pytest

from lamina.pages.site import _bodies as bodies
from lamina.pages.site._bodies import Bodies

PATH = "/ch1/perceptron/api/kernel/set_ui_element_value"


async def _reads(scope, receive, send):
    """Stand for marimo: take the whole body and say how large it is."""
    if scope["type"] == "websocket":
        while (await receive())["type"] != "websocket.disconnect":
            pass
        return
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RuntimeError("the visitor has left")
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def post(app, parts, path=PATH, who="192.0.2.1", session="s_1", said=None):
    """Send a body in parts; return the status, the text, and how many parts were taken."""
    return asyncio.run(_post(app, parts, path, who, session, said))


async def _post(app, parts, path=PATH, who="192.0.2.1", session="s_1", said=None):
    sent, taken, parts = [], 0, list(parts)
    headers = [(b"marimo-session-id", session.encode())]
    headers += [(b"content-length", str(said).encode())] if said is not None else []
    scope = {"type": "http", "method": "POST", "path": path, "client": (who, 1), "headers": headers}

    async def receive():
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": parts[taken - 1], "more_body": taken < len(parts)}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], sent[1]["body"].decode(), taken


def test_a_body_of_1500_mb_is_refused_by_its_length_before_it_comes():
    status, words, taken = post(Bodies(_reads, 45), [b""], said=1_500_000_000)
    assert (status, taken) == (413, 0) and words == "This is too large: a page takes at most 26.8 MB here."


def test_a_body_without_a_length_is_cut_off_while_it_comes():
    part = bytes(1_000_000)
    status, words, taken = post(Bodies(_reads, 45), [part] * 1500)
    assert (status, taken) == (413, 27) and "at most 26.8 MB" in words
    status, words, taken = post(Bodies(_reads, 45), [part] * 1500, path="/ch1/perceptron/api/kernel/set_model_value")
    assert (status, taken) == (413, 2) and words == "This is too large: a page takes at most 1.0 MB here."


def test_a_lie_about_the_length_helps_nobody():
    assert post(Bodies(_reads, 45), [bytes(1_000_000)] * 1500, said=10)[0] == 413
    assert post(Bodies(_reads, 45), [b"12345"], said=5)[:2] == (200, "5")


def test_a_file_of_20_mb_fits():
    assert post(Bodies(_reads, 45), [bytes(26_700_000)])[:2] == (200, "26700000")


def test_open_pages_of_one_visitor_hold_only_so_much_and_others_still_have_room(monkeypatch):
    monkeypatch.setattr(bodies, "VISITOR", 1_000_000)
    monkeypatch.setattr(bodies, "TOGETHER", 1_500_000)

    async def story():
        app, leave, pages = Bodies(_reads, kept=0.05), asyncio.Event(), []

        async def stay():
            await leave.wait()
            return {"type": "websocket.disconnect"}

        for name, who in (("s_1", "192.0.2.1"), ("s_2", "192.0.2.1"), ("s_3", "192.0.2.2")):
            scope = {"type": "websocket", "path": "", "client": (who, 1), "headers": [],
                     "query_string": f"session_id={name}".encode()}  # fmt: skip
            pages.append(asyncio.ensure_future(app(scope, stay, None)))
        await asyncio.sleep(0)
        assert (await _post(app, [bytes(800_000)], session="s_1"))[0] == 200
        status, words, _ = await _post(app, [bytes(800_000)], session="s_2")
        assert status == 429 and words.startswith("Your open pages hold 1 MB of uploads, and a visitor has 1 MB: close")
        assert (await _post(app, [b"small"], session="s_2"))[0] == 200
        status, words, _ = await _post(app, [bytes(800_000)], session="s_3", who="192.0.2.2")
        assert status == 503 and words == "All open pages together hold 1 MB of uploads: try again later."
        assert (await _post(app, [bytes(600_000)], session="s_3", who="192.0.2.2"))[0] == 200
        leave.set()
        await asyncio.gather(*pages)
        await asyncio.sleep(0.1)
        assert (await _post(app, [bytes(900_000)], session="s_4"))[0] == 200, "closed pages give back what they held"
        assert not app._held, "a page that is not open holds nothing"

    asyncio.run(story())


def test_a_body_that_never_ends_is_given_up(monkeypatch):
    monkeypatch.setattr(bodies, "PATIENCE", 0.05)

    async def story():
        sent = []

        async def receive():
            await asyncio.Event().wait()

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "path": PATH, "client": ("192.0.2.1", 1), "headers": []}
        await Bodies(_reads, 45)(scope, receive, send)
        assert sent[0]["status"] == 408 and sent[1]["body"] == b"The request did not come in 0 seconds."

    asyncio.run(story())


def test_what_fails_inside_is_not_hidden():
    async def fails(scope, receive, send):
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        post(Bodies(fails, 45), [b""])
