"""How many pages may be open, and which gives way."""

import asyncio
import contextlib
import time

import pytest

from lamina.pages.site._visits import Visits

HOME = "/ch1/perceptron"
SAID = b'{"objectIds": ["a"], "values": [1]}'
DRAWN = b'{"modelId": "a", "message": {"method": "update", "state": {}, "bufferPaths": []}, "buffers": []}'


class Socket:
    """A reader's end of a socket."""

    def __init__(self, name, client="127.0.0.1", page=HOME):
        self.scope = {
            "client": (client, 1),
            "type": "websocket",
            "path": page + "/ws",
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


async def until(holds):
    """Let the others go on until something holds."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.001)


async def come(visits, *sockets):
    """Let readers come one after another; each is let in or refused before the next one comes."""
    tasks = []
    for socket in sockets:
        tasks.append(visit(visits, socket))
        await until(lambda socket=socket: socket.sent)
    return tasks


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


def test_closed_pages_take_room_until_somebody_needs_it():
    async def story():
        forgotten = []
        visits = Visits(3, rest=60.0, forget=lambda page, name: forgotten.append(name))

        async def come_and_go(name, client):
            reader = Socket(name, client)
            (task,) = await come(visits, reader)
            reader.inbox.put_nowait({"type": "websocket.disconnect"})
            await task

        await come_and_go("honest", "10.0.0.1")
        for number in range(4):  # somebody opens and closes pages without end
            await come_and_go(f"greedy{number}", "10.0.0.2")
        assert forgotten == ["greedy0", "greedy1"] and len(visits) == 0  # never more than three are there
        back = Socket("honest", "10.0.0.1")
        tasks = await come(visits, back)
        assert forgotten == ["greedy0", "greedy1"] and len(visits) == 1  # it came back to its own session
        tasks += await come(visits, *(Socket(name, "10.0.0.3") for name in "ab"))
        assert forgotten == ["greedy0", "greedy1", "greedy2", "greedy3"] and len(visits) == 3
        for each in tasks:
            each.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await each

    asyncio.run(story())


def test_a_full_house_refuses_until_a_page_has_rested():
    async def story():
        visits = Visits(2, rest=600)
        readers = [Socket(name) for name in "abcd"]
        tasks = await come(visits, *readers[:3])
        assert len(visits) == 2 and not visits.room()
        assert readers[2].sent == [{"type": "websocket.close", "code": 1013, "reason": "too many pages are open"}]
        visits._open[HOME, "a"].used -= 600
        visits._open[HOME, "b"].used -= 601
        tasks += await come(visits, readers[3])  # b has rested longest and gives way
        await until(lambda: len(readers[1].sent) == 3)
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
        tasks = await come(visits, *greedy)
        others = [Socket(f"o{i}", f"192.0.2.{i + 2}") for i in range(4)]
        assert visits.room("192.0.2.2") and not visits.room("192.0.2.1"), "but not one more of its own"
        tasks += await come(visits, *others)
        await until(lambda: sum(len(reader.sent) == 3 for reader in greedy) == 3)
        assert [reader.sent[-1].get("reason") for reader in greedy] == ["MARIMO_SHUTDOWN"] * 3 + [None]
        assert others[3].sent == [{"type": "websocket.close", "code": 1013, "reason": "too many pages are open"}]
        assert len(visits) == 4, "each of the four has one page, and nobody has two more than another"
        await _left([*greedy, *others], tasks)

    asyncio.run(story())


def test_nobody_takes_over_or_moves_the_page_of_another_visitor():
    async def story():
        visits = Visits(4, rest=600)
        mine, theirs = Socket("same", "192.0.2.1"), Socket("same", "192.0.2.2")
        tasks = await come(visits, mine, theirs)
        assert theirs.sent[0]["type"] == "websocket.close" and len(visits) == 1
        for client, status in (("192.0.2.2", 404), ("192.0.2.1", 200)):
            assert (await told(visits, SAID, client, "same"))[0] == status
        await _left([mine, theirs], tasks)

    asyncio.run(story())


def test_two_pages_with_the_same_session_are_two():
    async def story():
        forgotten = []
        visits = Visits(3, rest=600, forget=lambda *key: forgotten.append(key))
        readers = [Socket("same", "192.0.2.1", page) for page in (HOME, "/ch1/neuron", "/ch5/gates")]
        tasks = await come(visits, *readers)
        assert len(visits) == 3 and not visits.room("192.0.2.1"), "one name does not open more pages than there may be"
        await _left(readers[:1], tasks[:1])
        assert (await told(visits, SAID, "192.0.2.1", "same"))[0] == 404 and len(visits) == 2
        readers.append(Socket("other", "192.0.2.2"))
        tasks += await come(visits, readers[3])
        assert forgotten == [(HOME, "same")], "the open pages of that name are left alone"
        await _left(readers[1:], tasks[1:])

    asyncio.run(story())


def test_only_who_closed_a_page_comes_back_to_it_and_not_for_ever():
    async def story():
        forgotten = []
        visits = Visits(4, rest=600, forget=lambda *key: forgotten.append(key), kept=45.0)
        mine, theirs, back, late = (Socket("same", f"192.0.2.{number}") for number in (1, 2, 1, 2))
        for reader in (mine, theirs, back):
            reader.inbox.put_nowait({"type": "websocket.connect"})
            reader.inbox.put_nowait({"type": "websocket.disconnect"})
            await visits.follow(_page, reader.scope, reader.receive, reader.send)
        assert [reader.sent[0]["type"] for reader in (mine, theirs, back)] == [
            "websocket.accept", "websocket.close", "websocket.accept"]  # fmt: skip
        assert forgotten == []
        visits._closed[HOME, "same"].used -= 45.0
        tasks = await come(visits, late)
        assert late.sent[0]["type"] == "websocket.accept" and forgotten == [(HOME, "same")]
        await _left([late], tasks)

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


@pytest.mark.parametrize("gone", [OSError("left"), RuntimeError("after sending 'websocket.close'"), None])
def test_a_reader_who_leaves_while_marimo_speaks(gone):
    async def speaks(scope, receive, send):
        await receive()
        with contextlib.suppress(OSError, RuntimeError):
            await send({"type": "websocket.send", "text": "{}"})
        raise RuntimeError("WebSocket is not connected.")

    async def send(message):
        if gone:
            raise gone

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
        tasks = await come(visits, reader)
        deep = b'{"objectIds": ["a"], "values": [' + b"[" * 5000 + b"]" * 5000 + b"]}"
        for body in (b"", b"{", b"\xff", b"[]", b"{}", SAID[:-1], SAID.replace(b"1", b""), SAID.replace(b"1", b"NaN"),
                     SAID.replace(b"1", b'"\xff"'), deep, DRAWN):  # fmt: skip
            sentence = "The message of the page cannot be read: load the page again."
            assert await told(visits, body) == (400, sentence, False), body
        assert (await told(visits, DRAWN.replace(b"[]}", b'["!"]}'), place="set_model_value"))[0] == 400
        assert not visits._turns.computes((HOME, "a"))
        assert await told(visits, DRAWN, place="set_model_value") == (200, "", True)
        assert await told(visits, SAID) == (200, "", True) and visits._turns.computes((HOME, "a"))
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
