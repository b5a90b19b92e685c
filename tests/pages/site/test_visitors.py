"""Who is one visitor: an address, a network of IPv6, or a page on this machine."""

from lamina.pages.site._visitors import address, local, visitor


def at(host, session=""):
    return {"client": (host, 1), "headers": [(b"marimo-session-id", session.encode())]}


def test_one_machine_with_many_addresses_is_one_visitor():
    assert visitor(at("2001:db8::1")) == visitor(at("2001:db8::ffff:1")) != visitor(at("2001:db8:0:1::1"))
    assert visitor(at("::ffff:192.0.2.7")) == visitor(at("192.0.2.7")) == "192.0.2.7"
    assert address(at("fe80::1%eth0")) == "fe80::/64"


def test_sessions_matter_on_this_machine_alone():
    assert visitor(at("127.0.0.1", "s_1")) != visitor(at("127.0.0.1", "s_2"))
    assert visitor(at("192.0.2.7", "s_1")) == visitor(at("192.0.2.7", "s_2"))
    assert local("127.9.9.9") and not local("unknown.example")
