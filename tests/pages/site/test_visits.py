"""How many pages may be open, and which gives way."""

import asyncio

from lamina.pages.site._visits import Visits

HOME = "/ch1/perceptron"


class Socket:
    """A reader's end of a socket."""

    def __init__(self, name):
        self.scope = {
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
    while (await receive())["type"] != "websocket.disconnect":
        pass


def visit(visits, socket):
    socket.inbox.put_nowait({"type": "websocket.connect"})
    return asyncio.ensure_future(visits.follow(_page, socket.scope, socket.receive, socket.send))


def test_a_full_house_refuses_until_a_page_has_rested():
    async def story():
        visits = Visits(2, rest=0.2)
        readers = [Socket(name) for name in "abcd"]
        tasks = [visit(visits, reader) for reader in readers[:3]]
        await asyncio.sleep(0.05)
        assert len(visits) == 2 and not visits.room()
        assert readers[2].sent == [{"type": "websocket.close", "code": 1013, "reason": "too many pages are open"}]
        await asyncio.sleep(0.2)
        visits.touch({b"marimo-session-id": b"a"})
        tasks.append(visit(visits, readers[3]))  # b has rested longest and gives way
        await asyncio.sleep(0.05)
        assert readers[1].sent[-1] == {"type": "websocket.close", "code": 1000, "reason": "MARIMO_SHUTDOWN"}
        assert [len(reader.sent) for reader in (readers[0], readers[3])] == [1, 1] and len(visits) == 2
        for reader in readers:
            reader.inbox.put_nowait({"type": "websocket.disconnect"})
        await asyncio.wait_for(asyncio.gather(*tasks), 5)
        assert len(visits) == 0

    asyncio.run(story())
