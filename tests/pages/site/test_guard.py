"""The guard lets through what our own pages send, and nothing else; every answer carries its policy."""

import asyncio
import re

import pytest

from lamina.pages.site._guard import Guard

HOST = b"127.0.0.1:2718"


async def _inner(scope, receive, send):
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        return
    kind = b"text/html; charset=utf-8" if scope["path"] != "/static/a.js" else b"text/javascript"
    headers = [(b"Content-Type", kind), (b"access-control-allow-origin", b"*"), (b"ETag", b'"1"'),
               (b"x-frame-options", b"SAMEORIGIN"), (b"set-cookie", b"a=1")]  # fmt: skip
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for part in (b"<html><script>1</script>", b'<SCRIPT src="/a.js"></SCRIPT><p>', b"<scripted></html>"):
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def ask(path="/", *, kind="http", guard=None, query=b"", host=HOST, **headers):
    """Send one request through a guard; return (status, headers, body), or the message that answers a socket."""
    sent = []
    names = [(name.replace("_", "-").encode(), value) for name, value in headers.items()]
    scope = {
        "type": kind,
        "path": path,
        "query_string": query,
        "headers": [*([(b"host", host)] if host else []), *names],
    }

    async def receive():
        return {"type": f"{kind}.connect" if kind == "websocket" else "http.request"}

    async def send(message):
        sent.append(message)

    asyncio.run((guard or Guard(_inner))(scope, receive, send))
    if kind == "websocket":
        return sent[0]["type"]
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body


def test_our_own_requests_pass():
    assert ask()[0] == 200
    assert ask(origin=b"http://127.0.0.1:2718", sec_fetch_site=b"same-origin")[0] == 200
    assert ask(host=b"localhost:2718")[0] == ask(host=b"[::1]:2718")[0] == 200
    assert ask(kind="websocket", origin=b"http://127.0.0.1:2718") == "websocket.accept"
    assert ask(kind="websocket") == "websocket.accept", "a program that is no browser sends no origin"
    assert ask(sec_fetch_site=b"cross-site", sec_fetch_mode=b"navigate", sec_fetch_dest=b"document")[0] == 200, "a link"


@pytest.mark.parametrize("host", [b"evil.example", b"evil.example:2718", b"127.0.0.1.evil.example", b"", b"a b", None])
def test_foreign_hosts_get_403(host):
    status, headers, body = ask(host=host)
    assert status == 403 and body.startswith(b"This page answers only to itself")
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert ask(kind="websocket", host=host) == "websocket.close"


@pytest.mark.parametrize(
    "origin",
    [
        b"http://evil.example",
        b"null",
        b"http://127.0.0.1:9999",
        b"https://localhost:2718",
        b"file://127.0.0.1:2718",
        b"http://[",
    ],
)
def test_foreign_origins_get_403(origin):
    assert ask(origin=origin)[0] == 403
    assert ask(kind="websocket", origin=origin) == "websocket.close"


@pytest.mark.parametrize("place", [b"iframe", b"frame", b"embed", b"object"])
def test_framing_gets_403(place):
    assert ask(sec_fetch_dest=place, sec_fetch_site=b"cross-site", sec_fetch_mode=b"navigate")[0] == 403


def test_pictures_and_scripts_of_other_sites_get_403():
    assert ask("/static/a.js", sec_fetch_site=b"cross-site", sec_fetch_mode=b"no-cors")[0] == 403


def test_pages_carry_a_fresh_nonce_and_a_policy_without_outside_hosts():
    status, headers, body = ask()
    policy = headers[b"content-security-policy"].decode()
    nonce = re.search(r"'nonce-([\w-]{20,})'", policy)[1]
    assert status == 200
    assert (
        body
        == (
            f'<html><script nonce="{nonce}">1</script><script nonce="{nonce}" src="/a.js"></SCRIPT><p><scripted></html>'
        ).encode()
    )
    assert int(headers[b"content-length"]) == len(body)
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy and "http" not in policy and "*" not in policy and "wasm" not in policy
    assert "script-src 'self' 'nonce-" in policy and "'unsafe-inline'" not in policy.split("style-src")[0]
    assert ask()[1][b"content-security-policy"] != headers[b"content-security-policy"]


