"""One address has so many connections, and a silent one is hung up on; this machine itself is not counted."""

import asyncio

import pytest

from lamina.pages.site import _connections as connections


class Transport(asyncio.Transport):
    def __init__(self, host):
        super().__init__({"peername": (host, 4000), "sockname": ("192.0.2.250", 80)})
        self.ended = False

    def abort(self):
        self.ended = True

    close = abort


def made(host):
    import uvicorn

    config = uvicorn.Config(lambda *_: None, lifespan="off", log_level="error")
    config.load()
    state = uvicorn.server.ServerState()
    one = connections.counted()(config=config, server_state=state, app_state={}, _loop=asyncio.get_running_loop())
    one.connection_made(Transport(host))
    return one


def test_connections_of_one_address_are_limited(monkeypatch):
    monkeypatch.setattr(connections, "MOST", 3)

    async def story():
        held = [made("192.0.2.1") for _ in range(5)]
        assert [one.transport.ended for one in held] == [False] * 3 + [True] * 2
        other, here = made("192.0.2.2"), [made("127.0.0.1") for _ in range(5)]
        assert not other.transport.ended and not any(one.transport.ended for one in here)
        for one in (*held, other, *here):
            one.connection_lost(None)
        again = made("192.0.2.1")
        assert not again.transport.ended, "whoever left is not counted any more"
        again.connection_lost(None)

    asyncio.run(story())


def test_a_silent_connection_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(connections, "SILENT", 0.02)

    async def story():
        silent, polite = made("192.0.2.1"), made("192.0.2.1")
        polite.data_received(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        await asyncio.sleep(0.1)
        assert silent.transport.ended and polite._silence is None
        for one in (silent, polite):
            one.connection_lost(None)

    asyncio.run(story())


@pytest.mark.posix
def test_the_server_may_open_many_files():
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        connections.many_files()
        few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert few == (connections.FILES if most == resource.RLIM_INFINITY else min(most, connections.FILES))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
