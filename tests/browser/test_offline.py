"""The browser tests run with the loopback interface alone, where the system allows it (`tools/offline.py`)."""

import os
import socket

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.skipif("LAMINA_OFFLINE" not in os.environ, reason="needs unshare")
def test_nobody_outside_can_be_reached():
    assert [name for _, name in socket.if_nameindex()] == ["lo"]
    with pytest.raises(OSError, match="unreachable"):
        socket.create_connection(("192.0.2.1", 80), timeout=2)
