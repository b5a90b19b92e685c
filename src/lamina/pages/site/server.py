"""One process that serves all pages: marimo's notebooks in our frame, the plain pages, and the files both need."""

import asyncio
import gc
import os
import re
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from errno import EADDRNOTAVAIL
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamina._errors import ArgumentError, MissingExtraError, RunError
from lamina._system import WINDOWS, give_back, one_arena
from lamina.pages.kit._bounds import hold_widgets
from lamina.pages.kit._keeping import SHELF, ZIP, sweep
from lamina.pages.site import _plain as plain
from lamina.pages.site import _shell as shell
from lamina.pages.site import _token
from lamina.pages.site._bodies import Bodies
from lamina.pages.site._connections import counted, many_files
from lamina.pages.site._guard import LOOPBACK, App, Guard, Message, Receive, Scope, Send, cookie
from lamina.pages.site._messages import DRAWINGS, WIDGETS
from lamina.pages.site._prerender import FirstViews, rehearse
from lamina.pages.site._remembered import compile_ahead, remember
from lamina.pages.site._shell import AGAIN
from lamina.pages.site._visitors import visitor
from lamina.pages.site._visits import Visits
from lamina.pages.site.contents import Page, pages

if TYPE_CHECKING:
    from lamina.pages.homework.desk import Desk

PORT, HOMEWORK = 2718, "/homework"
BACKLOG = 1024
"""Readers who may wait to be let in."""
SWITCH = 0.0005
"""Seconds for which a page computes before it lets others; whoever sends a message has to wait that long each time."""
IDLE = 45
"""Seconds for which a closed page can come back to where it was, while there is room for it."""
SESSIONS = 120
"""The number of pages that may be open, or closed a moment ago: four for each student in a class of 30."""
REST = 600.0
"""Seconds without a touch after which an open page gives way to a new one when there is no room."""
TIDY = 5.0
"""Seconds between two times at which memory is given back when pages close."""
_PLAIN = {"/": plain.index, "/catalogue": plain.catalogue, "/errata": plain.errata}
_ASKED_FOR = re.compile(r"health|favicon\.ico|@file/[\w.-]+", re.ASCII)
"""What a page of ours asks marimo for."""
_KINDS = {"css": b"text/css; charset=utf-8", "js": b"text/javascript; charset=utf-8"}


