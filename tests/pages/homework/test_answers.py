"""The file of answers: lines that go on, survive a kill, and never harm another file."""

import csv
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from lamina._errors import ArgumentError, RunError
from lamina.pages.homework import answers
from lamina.pages.homework.answers import TRIES, Answers, FullError


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
