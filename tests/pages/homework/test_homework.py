"""Homework: questions whose answers the formulas give, a CSV that survives, and strangers who send anything."""

import asyncio
import csv
import math
import os
import re
import signal
import subprocess
import sys
import textwrap
from urllib.parse import urlencode

import pytest

from lamina._errors import ArgumentError, DataError, RunError
from lamina.pages.homework import answers, desk
from lamina.pages.homework.answers import TRIES, Answers, FullError
from lamina.pages.homework.desk import Desk
from lamina.pages.homework.exercises import Question, assign
from lamina.pages.site._bodies import Bodies
from lamina.pages.site._guard import Guard
from lamina.pages.site.server import build


def test_backpropagation_by_hand(tmp_path):
    data = tmp_path / "own.csv"
    data.write_text("name,a,b,wanted\nx,0.5,-1,1\n", encoding="utf-8")
    told, asked = assign("ch2/backpropagation", data).asked("Ada")
    numbers = [[float(v) for v in re.findall(r"-?[\d.]+", part)] for part in re.findall(r"\](?: = )\((.*?)\)", told)]
    (w11, w12, w21, w22), (b1, b2), (v1, v2), (c,) = numbers
    assert "u = (0.5, -1), wanted S = 1" in told
    y1, y2 = math.tanh(w11 * 0.5 - w12 + b1), math.tanh(w21 * 0.5 - w22 + b2)
    out = 1 / (1 + math.exp(-(v1 * y1 + v2 * y2 + c)))
    first = (out - 1) * v1 * (1 - y1**2)
    wanted = [y1, y2, out, -math.log(out), out - 1, (out - 1) * y2, first, first * 0.5]
    assert [float(question.answer) for question in asked] == pytest.approx(wanted, abs=1e-12)
    assert all(question.right(f"{value:.3g}") for question, value in zip(asked, wanted, strict=True))


def test_a_line_by_hand_and_other_numbers_for_others(tmp_path):
    data = tmp_path / "own.csv"
    data.write_text("u,S\n0,1\n1,3\n2,5\n3,7\n", encoding="utf-8")
    homework = assign("ch1/regression", data)
    assert [float(q.answer) for q in homework.asked("Ada")[1][:3]] == pytest.approx([2, 1, 0], abs=1e-12)
    told = {homework.asked(name)[0] for name in ("Ada", "Grace", "Emmy", "Sofia", "Hypatia", "Mary")}
    assert len(told) > 1 and homework.asked("ada ")[0] == homework.asked("Ada")[0]


def test_own_questions_for_any_page(tmp_path):
    data = tmp_path / "own.csv"
    data.write_text("Question,Answer,Tolerance\nWho?,Yann LeCun,\nHow many?,61706,0\nAbout?,10,0.2\n", encoding="utf-8")
    _, (who, many, about) = assign("ch3/lenet", data).asked("Ada")
    assert who.right("yann  lecun") and not who.right("LeCun")
    assert many.right("61706") and not many.right("61707") and not many.right("many")
    assert about.right("11.9") and not about.right("12.1")
    assert not Question("", "1").right("1" * 500) and not Question("", "1").right("inf")


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("ch3/lenet", None, "`--assign` has no questions for ch3/lenet, only for ch2/backpropagation, ch1/regression"),
        ("ch9/x", None, "there is no page 'ch9/x'"),
        ("ch2/backpropagation", "a,b\n1,2\n", "at least 3 columns of numbers, got 2"),
        ("ch2/backpropagation", "a,b,c\n1,2,3\n", "from 0 to 1, got 3"),
        ("ch2/backpropagation", "a,b,c\n", "a line of names and 1 to 10000 rows, got 0 rows"),
        ("ch1/regression", "a,b\n1,2\n", "at least 3 rows of numbers for ch1/regression, got 1"),
        ("ch1/regression", "a,b\n1,2\n1,3\n1,4\n", "must differ among any 5 rows in a row"),
        ("ch1/regression", "question,answer\nWhy?,\n", "line 2 of `--data` must have a question, an answer"),
        ("ch1/regression", "question,answer\n" + "a,b\n" * 41, "at most 40 questions, got 41"),
    ],
)
def test_what_cannot_be_assigned(tmp_path, path, text, words):
    data = None
    if text is not None:
        data = tmp_path / "own.csv"
        data.write_text(text, encoding="utf-8")
    with pytest.raises((ArgumentError, DataError), match=re.escape(words)):
        assign(path, data)


