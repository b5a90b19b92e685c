"""The journal: nothing complete is ever lost, nothing incomplete is ever read."""

import json
import os
import subprocess
import sys

import pytest

from lamina._errors import RunError, RunWarning
from lamina.studies import _journal as journals
from lamina.studies._journal import Journal
from lamina.training.lines import as_line

pytestmark = pytest.mark.faults("damaged bytes", "two writers")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def write(path, *events):
    journal = Journal(path)
    with journal.writing():
        journal.append(*events)


def test_events_come_back_once_and_in_order(path):
    journal = Journal(path)
    assert journal.new() == []
    write(path, {"event": "a", "n": 1}, {"event": "b", "n": [1, 2.5, None]})
    assert journal.new() == [{"event": "a", "n": 1}, {"event": "b", "n": [1, 2.5, None]}]
    assert journal.new() == []
    write(path, {"event": "c", "value": float("nan")})
    assert journal.new() == [{"event": "c", "value": None}]


@pytest.mark.parametrize("cut", [1, 7, 19])
def test_a_last_line_that_was_cut_short_is_passed_over_and_then_cut_off(path, cut):
    write(path, {"event": "a"}, {"event": "b", "n": 12345})
    whole = path.read_bytes()
    torn = whole[:-cut]
    path.write_bytes(torn)
    reader = Journal(path)
    assert reader.new() == [{"event": "a"}]  # reading changes nothing
    assert path.read_bytes() == torn
    write(path, {"event": "c"})
    assert reader.new() == [{"event": "c"}]
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == ["a", "c"]


def test_a_file_that_holds_only_a_torn_line_begins_anew(path):
    path.write_bytes(b'{"event": "a", "text": "' + b"x" * 200_000)  # longer than one look back
    assert Journal(path).new() == []
    write(path, {"event": "b"})
    assert path.read_text() == as_line({"event": "b"})
    path.write_bytes(b'{"event": "b"}\n' + b"y" * 200_000)
    write(path, {"event": "c"})
    assert path.read_text() == '{"event": "b"}\n' + as_line({"event": "c"})  # of Lamina 0.1, and with a checksum


def test_damage_inside_is_named_with_its_line(path):
    write(path, {"event": "a"}, {"event": "b"})
    path.write_bytes(path.read_bytes().replace(b'"b"', b'"b'))
    with pytest.raises(
        RunError, match=r"journal.jsonl is damaged in line 2: restore it .* lamina repair .* leaves that line out"
    ):
        Journal(path).new()
    write(path.with_name("journal-2.jsonl"), {"event": "result", "value": 0.125})
    other = path.with_name("journal-2.jsonl")
    other.write_bytes(other.read_bytes().replace(b"0.125", b"0.126"))  # one digit
    with pytest.raises(RunError, match="journal-2.jsonl is damaged in line 1"):
        Journal(other).new()
    path.write_text("[1, 2]\n")
    with pytest.raises(RunError, match="damaged in line 1"):
        Journal(path).new()


def test_what_cannot_be_written_or_read_is_a_sentence(tmp_path):
    with (
        pytest.raises(RunError, match=r"cannot write .*its folder is gone"),
        Journal(tmp_path / "no/journal").writing(),
    ):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(RunError, match="cannot be read"):
        Journal(tmp_path / "folder").new()


def test_a_full_disk_leaves_what_was_there(path, monkeypatch):
    write(path, {"event": "a"})
    journal = Journal(path)
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: real(handle, content[:5]))
    with (
        pytest.raises(RunError, match="the disk is full: free some space. What was saved before is intact"),
        journal.writing(),
    ):
        journal.append({"event": "b"})
    monkeypatch.undo()
    write(path, {"event": "c"})
    assert [event["event"] for event in Journal(path).new()] == ["a", "c"]


def test_a_file_system_without_locks_leaves_it_to_the_user_to_write_once(path, monkeypatch):
    def refuse(handle, *, wait):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(journals, "lock", refuse)
    journal = Journal(path)
    with pytest.warns(RunWarning, match=r"cannot be locked \(No locks available\): make sure that no other process"):
        with journal.writing():
            journal.append({"event": "a"})
    assert journal.new() == [{"event": "a"}]


def test_a_second_writer_is_refused_until_the_first_has_ended(path):
    first, second = Journal(path), Journal(path)
    with first.writing():
        with first.writing():  # the writer may say so again
            first.append({"event": "a"})
        first.append({"event": "b"})
        with (
            pytest.raises(RunError, match="another process is writing to .*journal.jsonl, and a study has one writer"),
            second.writing(),
        ):
            pass
    with second.writing():
        second.append({"event": "c"})
    assert [event["event"] for event in first.new()] == ["a", "b", "c"]


def test_quick_results_share_a_sync_and_slow_ones_do_not(path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(handle))
    clock = [100.0]
    monkeypatch.setattr(journals.time, "monotonic", lambda: clock[0])
    journal = Journal(path)
    with journal.writing():
        journal.append({"event": "stage"})
        for _ in range(10):
            clock[0] += 0.001
            journal.append({"event": "result"}, sync=False)
        assert len(synced) == 1
        clock[0] += 0.05
        journal.append({"event": "result"}, sync=False)
        assert len(synced) == 2
    assert len(synced) == 3


HOLD = """
import sys
from pathlib import Path
from lamina.studies._journal import Journal
journal = Journal(Path(sys.argv[1]))
with journal.writing():
    journal.append({"event": "a"})
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_a_killed_writer_makes_room_for_the_next(path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline().strip() == b"writing"
    with pytest.raises(RunError, match="wait until it has ended, or stop it"), Journal(path).writing():
        pass
    process.kill()
    process.communicate()
    write(path, {"event": "b"})
    assert [event["event"] for event in Journal(path).new()] == ["a", "b"]


@pytest.mark.posix
def test_a_journal_that_is_a_link_becomes_a_file_of_its_own(path, tmp_path):
    (tmp_path / "thesis").write_text("years of work")
    path.symlink_to(tmp_path / "thesis")
    journal = Journal(path)
    with journal.writing():
        journal.append({"event": "found"})
    assert (tmp_path / "thesis").read_text() == "years of work" and not path.is_symlink()
