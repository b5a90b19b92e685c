"""The server: permanent links, our frame around marimo's page, limits, and no path of the machine in a page."""

import asyncio
import math
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lamina._errors import ArgumentError, RunError
from lamina.pages.site import _shell as shell
from lamina.pages.site import contents, server
from lamina.pages.site.server import Site, build, listening

HOME = "/ch1/perceptron"


@pytest.fixture(scope="module")
def site():
    return Site()


def ask(app, path, cookie=b""):
    """Send one request; return (status, headers, text)."""
    sent = []
    scope = {
        "type": "http", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "method": "GET",
        "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", 2718), "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"127.0.0.1:2718"), (b"cookie", cookie)],
    }  # fmt: skip

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body.decode()


def test_a_permanent_link_leads_to_its_page(site):
    status, headers, _ = ask(site, HOME)
    assert (status, headers[b"location"]) == (308, b"/ch1/perceptron/")
    status, _, html = ask(site, HOME + "/")
    assert status == 200
    assert "<title>The perceptron · Lamina</title>" in html
    assert '<main id="root"></main>' in html and 'data-page="ch1/perceptron"' in html
    assert html.index('class="lamina-bar"') < html.index("<h1") < html.index('<main id="root">')


def test_a_page_says_nothing_about_the_machine():
    _, _, html = ask(build(), HOME + "/")
    for word in (str(Path.home()), str(contents.PAGES[0].file.parent), "serviceWorker", "site-packages", "file://"):
        assert word not in html
    assert '"filename": "perceptron.py"' in html and '"cwd": ""' in html


def test_the_theme_comes_from_the_cookie(site):
    assert '"theme": "dark"' in ask(site, HOME + "/", b"lamina-theme=dark")[2]
    assert '"theme": "system"' in ask(site, HOME + "/")[2]
    assert '"theme": "system"' in ask(site, HOME + "/", b"lamina-theme=evil")[2]


def test_plain_pages(site):
    for path, words in (("/", 'href="/ch1/perceptron"'), ("/catalogue", 'id="N5.49"'), ("/errata", '<th id="E77"')):
        status, _, html = ask(site, path)
        assert status == 200 and words in html
    assert ask(site, "/homework")[0] == 404  # there is none unless a teacher has assigned it
    status, _, html = ask(site, "/nothing/<b>")
    assert status == 404 and "&lt;b&gt;" in html and "<b>" not in html


def test_files_of_ours_and_no_others_are_given_out(site):
    for name in shell.FILES:
        status, headers, body = ask(site, shell.address(name).split("?v=")[0])
        assert status == 200 and body == shell.asset(name)
        assert headers[b"content-type"].startswith((b"text/css", b"text/javascript"))
    assert ask(site, "/static/lamina/../contents.py")[0] == 404
    assert ask(site, "/static/marimo/../../__init__.py")[0] == 404


def test_a_page_as_python(site):
    status, headers, text = ask(site, "/ch1/perceptron.py")
    assert status == 200 and headers[b"content-type"].startswith(b"text/plain")
    assert text == contents.find("ch1/perceptron").file.read_text()
    assert ask(site, "/ch1/../contents.py")[0] == 404


def test_a_full_server_says_so():
    site = Site(sessions=0)
    status, _, html = ask(site, HOME + "/")
    assert status == 503 and "0 pages are open on this server" in html


def test_another_marimo_is_a_sentence_and_no_traceback(site, monkeypatch, tmp_path):
    import marimo

    from lamina.pages.site import server

    def changed():
        raise AttributeError("module 'marimo._utils.toml' has no attribute 'toml_reader'")

    with monkeypatch.context() as patch:
        patch.setattr(marimo, "__file__", str(tmp_path / "__init__.py"))
        with pytest.raises(RunError, match=r"own page is missing \(.*index.html\): install marimo 0\.25 with"):
            Site()
    with monkeypatch.context() as patch:
        patch.setattr(server, "remember", changed)
        with pytest.raises(
            RunError, match=r"not built as these pages expect \(.*'toml_reader'\): install marimo 0\.25"
        ):
            Site()
    monkeypatch.setattr(shell, "_MOUNT", re.compile("<nowhere>"))
    status, _, text = ask(site, HOME + "/")
    assert status == 500 and text.startswith("marimo&#x27;s page has no mount configuration")