def test_a_file_that_is_none(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    for name in ("x.csv", "missing.csv"):
        with pytest.raises(DataError, match="cannot be read as a CSV file in UTF-8"):
            assign("ch1/regression", tmp_path / name)


def rows(path):
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def test_answers_are_lines_that_go_on(tmp_path):
    path = tmp_path / "class" / "answers.csv"
    first = Answers(path, 2)
    assert first.add("Ada", ["0.5", "=HYPERLINK(1)"], [True, False]) == 1
    with pytest.raises(ArgumentError, match="is being written by another server"):
        Answers(path, 2)
    first.close()
    path.write_bytes(path.read_bytes() + b"2026-01-01T00:00:00Z,torn li")  # killed while it wrote
    again = Answers(path, 2)
    assert again.add("ADA ", ["-1", "b"], [False, True]) == 2
    again.close()
    head, *lines = rows(path)
    assert head == ["time", "name", "try", "right", "of", "q1", "q1 right", "q2", "q2 right"]
    assert [line[1:] for line in lines] == [
        ["Ada", "1", "1", "2", "0.5", "1", "'=HYPERLINK(1)", "0"],
        ["ADA", "2", "1", "2", "-1", "0", "b", "1"],
    ]
    with pytest.raises(ArgumentError, match="holds something else than answers to these 3 questions"):
        Answers(path, 3)


def test_another_file_is_never_touched(tmp_path):
    path = tmp_path / "grades.csv"
    for content in (b"name,grade\nAda,1\n", b"no line", b"\xff\n"):
        path.write_bytes(content)
        with pytest.raises(ArgumentError, match="holds something else"):
            Answers(path, 1)
        assert path.read_bytes() == content
    with pytest.raises(ArgumentError, match="cannot be written"):
        Answers(tmp_path, 1)


def test_tries_and_lines_have_a_bound(tmp_path, monkeypatch):
    kept = Answers(tmp_path / "a.csv", 1)
    for i in range(TRIES):
        assert kept.add("Ada", ["1"], [True]) == i + 1
    with pytest.raises(FullError, match="20 tries have been handed in under this name"):
        kept.add("ada", ["1"], [True])
    monkeypatch.setattr(answers, "LINES", TRIES)
    with pytest.raises(FullError, match="that is all that is collected"):
        kept.add("Grace", ["1"], [True])
    kept.close()


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    kept = Answers(path, 1)
    before, write = path.read_bytes(), os.write
    monkeypatch.setattr(os, "write", lambda handle, line: write(handle, line[:5]))
    with pytest.raises(RunError, match="the answers could not be kept"):
        kept.add("Ada", ["1"], [True])
    monkeypatch.undo()
    assert path.read_bytes() == before
    kept.close()


@pytest.mark.linux
def test_what_was_confirmed_survives_a_kill(tmp_path):
    path = tmp_path / "a.csv"
    program = f"""
        from pathlib import Path
        from lamina.pages.homework.answers import Answers
        kept = Answers(Path({str(path)!r}), 1)
        for i in range(10**6):
            kept.add(f"s{{i}}", ["1"], [True])
            print(i, flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    confirmed = [int(process.stdout.readline()) for _ in range(40)]
    process.send_signal(signal.SIGKILL)
    confirmed += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    process.stdout.close()
    process.wait()
    Answers(path, 1).close()
    found = [row[1] for row in rows(path)[1:]]
    assert len(confirmed) <= len(found) <= len(confirmed) + 1 and found == [f"s{i}" for i in range(len(found))]


def ask(app, method="GET", query="", body=b"", kind=b"application/x-www-form-urlencoded", **headers):
    sent = []
    scope = {
        "type": "http", "path": "/homework", "raw_path": b"/homework", "query_string": query.encode(), "root_path": "",
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
    _, line = rows(path)
    assert line[1:5] == ["Ada Lovelace", "1", "7", "8"] and line[-2:] == ["7", "0"] and line[6] == "1"


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
