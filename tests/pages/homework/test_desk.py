"""The desk: a student hands in, strangers and tokens."""

import asyncio
import csv
from urllib.parse import urlencode

import pytest

from lamina.pages.homework import desk
from lamina.pages.homework.desk import Desk
from lamina.pages.homework.exercises import assign
from lamina.pages.site._bodies import Bodies
from lamina.pages.site._guard import Guard
from lamina.pages.site.server import build


def rows(path):
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def ask(app, method="GET", query="", body=b"", kind=b"application/x-www-form-urlencoded", path="/homework", **headers):
    sent = []
    scope = {
        "type": "http", "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "method": method, "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", 2718),
        "client": ("10.0.0.7", 1),
        "headers": [(b"host", b"127.0.0.1:2718"), (b"content-type", kind)]
        + [(name.replace("_", "-").encode(), value) for name, value in headers.items()],
    }  # fmt: skip

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]).decode()


@pytest.fixture
def served(tmp_path):
    """A desk behind the guard and the limits of the server, without its notebooks, which take seconds to find."""
    made = Desk.open("ch2/backpropagation", None, tmp_path / "answers.csv")

    async def app(scope, receive, send):
        status, html = await made.serve(scope, receive)
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": html.encode()})

    yield made, Bodies(app, kept=1), tmp_path / "answers.csv"
    made._answers.close()


def test_a_student_hands_in(served):
    made, _, path = served
    app = build(homework=made)
    status, html = ask(app)
    assert status == 200 and "Your name" in html and 'href="/ch2/backpropagation"' in html
    status, html = ask(app, query="name=Ada+Lovelace")
    assert status == 200 and html.count("<input") == 8 and "For Ada Lovelace." in html
    _, asked = assign("ch2/backpropagation").asked("Ada Lovelace")
    given = {f"q{i}": question.answer for i, question in enumerate(asked, 1)} | {"q8": "7"}
    status, html = ask(app, "POST", "name=Ada+Lovelace", urlencode(given).encode())
    assert status == 200 and "7 of 8 are right. This was try 1" in html
    assert html.count("✓ right") == 7 and html.count("✗ not yet") == 1
    assert html.count('<a href="/homework">Homework</a>') == 1, "in the contents"
    _, line = rows(path)
    assert line[1:5] == ["Ada Lovelace", "1", "7", "8"] and line[-2:] == ["7", "0"] and line[6] == "1"


def test_other_pages_lead_to_the_homework(served):
    made, _, _ = served
    for path in (b"/", b"/errata"):
        assert '<a href="/homework">Homework</a>' in ask(build(homework=made), path=path.decode())[1]
        assert "/homework" not in ask(build(), path=path.decode())[1]


def test_what_is_left_blank_says_so(served):
    _, inner, path = served
    _, html = ask(inner, "POST", "name=Ada", urlencode({"q1": "7"}).encode())
    assert html.count("✗ not yet") == 1 and html.count("– left blank") == 7
    assert rows(path)[1][5:9] == ["7", "0", "", "0"]


def test_strangers(served):
    _, inner, path = served
    app = Guard(inner)
    sent = urlencode({"q1": "<script>alert(1)</script>", "q2": "=cmd|' /C calc'!A0", "q3": "x" * 5000}).encode()
    status, html = ask(app, "POST", urlencode({"name": '<img src=x>"\n=1+1'}), sent)
    assert status == 200 and "<script>alert" not in html and "<img" not in html
    _, line = rows(path)
    assert line[1] == "img src x 1 1" and line[7] == "'=cmd|' /C calc'!A0" and len(line[9]) == desk.ANSWER
    before = path.read_bytes()
    good = urlencode({"q1": "1"}).encode()
    for status, options in (
        (400, {"query": "", "body": good}),
        (400, {"query": "name=A", "body": b"q1=" + b"1" * desk.BODY}),
        (400, {"query": "name=A", "body": good, "kind": b"multipart/form-data"}),
        (400, {"query": "name=A", "body": b"q1=\xff"}),
        (400, {"query": "name=A", "body": b"&".join(b"q%d=1" % i for i in range(500))}),
        (405, {"query": "name=A", "method": "PUT"}),
        (403, {"query": "name=A", "body": good, "origin": b"http://evil.example"}),
        (403, {"query": "name=A", "body": good, "sec_fetch_site": b"cross-site"}),
    ):
        assert ask(app, **{"method": "POST", **options})[0] == status, options
    assert path.read_bytes() == before


def test_others_need_the_token(served):
    _, inner, path = served
    assert ask(Guard(inner, hosts=None, token="secret-word"), "POST", "name=Ada", b"q1=1")[0] == 403
    assert len(rows(path)) == 1
