"""The server: permanent links, our frame around marimo's page, limits, and no path of the machine in a page."""

import asyncio
import re
import socket
from pathlib import Path

import pytest

from lamina._errors import ArgumentError
from lamina.pages.site import _shell as shell
from lamina.pages.site import contents
from lamina.pages.site.server import Site, build, free_port

HOME = "/ch1/perceptron"


@pytest.fixture(scope="module")
def site():
    return Site()


def ask(app, path, cookie=b""):
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
    status, _, html = ask(site, "/")
    assert status == 200 and 'href="/ch1/perceptron"' in html and 'data-progress="ch1/perceptron"' in html
    _, _, html = ask(site, "/catalogue")
    assert 'href="/errata#E70"' in html[html.index('id="N5.37"') : html.index('id="N5.38"')]
    assert 'id="N5.49"' in html and "lamina.functional.dense:<wbr>neuron" in html.replace(".<wbr>", ".")
    _, _, html = ask(site, "/errata")
    assert [f"E{number:02d}" for number in range(1, 78)] == re.findall(r'<th id="(E\d\d)"', html)
    row = html[html.index('<th id="E70"') : html.index('<th id="E71"')]
    assert "<td>The forget gate multiplies the old candidate.</td><td>It multiplies the old cell state," in row
    assert 'href="/catalogue#N5.37"' in row and 'href="/ch5/gates"' in row and "lstm_<wbr>step" in row
    status, _, html = ask(site, "/nothing/<b>")
    assert status == 404 and "&lt;b&gt;" in html and "<b>" not in html


def test_files_of_ours_are_named_by_their_content(site):
    for name in shell.FILES:
        place, version = shell.address(name).split("?v=")
        status, headers, body = ask(site, place)
        assert status == 200 and body == shell.asset(name) and len(version) == 12
        assert headers[b"content-type"].startswith((b"text/css", b"text/javascript"))
    assert "--lamina-input: #009900" in shell.asset("pages.css")
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
    assert build(host="0.0.0.0", token="secret")


def test_a_used_port_gives_way_to_the_next():
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        taken = busy.getsockname()[1]
        assert free_port("127.0.0.1", taken) != taken
