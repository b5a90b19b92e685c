"""Who asks: limits are counted per visitor, so that nobody can use up what belongs to all.

A visitor is a network address, and of IPv6 the network of 64 bits, since one machine has all of its addresses. On the
machine that serves the pages, every open page counts as a visitor: there is one person there, or a proxy that does not
say whom it asks for (`X-Forwarded-For` does, and is believed when a proxy on this machine sends it).
"""

import ipaddress
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import parse_qs


def address(scope: MutableMapping[str, Any]) -> str:
    """Return the address that a connection comes from, "" where it is not known.

    >>> address({"client": ("192.0.2.7", 4000)}), address({"client": ("2001:db8::7", 4000)}), address({})
    ('192.0.2.7', '2001:db8::/64', '')
    """
    host = str((scope.get("client") or ("",))[0])
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        if not found.is_loopback:
            return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def session(scope: MutableMapping[str, Any]) -> str:
    """Return the session that a request or a socket of marimo's page belongs to, "" without one.

    >>> session({"headers": [(b"marimo-session-id", b"s_1")]}), session({"query_string": b"session_id=s_2"})
    ('s_1', 's_2')
    """
    named = dict(scope.get("headers", ())).get(b"marimo-session-id", b"").decode("latin-1")
    query: bytes = scope.get("query_string", b"")
    return named or parse_qs(query.decode("latin-1")).get("session_id", [""])[0]


def visitor(scope: MutableMapping[str, Any]) -> str:
    """Return who asks: an address, or a page that is open on this machine itself.

    >>> visitor({"client": ("192.0.2.7", 1)}), visitor({"client": ("127.0.0.1", 1), "query_string": b"session_id=s_1"})
    ('192.0.2.7', '127.0.0.1 s_1')
    """
    where = address(scope)
    return f"{where} {session(scope)}" if local(where) else where


def local(where: str) -> bool:
    """Say whether an address is that of this machine.

    >>> local("127.0.0.1"), local("::1"), local("192.0.2.7"), local("")
    (True, True, False, True)
    """
    try:
        return not where or ipaddress.ip_network(where).is_loopback
    except ValueError:
        return False
