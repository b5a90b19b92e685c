"""What a visitor may try, and what comes of it: the promises of SECURITY.md about the pages, on a real server."""

import asyncio
import http.client
import io
import os
import signal
import socket
import threading
import time
import urllib.parse
import zipfile

import pytest

from uploads import png
from visiting import Page, memory, serving, uploaded

pytestmark = pytest.mark.faults("hostile visitors")
PLACE = "/ch1/perceptron/api/kernel/set_ui_element_value"


def test_of_all_that_marimo_offers_a_visitor_reaches_what_our_pages_need():
    from marimo._server.api.router import build_routes

    from lamina.pages.site.server import Site

    site, reached, tried = Site(), set(), 0

    async def one(path, method):
        sent, asked = [], [{"type": "http.request", "body": b"{}", "more_body": False}]
        scope = {
            "type": "http", "path": f"/ch1/perceptron{path}", "raw_path": b"", "query_string": b"", "root_path": "",
            "method": method, "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", 2718),
            "client": ("127.0.0.1", 1), "headers": [(b"host", b"127.0.0.1:2718")],
        }  # fmt: skip

        async def receive():
            return asked.pop() if asked else {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        await site(scope, receive, send)
        body = b"".join(message.get("body", b"") for message in sent[1:])
        if sent[0]["status"] != 404 or b"This page is not open" in body:
            reached.add((method, path))

    async def every(routes, before=""):
        nonlocal tried
        for route in routes:
            path = before + getattr(route, "path", "")
            if getattr(route, "routes", None):
                await every(route.routes, path)
                continue
            for method in getattr(route, "methods", None) or ("GET", "POST"):
                await one(path.replace("{filename_and_length:path}", "0-x.txt"), method)
                tried += 1

    asyncio.run(every(build_routes()))
    assert tried > 80
    assert reached - {("GET", "/"), ("HEAD", "/")} == {
        ("GET", "/health"),
        ("HEAD", "/health"),
        ("GET", "/@file/0-x.txt"),
        ("HEAD", "/@file/0-x.txt"),
        ("POST", "/api/kernel/set_ui_element_value"),
        ("POST", "/api/kernel/set_model_value"),
    }


@pytest.fixture(scope="module")
def server():
    with serving() as (address, process):
        yield address, process


def request(address, method, path, body=None, headers=None, **more):
    link = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc, timeout=60)
    try:
        link.request(method, path, body, headers or {}, **more)
        answer = link.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        link.close()


@pytest.mark.slow
@pytest.mark.linux
def test_a_body_of_1500_mb_takes_no_memory(server):
    address, process = server
    before, chunks = memory(process.pid), (bytes(2**20) for _ in range(1500))
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        request(address, "POST", PLACE, chunks, encode_chunked=True)
        raise AssertionError("the server took it")
    assert memory(process.pid) - before < 100e6
    assert request(address, "POST", PLACE, b"x", {"Content-Length": "1500000000"})[0] == 413


@pytest.mark.slow
def test_a_slider_that_is_told_a_billion_stays_at_its_end(server):
    page = Page(server[0], "ch1/perceptron", who="192.0.2.1").open()
    slider = page.find("marimo-slider")[0]
    page.move({slider.name: slider.settings["stop"]})
    at_the_end = page.seen
    page.move({slider.name: 0})
    page.move({slider.name: 1e9})
    drawings = [text[text.index("<svg") : text.rindex("</svg>")] for text in (at_the_end, page.seen)]
    assert drawings[0] == drawings[1]
    page.close()


def archive():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        bomb = png(size=(7000, 7000))
        for index in range(20):
            file.writestr(f"{'ab'[index % 2]}/{index}.png", bomb)
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.linux
def test_hostile_uploads_get_a_sentence_and_others_go_on(server):
    address, process = server
    honest = Page(address, "ch1/perceptron", who="192.0.2.1").open()
    slider = honest.find("marimo-slider")[0]
    page = Page(address, "tools/playground", who="192.0.2.2").open()
    source = page.find("marimo-dropdown", "data")[0]
    page.move({source.name: [source.settings["options"][0]]})
    field = page.find("marimo-file", "your file")[0]
    before = memory(process.pid)
    for name, contents, words in (
        ("wide.csv", b",".join(b"c%d" % i for i in range(40_000)) + b"\n", "wide.csv has 40,000 columns, but a page"),
        ("long.csv", b"a\n" + b"1\n" * 4_000_000, "long.csv has 4,000,001 rows, but a page takes at most 500,000"),
        ("bomb.zip", archive(), "bomb.zip has a picture of more than 40,000,000 pixels"),
    ):
        page.post({field.name: uploaded(name, contents)})
        for turn in range(3):
            honest.move({slider.name: turn - 1})
        assert words in page.wait(), page.seen[-2000:]
    assert memory(process.pid) - before < 300e6
    page.close(), honest.close()