def test_headers_of_pages_and_files():
    _, page, _ = ask()
    _, file, _ = ask("/static/a.js")
    for headers in (page, file):
        assert not any(name.startswith(b"access-control") for name in headers)
        assert headers[b"x-frame-options"] == b"DENY" and headers[b"x-content-type-options"] == b"nosniff"
        assert headers[b"set-cookie"] == b"a=1"
    assert page[b"cache-control"] == b"no-store" and b"etag" not in page
    assert file[b"cache-control"] == b"public, max-age=31536000, immutable" and file[b"etag"] == b'"1"'


def test_a_token_is_asked_for_once():
    guard = Guard(_inner, hosts=None, token="secret-of-ours")
    anywhere = {"guard": guard, "host": b"lab-7.example:80"}
    status, _, body = ask(**anywhere)
    assert status == 403 and b"need a token" in body
    assert ask(**anywhere, query=b"token=wrong")[0] == 403
    assert ask(**anywhere, kind="websocket", query=b"token=secret-of-ours") == "websocket.close", "it needs the cookie"
    status, headers, _ = ask("/ch1/perceptron", **anywhere, query=b"token=secret-of-ours&x=1")
    assert status == 303 and headers[b"location"] == b"/ch1/perceptron?x=1"
    shown = headers[b"set-cookie"].split(b";")[0]
    assert re.fullmatch(rb"lamina-token=[\w-]{43}", shown), "the cookie is a pass of this start, not the token"
    assert b"HttpOnly" in headers[b"set-cookie"] and b"SameSite=Strict" in headers[b"set-cookie"]
    for theirs in (b"a=b", b"x", b"one two=three", "café=füß".encode(), b'a="q; r"', b'j={"k": 1}', b"=", b"a@b=1"):
        assert ask(**anywhere, cookie=theirs + b"; " + shown)[0] == 200, "other programs of this host have cookies, too"
    assert ask(**anywhere, cookie=shown[:-1])[0] == 403
    assert ask(**anywhere, cookie=b"lamina-token=secret-of-ours")[0] == 403, "nobody guesses the token by cookies"
    assert ask(**anywhere, kind="websocket", cookie=shown) == "websocket.accept"
    assert ask(**anywhere, cookie=shown, origin=b"http://evil.example")[0] == 403


def test_guesses_are_slowed_down_and_those_who_are_in_stay_in():
    guard = Guard(_inner, hosts=None, token="secret-of-ours")
    anywhere = {"guard": guard, "host": b"lab-7.example:80"}
    shown = ask(**anywhere, query=b"token=secret-of-ours")[1][b"set-cookie"].split(b";")[0]
    answers = [ask(**anywhere, query=b"token=guess%d" % i)[0] for i in range(100)]
    assert answers == [403] * 5 + [429] * 95
    status, _, body = ask(**anywhere, query=b"token=secret-of-ours")
    assert status == 429 and body == b"Too many wrong tokens came from your address: try again in 2 seconds."
    assert ask(**anywhere, cookie=shown)[0] == 200
    assert ask(**anywhere)[0] == 403, "no guess, no wait"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("//evil.example/", b"/evil.example/"),
        ("/\\evil.example", b"/%5Cevil.example"),
        ("/\t/evil.example", b"/%09/evil.example"),
        ("/\r\nset-cookie: a=b", b"/%0D%0Aset-cookie%3A%20a%3Db"),
        ("/\\/evil.example", b"/%5C/evil.example"),
        ("/ü", b"/%C3%BC"),
    ],
)
def test_the_address_after_the_token_stays_on_this_server(path, place):
    guard = Guard(_inner, hosts=None, token="secret-of-ours")
    _, headers, _ = ask(path, guard=guard, query=b"token=secret-of-ours")
    assert headers[b"location"] == place


def test_pages_for_any_host_need_a_token():
    with pytest.raises(ValueError, match="need a token"):
        Guard(_inner, hosts=None)