def test_the_first_view_is_part_of_the_page(site):
    site._views._ready["ch1/perceptron"] = "<p>first</p>"
    try:
        assert '<div class="lamina-still" inert><p>first</p></div>' in ask(site, HOME + "/")[2]
    finally:
        del site._views._ready["ch1/perceptron"]
    assert "lamina-still" not in ask(site, HOME + "/")[2]


def test_beyond_loopback_a_token_is_needed():
    with pytest.raises(ArgumentError, match=r"`--host` 0\.0\.0\.0 can be reached by others: add --token"):
        build(host="0.0.0.0")
    assert build(host="0.0.0.0", token="secret-of-ours")
    with pytest.raises(ArgumentError, match="`--token` may have letters from a to z"):
        build(token="with a blank")


def test_of_marimo_only_what_our_pages_need_is_there(site):
    for rest in ("sse", "api/kernel/run", "api/export/html", "public/x", "@file/../x", "auth/login", "api/version"):
        assert ask(site, f"{HOME}/{rest}")[0] == 404, rest
    assert ask(site, HOME + "/health")[0] == 200


def test_a_used_port_gives_way_to_the_next():
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        taken = busy.getsockname()[1]
        with listening("127.0.0.1", taken) as mine, listening("127.0.0.1", mine.getsockname()[1]) as other:
            assert mine.proto == socket.IPPROTO_TCP, "of other sockets asyncio sends small parts after 40 ms"
            chosen = mine.getsockname()[1]
            assert taken < chosen < taken + 20 and chosen < other.getsockname()[1] < chosen + 20
            socket.create_connection(("127.0.0.1", chosen), 10).close()  # nobody can take it any more


@pytest.mark.parametrize("host", ["999.1.1.1", "nowhere.invalid", "192.0.2.1", "::ffff"])
def test_an_address_of_another_machine(host):
    with pytest.raises(ArgumentError, match=f"`--host` must be an address of this machine.*got '{host}'"):
        listening(host, 0)


def test_any_port_is_taken_and_said():
    from visiting import serving

    with serving() as (address, process):
        assert process.said().startswith(f"The executable notes: {address}/\nStop them with Ctrl-C.\n")
        assert not address.endswith(":0")


def test_a_session_ends_on_its_own_page_only(site, monkeypatch):
    ended = []
    for path, manager in site._managers():
        monkeypatch.setattr(manager, "close_session", lambda name, path=path: ended.append((path, name)))
    site._forget("/ch1/perceptron", "s_1")
    assert ended == [("/ch1/perceptron", "s_1")]


def test_what_pages_import_in_threads_is_there_before_the_first_of_them():
    code = "from lamina.pages.site.server import Site; Site(); import sys; print('IPython.display' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_what_the_server_keeps_for_good_is_not_looked_through_again():
    code = (
        "import gc; from lamina.pages.site import server; from multiprocessing import forkserver\n"
        "server.compile_ahead = server.rehearse = lambda files: None\n"
        "server._warm(); print(gc.get_freeze_count() > 100_000, len(gc.get_objects()) < 10_000)\n"
        "forkserver._forkserver._stop()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_memory_is_given_back_when_pages_close_but_not_all_the_time(site, monkeypatch):
    given = []
    monkeypatch.setattr(server, "give_back", lambda: given.append(1))
    monkeypatch.setattr(site, "_tidied", 0.0)

    async def story():
        await site._tidy()
        await site._tidy()
        site._tidied -= server.TIDY
        await site._tidy()

    asyncio.run(story())
    assert len(given) == 2


def test_memory_is_given_back_once_more_when_no_closed_page_can_come_back(site, monkeypatch):
    given = []
    monkeypatch.setattr(server, "give_back", lambda: given.append(1))
    monkeypatch.setattr(server, "TIDY", 0.02)
    monkeypatch.setattr(site, "_idle", 0.0)
    monkeypatch.setattr(site, "_tidied", math.inf)  # not now
    monkeypatch.setattr(server.gc, "collect", lambda: given.append("collected"))

    async def story(pages):
        monkeypatch.setattr(site, "_visits", pages)
        for _ in range(3):
            await site._tidy()  # the last one counts
        await asyncio.sleep(0.5)

    asyncio.run(story([]))
    assert given == ["collected", 1]
    asyncio.run(story(["somebody reads"]))
    assert given == ["collected", 1, 1]
