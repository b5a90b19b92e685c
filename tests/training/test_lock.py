"""One writer a folder: whoever comes second is told who writes, and what a killed writer leaves is nobody's."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from lamina import _system
from lamina._errors import RunError
from lamina.training import lock
from lamina.training.lock import NAME, only_writer, writer

pytestmark = pytest.mark.faults("two writers")
HOLD = """
import sys, time
from lamina.training.lock import only_writer
with only_writer(sys.argv[1], "study"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_writer_in_this_process_is_refused_and_the_file_is_gone_in_the_end(tmp_path):
    threads = threading.active_count()
    with only_writer(tmp_path):
        assert writer(tmp_path)["pid"] == os.getpid()
        with pytest.raises(RunError, match=r"the run in .* is being written by this process since \d{4}-"):
            with only_writer(tmp_path):
                raise AssertionError("not reached")
        assert (tmp_path / NAME).is_file()
    assert writer(tmp_path) is None
    assert [*tmp_path.iterdir()] == [] and threading.active_count() == threads
    with only_writer(tmp_path):
        pass


def test_another_process_is_named_and_its_death_frees_the_folder(tmp_path, holder):
    with pytest.raises(RunError, match=rf"is being written by process {holder.pid} of .*: wait until it ends"):
        with only_writer(tmp_path, "run"):
            raise AssertionError("not reached")
    assert writer(tmp_path)["pid"] == holder.pid
    holder.kill()
    holder.wait()
    assert (tmp_path / NAME).is_file() and writer(tmp_path) is None  # it could not tidy up
    with only_writer(tmp_path):
        assert writer(tmp_path)["pid"] == os.getpid()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs Linux or macOS")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_that_was_forked_does_not_keep_the_lock(tmp_path):
    with only_writer(tmp_path):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)  # until the parent says so
            os._exit(0)
    try:
        with only_writer(tmp_path):  # the child lives on
            pass
    finally:
        os.close(read)
        os.write(write, b"x")
        os.close(write)
        os.waitpid(child, 0)


def elsewhere(tmp_path, age):
    owner = {"pid": 7, "born": "1", "host": "node-17", "boot": "b", "user": "ada", "since": "2026-01-01", "token": "t"}
    (tmp_path / NAME).write_text(json.dumps(owner))
    past = time.time() - age
    os.utime(tmp_path / NAME, (past, past))


def test_a_writer_on_another_machine_is_believed_until_it_falls_silent(tmp_path):
    elsewhere(tmp_path, age=5)
    match = r"process 7 of ada on node-17 since 2026-01-01: .* or 60 s after that machine's last sign of life"
    with pytest.raises(RunError, match=match):
        with only_writer(tmp_path):
            raise AssertionError("not reached")
    assert writer(tmp_path)["host"] == "node-17"
    elsewhere(tmp_path, age=61)
    assert writer(tmp_path) is None
    with only_writer(tmp_path):
        assert writer(tmp_path)["pid"] == os.getpid()
    assert [*tmp_path.iterdir()] == []


def no_locks(handle, *, wait=True):
    raise OSError(95, "Operation not supported")


def test_without_locks_of_the_file_system_the_record_decides(tmp_path, monkeypatch, holder):
    monkeypatch.setattr(_system, "lock", no_locks)
    monkeypatch.setattr(_system, "unlock", lambda handle: None)
    with pytest.raises(RunError, match=f"process {holder.pid} of"):
        with only_writer(tmp_path):
            raise AssertionError("not reached")
    holder.kill()
    holder.wait()
    with only_writer(tmp_path):
        with pytest.raises(RunError, match="written by this process"):
            with only_writer(tmp_path):
                raise AssertionError("not reached")


def test_the_sign_of_life_comes_again_and_again(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "BEAT", 0.01)
    with only_writer(tmp_path):
        os.utime(tmp_path / NAME, (1, 1))
        deadline = time.monotonic() + 10
        while (tmp_path / NAME).stat().st_mtime < 1000 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert lock._silence(tmp_path / NAME) < 30


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"pid": "x"}'])
def test_a_lock_that_was_cut_short_is_nobodys(tmp_path, content):
    (tmp_path / NAME).write_bytes(content)
    assert writer(tmp_path) is None
    with only_writer(tmp_path):
        pass


def test_a_folder_that_is_gone_gets_a_sentence(tmp_path):
    with pytest.raises(RunError, match="its folder is gone"):
        with only_writer(tmp_path / "none"):
            raise AssertionError("not reached")


@pytest.mark.posix
def test_a_lock_that_is_a_link_leaves_the_file_behind_it_alone(tmp_path):
    """A folder from a stranger overwrote any file of whoever resumed it."""
    (tmp_path / "thesis").write_text("years of work")
    for target in ("thesis", "nowhere"):
        (tmp_path / lock.NAME).symlink_to(tmp_path / target)
        with only_writer(tmp_path):
            assert not (tmp_path / lock.NAME).is_symlink()
    assert (tmp_path / "thesis").read_text() == "years of work" and not (tmp_path / "nowhere").exists()


def test_a_sign_of_life_from_the_future_is_believed_if_another_one_follows(tmp_path, monkeypatch):
    """A clock that was years ahead locked a folder for years."""
    monkeypatch.setattr(lock, "BEAT", 0.05)
    monkeypatch.setattr(lock, "SILENCE", 0.4)
    path = tmp_path / lock.NAME
    path.write_text(json.dumps({"pid": 5, "host": "elsewhere", "since": "2099-01-01"}))
    os.utime(path, (4e9, 4e9))
    began = time.monotonic()
    with only_writer(tmp_path):
        assert time.monotonic() - began >= 0.4  # as long as for a clock that is right
    path.write_text(json.dumps({"pid": 5, "host": "elsewhere", "since": "2099-01-01"}))
    os.utime(path, (4e9, 4e9))
    looks = []

    def sleep(seconds):
        looks.append(seconds)
        if len(looks) == 3:  # a beat that comes late
            os.utime(path, (4e9 + 10, 4e9 + 10))

    monkeypatch.setattr(lock.time, "sleep", sleep)
    with pytest.raises(RunError, match="is being written by process 5 of unknown on elsewhere since 2099-01-01"):
        only_writer(tmp_path).__enter__()
