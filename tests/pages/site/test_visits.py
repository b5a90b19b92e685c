"""How many pages may be open, and which gives way."""

import asyncio
import contextlib

import pytest

from lamina.pages.site._visits import Visits

HOME = "/ch1/perceptron"
SAID = b'{"objectIds": ["a"], "values": [1]}'
DRAWN = b'{"modelId": "a", "message": {"method": "update", "state": {}, "bufferPaths": []}, "buffers": []}'


class Socket:
    """A reader's end of a socket."""

    def __init__(self, name, client="127.0.0.1"):
        self.scope = {
            "client": (client, 1),
            "type": "websocket",
            "path": HOME + "/ws",
            "query_string": f"session_id={name}".encode(),
            "headers": [],
        }
        self.sent, self.inbox = [], asyncio.Queue()

    async def receive(self):
        return await self.inbox.get()

    async def send(self, message):
        self.sent.append(message)


async def _page(scope, receive, send):
    """Stand for marimo: accept, and wait until the reader leaves."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.send", "text": '{"op": "completed-run", "data": {}}'})
    while (await receive())["type"] != "websocket.disconnect":
        pass


def visit(visits, socket):
    socket.inbox.put_nowait({"type": "websocket.connect"})
    return asyncio.ensure_future(visits.follow(_page, socket.scope, socket.receive, socket.send))


async def told(visits, body, client="127.0.0.1", name="a", place="set_ui_element_value"):
    """Post a message of a page; return the status, the words, and whether it came to marimo."""
    sent, came = [], []
    scope = {"type": "http", "path": f"{HOME}/api/kernel/{place}", "client": (client, 1),
             "headers": [(b"marimo-session-id", name.encode())]}  # fmt: skip
    parts = [{"type": "http.request", "body": part, "more_body": not last} for part, last in
             ((body[:9], False), (body[9:], True))]  # fmt: skip

    async def receive():
        return parts.pop(0)

    async def answer(scope, receive, send):
        came.append((await receive())["body"] + (await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def send(message):
        sent.append(message)

    await visits.serve(answer, scope, receive, send)
    return sent[0]["status"], sent[1]["body"].decode(), came == [body]


def test_a_full_house_refuses_until_a_page_has_rested():
    async def story():
        visits = Visits(2, rest=0.2)
        readers = [Socket(name) for name in "abcd"]
        tasks = [visit(visits, reader) for reader in readers[:3]]
        await asyncio.sleep(0.05)
        assert len(visits) == 2 and not visits.room()
        assert readers[2].sent == [{"type": "websocket.close", "code": 1013, "reason": "too many pages are open"}]
        await asyncio.sleep(0.2)
        visits._open["a"].used += 1
        tasks.append(visit(visits, readers[3]))  # b has rested longest and gives way
        await asyncio.sleep(0.05)
        assert readers[1].sent[-1] == {"type": "websocket.close", "code": 1000, "reason": "MARIMO_SHUTDOWN"}
        assert [len(reader.sent) for reader in (readers[0], readers[3])] == [2, 2] and len(visits) == 2
        for reader in readers:
            reader.inbox.put_nowait({"type": "websocket.disconnect"})
        await asyncio.wait_for(asyncio.gather(*tasks), 5)
        assert len(visits) == 0

    asyncio.run(story())


async def _left(readers, tasks):
    for reader in readers:
        reader.inbox.put_nowait({"type": "websocket.disconnect"})
    await asyncio.wait_for(asyncio.gather(*tasks), 5)


def test_a_visitor_with_many_pages_gives_one_up_for_a_newcomer():
    async def story():
        visits = Visits(4, rest=600)
        greedy = [Socket(f"g{i}", "192.0.2.1") for i in range(4)]
        tasks = []
        for reader in greedy:
            tasks.append(visit(visits, reader))
            await asyncio.sleep(0.01)
        others = [Socket(f"o{i}", f"192.0.2.{i + 2}") for i in range(4)]
        assert visits.room("192.0.2.2") and not visits.room("192.0.2.1"), "but not one more of its own"
        for reader in others:
            tasks.append(visit(visits, reader))
            await asyncio.sleep(0.01)
        assert [reader.sent[-1].get("reason") for reader in greedy] == ["MARIMO_SHUTDOWN"] * 3 + [None]
        assert others[3].sent == [{"type": "websocket.close", "code": 1013, "reason": "too many pages are open"}]
        assert len(visits) == 4, "each of the four has one page, and nobody has two more than another"
        await _left([*greedy, *others], tasks)

    asyncio.run(story())


def test_nobody_takes_over_or_moves_the_page_of_another_visitor():
    async def story():
        visits = Visits(4, rest=600)
        mine, theirs = Socket("same", "192.0.2.1"), Socket("same", "192.0.2.2")
        tasks = [visit(visits, mine)]
        await asyncio.sleep(0.01)
        tasks.append(visit(visits, theirs))
        await asyncio.sleep(0.01)
        assert theirs.sent[0]["type"] == "websocket.close" and len(visits) == 1
        for client, status in (("192.0.2.2", 404), ("192.0.2.1", 200)):
            assert (await told(visits, SAID, client, "same"))[0] == status
        await _left([mine, theirs], tasks)

    asyncio.run(story())


def test_a_socket_that_talks_without_end_is_closed():
    async def story():
        visits = Visits(4, rest=600)
        loud = Socket("loud")
        for _ in range(200):
            loud.inbox.put_nowait({"type": "websocket.receive", "text": "x"})
        task = visit(visits, loud)
        loud.inbox._queue.rotate(1)
        await asyncio.wait_for(task, 5)
        assert loud.sent[-1] == {"type": "websocket.close", "code": 1008, "reason": "too many messages"}

    asyncio.run(story())


@pytest.mark.parametrize("gone", [True, False])
def test_a_reader_who_leaves_while_marimo_speaks(gone):
    async def speaks(scope, receive, send):
        await receive()
        with contextlib.suppress(OSError):
            await send({"type": "websocket.send", "text": "{}"})
        raise RuntimeError("WebSocket is not connected.")

    async def send(message):
        if gone:
            raise OSError("the reader has left")

    async def story():
        visits, reader = Visits(4, rest=600), Socket("a")
        reader.inbox.put_nowait({"type": "websocket.connect"})
        with contextlib.nullcontext() if gone else pytest.raises(RuntimeError, match="WebSocket is not connected"):
            await visits.follow(speaks, reader.scope, reader.receive, send)
        assert len(visits) == 0

    asyncio.run(story())


def test_a_message_that_marimo_cannot_read_is_refused_before_and_uses_no_turn():
    async def story():
        visits, reader = Visits(4, rest=600), Socket("a")
        tasks = [visit(visits, reader)]
        await asyncio.sleep(0.01)
        deep = b'{"objectIds": ["a"], "values": [' + b"[" * 5000 + b"]" * 5000 + b"]}"
        for body in (b"", b"{", b"\xff", b"[]", b"{}", SAID[:-1], SAID.replace(b"1", b""), SAID.replace(b"1", b"NaN"),
                     SAID.replace(b"1", b'"\xff"'), deep, DRAWN):  # fmt: skip
            sentence = "The message of the page cannot be read: load the page again."
            assert await told(visits, body) == (400, sentence, False), body
        assert (await told(visits, DRAWN.replace(b"[]}", b'["!"]}'), place="set_model_value"))[0] == 400
        assert not visits._turns.computes("a")
        assert await told(visits, DRAWN, place="set_model_value") == (200, "", True)
        assert await told(visits, SAID) == (200, "", True) and visits._turns.computes("a")
        await _left([reader], tasks)

    asyncio.run(story())


def test_a_session_has_a_plain_name():
    async def story():
        visits = Visits(4, rest=600)
        for name in ("", "a%20b", "x" * 65, "%C3%BC"):
            reader = Socket(name)
            await visit(visits, reader)
            assert reader.sent[0]["code"] == 1013

    asyncio.run(story())


def test_a_frame_of_bytes_is_an_empty_text():
    import asyncio

    from lamina.pages.site._visits import Visit, _Heard

    async def story():
        async def receive():
            return {"type": "websocket.receive", "bytes": b"\xff"}

        heard = await _Heard(Visit("s_1"), receive, None)()
        assert heard["type"] == "websocket.receive" and heard["text"] == ""

    asyncio.run(story())