@pytest.mark.slow
def test_sessions_survive_a_burst_of_200_connections(server):
    address, _ = server
    honest = Page(address, "ch1/perceptron", who="192.0.2.1").open()
    slider = honest.find("marimo-slider")[0]
    place = urllib.parse.urlsplit(address)
    silent = [socket.create_connection((place.hostname, place.port)) for _ in range(200)]
    opened = []

    def burst(number):
        try:
            opened.append(Page(address, "ch1/logic", who=f"198.51.100.{number % 4}").connect(timeout=60))
        except Exception as error:  # refused: too many of them wait
            opened.append(error)

    threads = [threading.Thread(target=burst, args=(number,)) for number in range(200)]
    for thread in threads:
        thread.start()
    for turn in range(5):
        honest.move({slider.name: turn % 2})
    for thread in threads:
        thread.join(120)
    honest.move({slider.name: 2})
    assert len(opened) == 200
    newcomer = Page(address, "ch1/perceptron", who="192.0.2.3").open()
    for page in (*(page for page in opened if isinstance(page, Page)), newcomer, honest):
        page.close()
    for link in silent:
        link.close()


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_no_upload_stays_behind(name, tmp_path):
    with serving(TMPDIR=str(tmp_path)) as (address, process):
        page = Page(address, "tools/playground", who="192.0.2.2").open()
        source = page.find("marimo-dropdown", "data")[0]
        page.move({source.name: [source.settings["options"][0]]})
        field = page.find("marimo-file", "your file")[0]
        page.move({field.name: uploaded("rows.csv", b"a,b\n" + b"1,2\n" * 50)})
        kept = list(tmp_path.rglob("rows.csv"))
        assert len(kept) == 1 and oct(kept[0].parent.stat().st_mode)[-3:] == "700"
        os.kill(process.pid, getattr(signal, name))
        assert process.wait(30) == (-signal.SIGKILL if name == "SIGKILL" else 0), (
            "a server that is asked to end has not failed"
        )
    if name == "SIGKILL":
        assert kept[0].exists(), "nobody could remove it"
        with serving(TMPDIR=str(tmp_path)) as (address, _):
            request(address, "GET", "/")
    end = time.monotonic() + 10  # a job that was reading ends by itself
    while list(tmp_path.rglob("*.csv")) and time.monotonic() < end:
        time.sleep(0.1)
    assert list(tmp_path.glob("lamina-pages-*/*/*")) == []
    if name != "SIGKILL":
        assert list(tmp_path.glob("pymp-*")) == [], "the sockets through which jobs are started"


@pytest.mark.slow
def test_a_class_with_a_token():
    with serving("--host", "0.0.0.0") as (address, process):
        while "token=" not in process.said():
            time.sleep(0.1)
        token = process.said().split("token=")[1].split()[0]
        assert len(token) >= 16
        assert request(address, "GET", "/")[0] == 403
        status, headers, _ = request(address, "GET", f"/%5cevil.example?token={token}")
        assert status == 303 and headers["location"] == "/%5Cevil.example"
        assert request(address, "GET", f"/%09/evil.example?token={token}")[1]["location"] == "/%09/evil.example"
        shown = headers["set-cookie"].split(";")[0]
        assert request(address, "GET", "/", headers={"Cookie": shown})[0] == 200
        guesses = [request(address, "GET", f"/?token=guess{number}")[0] for number in range(20)]
        assert guesses == [403] * 5 + [429] * 15
        page = Page(address, "ch1/perceptron", who="192.0.2.1", cookie=shown).open()
        assert page.move({page.find("marimo-slider")[0].name: 1}) > 0
        page.close()