class Site:
    """All pages as one ASGI application.

    Args:
        sessions: how many pages may be open at the same time.
        idle: seconds for which a closed page can come back.
        rest: seconds without a touch after which an open page gives way when there is no room.
        homework: the desk that answers at `/homework`.
    """

    def __init__(
        self, *, sessions: int = SESSIONS, idle: int = IDLE, rest: float = REST, homework: "Desk | None" = None
    ) -> None:
        try:
            import marimo
            from starlette.exceptions import HTTPException
            from starlette.staticfiles import StaticFiles
        except ImportError as error:
            raise MissingExtraError("marimo", "notes", "the live pages") from error
        static = Path(marimo.__file__).parent / "_static"
        if not (static / "index.html").is_file():
            raise RunError(f"marimo's own page is missing ({static / 'index.html'}): {AGAIN}")
        try:
            builder = marimo.create_asgi_app(asset_url="/static/marimo", quiet=True, session_ttl=idle)
            for page in pages():
                builder = builder.with_app(path=f"/{page.path}", root=str(page.file))
            self._notebooks: Any = builder.build()
            hold_widgets()
            remember()
        except (ImportError, AttributeError, TypeError) as error:
            raise RunError(
                f"marimo {marimo.__version__} is not built as these pages expect ({error}): {AGAIN}"
            ) from error
        with suppress(ImportError):  # the page that needs it says so
            import_module("anywidget")  # now: if a page's thread does it while marimo hooks another page in, both fail
        self._assets: Any = StaticFiles(directory=static)
        self._pages = {f"/{page.path}": page for page in pages()}
        self._missing = HTTPException
        self._views = FirstViews({page.path: page.file for page in pages()})
        self._html: dict[str, str] = {}
        self._visits = Visits(sessions, rest, self._forget, idle)
        self._homework, self._idle, self._tidied = homework, idle, 0.0
        self._quiet: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send, self.open, self.close)
        elif scope["type"] == "http":
            await self._http({**scope, "meta": {"visitor": visitor(scope)}}, receive, send)
        elif scope["path"].endswith("/ws") and scope["path"].removesuffix("/ws") in self._pages:
            known = {**scope, "meta": {"visitor": visitor(scope)}}
            await self._visits.follow(self._notebooks, known, receive, send)
            await self._tidy()
        else:
            await receive()
            await send({"type": "websocket.close", "code": 1008})

    async def _tidy(self) -> None:
        """Give back to the system what closed pages have left, and once more when none of them can come back."""
        loop = asyncio.get_running_loop()
        if self._quiet is not None:
            self._quiet.cancel()
        self._quiet = loop.call_later(self._idle + TIDY, loop.run_in_executor, None, self._clear)
        if (now := time.monotonic()) - self._tidied >= TIDY:
            self._tidied = now
            await asyncio.to_thread(give_back)

    def _clear(self) -> None:
        """Let go of what no page needs any more; looking for it would hold up readers, so not while there are some."""
        if not len(self._visits):
            gc.collect()
        give_back()

    async def open(self) -> None:
        """Begin to compute the first views."""
        self._views.start()

    async def close(self) -> None:
        """End all sessions and the work they have started."""
        from lamina.pages.kit._jobs import stop_all

        self._views.stop()
        for _, manager in self._managers():
            await manager.shutdown()
        stop_all()
        SHELF.clear()

    def _managers(self) -> Iterator[tuple[str, Any]]:
        """Give each page's address, and what marimo keeps of its sessions."""
        for route in self._notebooks.routes:
            manager = getattr(getattr(getattr(route, "app", None), "state", None), "session_manager", None)
            if manager is not None:
                yield route.path, manager

    def _forget(self, page: str, name: str) -> None:
        """End a session of a closed page."""
        for path, manager in self._managers():
            if path == page:
                manager.close_session(name)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path.startswith("/static/marimo/"):
            inner = {**scope, "path": path.removeprefix("/static/marimo"), "root_path": ""}
            try:
                await self._assets(inner, receive, send)
            except self._missing:
                await _answer(send, "There is no such file.", b"text/plain", 404)
        elif path.startswith("/static/lamina/"):
            await _file(path.removeprefix("/static/lamina/"), send)
        elif path in _PLAIN:
            await _answer(send, self._assigned(_PLAIN[path]()))
        elif path == HOMEWORK and self._homework is not None:
            status, html = await self._homework.serve(scope, receive)
            await _answer(send, self._assigned(html), status=status)
        elif path.startswith("/runs/"):
            await _run(path, scope, receive, send)
        elif path in self._pages:
            await _redirect(send, path + "/", scope.get("query_string", b""))
        elif path.endswith(".py") and path.removesuffix(".py") in self._pages:
            page = self._pages[path.removesuffix(".py")]
            await _answer(send, page.file.read_text(encoding="utf-8"), b"text/plain; charset=utf-8")
        elif path.endswith("/") and path.removesuffix("/") in self._pages:
            await self._notebook(self._pages[path.removesuffix("/")], scope, receive, send)
        elif home := next((known for known in self._pages if path.startswith(known + "/")), ""):
            await self._inner(path.removeprefix(home + "/"), scope, receive, send)
        else:
            await _answer(send, plain.missing(path), status=404)

    async def _inner(self, rest: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a page talk to its session: what our pages need of marimo, and nothing else."""
        if scope["method"] == "POST" and rest in (WIDGETS, DRAWINGS):
            await self._visits.serve(self._notebooks, scope, receive, send)
        elif scope["method"] in ("GET", "HEAD") and _ASKED_FOR.fullmatch(rest):
            await self._notebooks(scope, receive, send)
        else:
            await _answer(send, plain.missing(scope["path"]), status=404)

    async def _notebook(self, page: Page, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._visits.room(visitor(scope)):
            await _answer(send, plain.full(self._visits.most), status=503)
            return
        headers = dict(scope["headers"])
        theme = cookie(headers, "lamina-theme")
        chosen = theme if theme in shell.THEMES else "system"
        if page.path not in self._html:  # marimo reads the notebook again for each visitor
            status, body = await _fetched(self._notebooks, scope, receive)
            if status != 200:
                await _answer(send, escape(body.decode()), status=status)
                return
            self._html[page.path] = body.decode()
        try:
            html = shell.framed(self._html[page.path], page, chosen, self._views.get(page.path))
        except RunError as error:
            await _answer(send, escape(str(error)), status=500)
            return
        await _answer(send, self._assigned(html))

    def _assigned(self, html: str) -> str:
        return html if self._homework is None else shell.with_homework(html, HOMEWORK)


async def _fetched(app: App, scope: Scope, receive: Receive) -> tuple[int, bytes]:
    """Ask an application and collect its answer."""
    status, body = 500, b""

    async def collect(message: Message) -> None:
        nonlocal status, body
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            body += message.get("body", b"")

    fresh = [(name, value) for name, value in scope["headers"] if name not in (b"if-none-match", b"accept-encoding")]
    await app({**scope, "headers": fresh}, receive, collect)
    return status, body


async def _answer(send: Send, text: str, kind: bytes = b"text/html; charset=utf-8", status: int = 200) -> None:
    body = text.encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _redirect(send: Send, place: str, query: bytes) -> None:
    where = place.encode() + (b"?" + query if query else b"")
    await send({"type": "http.response.start", "status": 308, "headers": [(b"location", where)]})
    await send({"type": "http.response.body", "body": b""})


async def _file(name: str, send: Send) -> None:
    if name not in shell.FILES:
        await _answer(send, "There is no such file.", b"text/plain", 404)
        return
    await _answer(send, shell.asset(name), _KINDS[name.rsplit(".", 1)[1]])


async def _run(path: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the report of a run of the playground, or with the run as an archive."""
    name = path.removeprefix("/runs/").removesuffix("/" + ZIP)
    if path.endswith("/" + ZIP) and (archive := SHELF.packed(name)) is not None:
        from starlette.responses import FileResponse

        await FileResponse(archive, filename=ZIP)(scope, receive, send)
    elif path == f"/runs/{name}" and (report := SHELF.report(name)) is not None:
        await _answer(send, report)
    else:
        await _answer(send, plain.missing(path), status=404)


Step = Callable[[], Awaitable[None]]


async def _lifespan(receive: Receive, send: Send, start: Step, close: Step) -> None:
    while True:
        message = await receive()
        await (start if message["type"] == "lifespan.startup" else close)()
        await send({"type": message["type"] + ".complete"})
        if message["type"] == "lifespan.shutdown":
            return


def build(
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    sessions: int = SESSIONS,
    idle: int = IDLE,
    homework: "Desk | None" = None,
) -> App:
    """Make the guarded application for an address.

    Args:
        host: the address to listen on; beyond loopback a token is needed.
        token: the secret that visitors show once.
        sessions: how many pages may be open at the same time.
        idle: seconds for which a closed page can come back.
        homework: the desk that answers at `/homework`.
    """
    if token:
        _token.check(token)
    elif host not in LOOPBACK:
        raise ArgumentError(f"`--host` {host} can be reached by others: add --token SECRET, which they will need too.")
    hosts = None if host in ("0.0.0.0", "::") else LOOPBACK | {host}
    return Guard(Bodies(Site(sessions=sessions, idle=idle, homework=homework), kept=idle), hosts=hosts, token=token)


def listening(host: str, wanted: int) -> socket.socket:
    """Listen on the wanted port, or on one nearby that is free; 0 is any."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in (*(range(wanted, wanted + 20) if wanted else ()), 0):
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio does not send at once
        if not WINDOWS:  # there it would take a port that somebody listens on
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            found.bind((host, port))
            found.listen(BACKLOG)  # two may have bound one port: the second to listen is refused
        except OSError as error:
            found.close()
            if isinstance(error, socket.gaierror) or error.errno == EADDRNOTAVAIL:
                raise ArgumentError(
                    f"`--host` must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them, got "
                    f"{host!r}."
                ) from None
            continue
        return found
    raise RunError(f"no port of {host} near {wanted} is free: choose another one with --port.")


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str | None = None,
    first: str = "/",
    browser: bool = True,
    homework: "Desk | None" = None,
) -> None:
    """Serve the pages until Ctrl-C.

    Args:
        host: the address to listen on.
        port: the port to begin with; another one is taken, and said, when it is not free; 0 is any.
        token: the secret that visitors show once; one is made when others can reach the address.
        first: the page that the browser opens.
        browser: whether to open one.
        homework: the desk that answers at `/homework`.
    """
    if host not in LOOPBACK and token is None:
        token = _token.make()
    app = build(host=host, token=token, homework=homework)
    import uvicorn

    from lamina.pages.kit._jobs import leave_nothing

    sweep()
    one_arena()
    many_files()
    sys.setswitchinterval(SWITCH)

    ears = listening(host, port)
    chosen = ears.getsockname()[1]
    if port not in (0, chosen):
        print(f"Port {port} is in use; the pages are on {chosen}.")
    name = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    place = f"http://{name}:{chosen}{first}" + (f"?token={token}" if token else "")
    print(f"The executable notes: {place}\nStop them with Ctrl-C.", flush=True)
    threading.Thread(target=_warm, daemon=True).start()
    if browser:
        threading.Timer(1.0, webbrowser.open, (place,)).start()
    sockets: Any = {"ws_max_size": 65_536, "ws_max_queue": 4}  # marimo's page says nothing on its socket
    config = uvicorn.Config(
        app, log_level="error", lifespan="on", timeout_graceful_shutdown=2, http=counted(), backlog=BACKLOG, **sockets,
    )  # fmt: skip
    server = uvicorn.Server(config)
    if hasattr(signal, "SIGHUP"):  # the terminal was closed
        signal.signal(signal.SIGHUP, server.handle_exit)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn sends it once more when it has closed
    try:
        asyncio.run(server.serve([ears]))
    except KeyboardInterrupt:
        pass
    print("\nThe pages are closed.", flush=True)
    leave_nothing()
    os._exit(0)  # Python would wait for the threads of cells that still compute, and they cannot be interrupted


def _warm() -> None:
    """Load torch, here and where jobs start, while the browser opens, compile the pages and run each of them once.

    Readers need not wait for what is the same for all of them.
    """
    from lamina.pages.kit._jobs import PRELOADED, prepare

    prepare()
    for name in PRELOADED:
        import_module(name)
    compile_ahead(page.file for page in pages())
    rehearse(str(page.file) for page in pages())
    gc.collect()
    gc.freeze()  # what is here stays: looking through it again and again held all readers up for half a second
