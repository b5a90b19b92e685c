"""What stands between the network and the pages: a small pure ASGI layer for http and websocket.

marimo answers any `Host` and any `Origin`, so that every web page open in the same browser could talk to it. The guard
lets through only what a browser sends from one of our own pages, and gives every page a policy under which nothing can
be loaded from elsewhere.
"""

import hmac
import math
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from lamina.pages.site._token import Guesses
from lamina.pages.site._visitors import address

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
COOKIE = "lamina-token"
_POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "manifest-src 'self'; media-src 'self' data:; object-src 'none'; frame-src 'none'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_OURS = {name for name, _ in _ALWAYS} | {b"content-security-policy", b"cache-control", b"content-length", b"etag"}
_SCRIPT = re.compile(rb"<script(?=[\s>])", re.IGNORECASE)
_FRAMES = {b"iframe", b"frame", b"embed", b"object", b"fencedframe"}


class Guard:
    """Check every request and dress every answer.

    Args:
        app: the pages.
        hosts: the names under which the pages may be asked for; None for any, which demands a token.
        token: the secret that a visitor shows once as `?token=...`. A cookie remembers that it was shown; it holds
            another secret, made at every start, so that only addresses can be used for guessing.
        forever: the beginnings of paths whose files never change, so that browsers keep them.
    """

    def __init__(
        self,
        app: App,
        *,
        hosts: Iterable[str] | None = LOOPBACK,
        token: str | None = None,
        forever: tuple[str, ...] = ("/static/",),
    ) -> None:
        if hosts is None and not token:
            raise ValueError("pages for any host need a token")
        self._app, self._forever = app, forever
        self._guesses = Guesses(token) if token else None
        self._pass = secrets.token_urlsafe(32)
        self._hosts = None if hosts is None else frozenset(name.lower() for name in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if not (self._known_host(headers) and self._own_origin(headers) and not _framed(headers)):
            await refuse(scope, receive, send, 403, "This page answers only to itself: open it by its own address.")
        elif self._guesses is not None and not self._trusted(headers):
            await self._ask(self._guesses, scope, receive, send)
        elif scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            lasting = scope["path"].startswith(self._forever)
            await self._app(scope, receive, _Dressed(send, lasting))

    def _known_host(self, headers: dict[bytes, bytes]) -> bool:
        host = _name(headers.get(b"host", b""))
        return bool(host) and (self._hosts is None or host in self._hosts)

    def _own_origin(self, headers: dict[bytes, bytes]) -> bool:
        """Say whether a request comes from a page of ours, or from no page at all."""
        if headers.get(b"sec-fetch-site") == b"cross-site" and headers.get(b"sec-fetch-mode") != b"navigate":
            return False
        origin = headers.get(b"origin")
        if origin is None:
            return True
        try:
            parts = urlsplit(origin.decode("latin-1"))
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc.lower() == headers[b"host"].decode("latin-1").lower()

    def _trusted(self, headers: dict[bytes, bytes]) -> bool:
        return hmac.compare_digest(cookie(headers, COOKIE).encode(), self._pass.encode())

    async def _ask(self, guesses: Guesses, scope: Scope, receive: Receive, send: Send) -> None:
        """Take the token from the address and give a cookie for it, or refuse."""
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        word, where = dict(query).get("token", ""), address(scope)
        if word and (seconds := guesses.wait(where)):
            words = f"Too many wrong tokens came from your address: try again in {math.ceil(seconds)} seconds."
            await refuse(scope, receive, send, 429, words)
            return
        if scope["type"] != "http" or not word or not guesses.right(where, word):
            await refuse(scope, receive, send, 403, "These pages need a token: open the address that was printed.")
            return
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # Browsers read a backslash as a slash and skip tabs, so that "/\host" would lead to another server.
        place = "/" + quote(scope["path"].lstrip("/")) + ("?" + rest if rest else "")
        cookie = f"{COOKIE}={self._pass}; Path=/; HttpOnly; SameSite=Strict; Max-Age=86400".encode()
        start = [(b"location", place.encode()), (b"set-cookie", cookie), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 303, "headers": [*start, *_ALWAYS]})
        await send({"type": "http.response.body", "body": b""})


class _Dressed:
    """Change the headers of an answer, and give the scripts of a page their nonce."""

    def __init__(self, send: Send, lasting: bool) -> None:
        self._send, self._lasting = send, lasting
        self._start: Message | None = None
        self._body = b""
        self._nonce = ""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._begin(message)
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._page()
        else:
            await self._send(message)

    async def _begin(self, message: Message) -> None:
        headers = [(name.lower(), value) for name, value in message["headers"]]
        kind = dict(headers).get(b"content-type", b"")
        page = kind.startswith(b"text/html")
        kept = [(n, v) for n, v in headers if not n.startswith(b"access-control-") and (n not in _OURS or
                (n in (b"content-length", b"etag", b"cache-control") and not page))]  # fmt: skip
        if page:
            self._nonce = secrets.token_urlsafe(16)
            policy = _POLICY.format(nonce=self._nonce).encode()
            kept += [(b"cache-control", b"no-store"), (b"content-security-policy", policy), *_ALWAYS]
            self._start = {**message, "headers": kept}
            return
        if self._lasting and message["status"] in (200, 206, 304):
            kept = [(n, v) for n, v in kept if n != b"cache-control"]
            kept.append((b"cache-control", b"public, max-age=31536000, immutable"))
        await self._send({**message, "headers": [*kept, *_ALWAYS]})

    async def _page(self) -> None:
        assert self._start is not None
        body = _SCRIPT.sub(b'<script nonce="' + self._nonce.encode() + b'"', self._body)
        self._start["headers"].append((b"content-length", str(len(body)).encode()))
        await self._send(self._start)
        await self._send({"type": "http.response.body", "body": body})


def _framed(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"sec-fetch-dest", b"") in _FRAMES


def _name(host: bytes) -> str:
    """Take the port off a host.

    >>> _name(b"LocalHost:8000"), _name(b"[::1]:8000"), _name(b"a b")
    ('localhost', '::1', '')
    """
    try:
        return urlsplit("//" + host.decode("ascii")).hostname or "" if re.fullmatch(rb"[\w.\-:\[\]]+", host) else ""
    except ValueError:
        return ""


def cookie(headers: dict[bytes, bytes], name: str) -> str:
    """Return the cookie of a name, empty without one.

    Other programs of the same host have theirs beside it, and not all of them keep to the rules: a parser that stops at
    the first of those locks a reader out.

    >>> cookie({b"cookie": b"one of theirs; b=2"}, "b")
    '2'
    """
    parts = [part.partition("=") for part in headers.get(b"cookie", b"").decode("latin-1").split(";")]
    return {key.strip(): value.strip() for key, _, value in parts}.get(name, "")


async def refuse(
    scope: Scope,
    receive: Receive,
    send: Send,
    status: int,
    words: str,
    more: tuple[tuple[bytes, bytes], ...] = (),
) -> None:
    """Answer with a sentence, or close a socket before it opens, which servers answer with 403."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    body = words.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *_ALWAYS]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *more]})
    await send({"type": "http.response.body", "body": body})
