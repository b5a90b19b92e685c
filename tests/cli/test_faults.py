"""Inputs and disks that once ended in a traceback, a hang or all of the memory: each gets a sentence."""

import errno
import gzip
import json
import os
import re
import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

import lamina
from lamina._errors import ArgumentError, DataError, RunError
from lamina.cli._config import read_config
from lamina.data.images import load_folder
from lamina.data.named import _read_idx
from lamina.studies.space import Range, Space
from lamina.training import files
from lamina.training.lines import read_line

pytestmark = pytest.mark.faults("hostile inputs")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs Linux or macOS")
def test_a_pipe_is_not_waited_for(tmp_path):
    for name in ("table.csv", "lines.txt", "rows.parquet"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(DataError, match=f"{name}` is a pipe, which may never end: write its content into a file"):
            lamina.load(tmp_path / name)


@pytest.mark.posix
@pytest.mark.parametrize("words", [("--config", "pipe"), ("fnn", "--data", "iris", "--weights", "pipe")])
def test_options_and_weights_are_not_read_from_a_pipe_with_a_name(typed, tmp_path, words):
    os.mkfifo(tmp_path / "pipe")
    code, _, err = typed("train", *words)
    assert code == 2 and "pipe` is a pipe, which may never end: write its content into a file" in err


def test_what_is_nested_too_deeply_for_python(tmp_path):
    deep = "[" * 100_000
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n' + deep)
    with pytest.raises(DataError, match=r"has no valid JSON in line 2 \(maximum recursion depth"):
        lamina.load(tmp_path / "rows.jsonl")
    (tmp_path / "cells.csv").write_text("a,y\n" + "".join(f"{i},{deep}{']' * 100_000}\n" for i in range(4)))
    with pytest.raises(DataError, match=r"the target 'y' is '\[\[.* in every row"):
        lamina.load(tmp_path / "cells.csv")
    (tmp_path / "options.json").write_text(deep)
    with pytest.raises(ArgumentError, match=r"options.json cannot be read as JSON \(maximum recursion depth"):
        read_config(tmp_path / "options.json")
    assert read_line(f'{{"a": {deep}'.encode()) is None


@pytest.fixture
def deep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.makedirs("root/a")
    os.chdir("root/a")
    for _ in range(1100):
        os.mkdir("d")
        os.chdir("d")
    yield tmp_path / "root"
    for _ in range(1100):  # more than `shutil.rmtree` can go down in Python 3.11
        os.chdir("..")
        os.rmdir("d")


def test_folders_may_be_nested_deeply(deep):
    with pytest.raises(DataError, match="the class folder `a` holds no picture: add some or remove it"):
        load_folder(deep)


def test_a_range_of_too_many_values_is_refused_before_it_is_made():
    sentence = "`number of points of a range` must be at most 1,000,000, got 999,999,999,999."
    with pytest.raises(ArgumentError, match=sentence):
        Space.read(["learning_rate=1..2:999999999999"])
    with pytest.raises(
        ArgumentError, match="`number of values of a range` must be at most 1,000,000, got 10,000,000,0"
    ):
        Range(1, 10_000_000_000).grid()


@pytest.mark.parametrize("shape", [(10, 10), (2**31, 2**31)], ids=["small head", "large head"])
def test_a_bomb_takes_no_more_memory_than_its_head_says(shape, monkeypatch):
    monkeypatch.setattr("lamina.data.named._MOST", 2**21)
    bomb = gzip.compress(struct.pack(">HBBII", 0, 8, 2, *shape) + bytes(50_000_000), 1)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="unpacks to more than .* as a decompression bomb does"):
            _read_idx(bomb, "a")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


def test_a_file_system_that_became_read_only(tmp_path, monkeypatch):
    def refuse(*parts, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(files.os, "fsync", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(RunError, match="the file system is read-only: choose another folder with --out"):
        files.write(tmp_path / "a", b"")


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "the disk is full: free some space"), (errno.EROFS, "the file system is read-")],
)
def test_a_drawing_that_finds_no_place(typed, tmp_path, monkeypatch, number, words):
    def refuse(path, data):
        path.touch()
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    code, out, err = typed("draw", "perceptron", "-o", "net.svg")
    assert (code, out) == (2, "") and err.startswith(f"lamina: cannot write net.svg: {words}")
    assert not (tmp_path / "net.svg").exists()


@pytest.mark.posix
@pytest.mark.parametrize(
    ("place", "why"), [("file/net.svg", "file exists"), ("n" * 300 + ".svg", "file name too long")]
)
def test_a_drawing_whose_place_cannot_be(typed, tmp_path, place, why):
    (tmp_path / "file").touch()
    code, out, err = typed("draw", "perceptron", "-o", place)
    assert (code, out) == (2, "") and re.search(rf"cannot be read or written \({why}\): choose another place", err)


def test_a_run_that_fails_is_one_document_too(typed):
    words = "batch_size=1000", "learning_rate=1e38", "schedule=constant"
    options = [part for word in words for part in ("--set", word)]
    code, out, err = typed("train", "fnn", "--data", "iris", "--epochs", "1", *options, "--out", "run", "--json")
    assert code == 1 and json.loads(out) == {"run": "run", "stopped": "diverged", "test": None}
    assert "not been finite since step 2" in err


def test_a_last_batch_of_one_example_and_batch_normalization(tmp_path):
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=(4,), batch_norm=True)
    with pytest.raises(
        ArgumentError, match="`batch_size` is 39, which leaves a last batch of 1 example, and batch norm"
    ):
        lamina.fit(net, lamina.load("moons", count=60), lamina.Recipe(epochs=1, batch_size=39), folder=tmp_path / "run")


def test_a_piece_of_one_example_and_batch_normalization(tmp_path):
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=(4,), batch_norm=True)
    recipe = lamina.Recipe(epochs=1, batch_size=40, micro_batch=1)
    with pytest.raises(ArgumentError, match="`micro_batch` is 1, which leaves a piece of 1 example of a batch, and"):
        lamina.fit(net, lamina.load("moons", count=60), recipe, folder=tmp_path / "run")


LIMITED = """
import resource, sys
import torch, lamina.training.fit, lamina.report.render
from lamina.cli import main
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv.pop(1)) * 2**20,) * 2)
main()
"""


def limited(folder, megabytes, *words):
    """Type a command that may have so much more memory than torch needs to be loaded."""
    command = [sys.executable, "-c", LIMITED, str(megabytes), *words]
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stderr


@pytest.mark.faults("memory limits")
@pytest.mark.slow
@pytest.mark.linux
def test_too_little_memory_is_a_sentence_or_a_batch_in_pieces(tmp_path):
    words = "train", "fnn", "--data", "digits", "--set", "hidden=60000", "--set", "batch_size=1000", "--epochs", "1"
    code, said = limited(tmp_path, 20, *words)
    assert code == 2 and "there is not enough memory: 15.4 MB more were asked for. Choose a smaller" in said, said
    found = [limited(tmp_path, megabytes, *words) for megabytes in (150, 300, 500, 700)]
    assert {code for code, _ in found} <= {0, 2} and found[-1][0] == 0, found
    assert all("memory" in said for code, said in found if code), found
    pieces = "a batch of 1000 examples does not fit in memory: it is computed in pieces of .*the update stays the same"
    assert any(code == 0 and re.search(pieces, said) for code, said in found), found


@pytest.mark.faults("memory limits")
@pytest.mark.slow
@pytest.mark.linux
@pytest.mark.parametrize("megabytes", [60, 100, 150, 200])
def test_a_network_that_is_too_large_for_its_first_checkpoint(tmp_path, megabytes):
    """Threads could not be started at 100 MB, and safetensors panicked at 150 MB."""
    code, said = limited(tmp_path, megabytes, "train", "resnet18", "--data", "digits", "--epochs", "1")
    assert code == 2 and said.startswith("lamina: ") and "memory" in said and "panicked" not in said, said


def eight_rows(path):
    path.write_text("x,y\n" + "".join(f"{i},{2 * i + i % 3}\n" for i in range(8)))
    return path


def test_json_is_one_document_with_null_for_what_is_undefined(typed, tmp_path):
    table = eight_rows(tmp_path / "eight.csv")
    code, out, _ = typed("train", "fnn", "--data", table, "--epochs", "1", "--json", "--out", "run")
    assert code == 0
    found = json.loads(out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert found["test"]["r2"] is None and found["stopped"] == "epochs"
    code, out, _ = typed("resume", "run", "--epochs", "2", "--json")
    assert code == 0 and json.loads(out)["test"]["r2"] is None
    code, out, _ = typed("repair", "run", "--json")
    assert code == 0 and {each["state"] for each in json.loads(out)} == {"whole"}


@pytest.mark.posix
@pytest.mark.parametrize(
    "words", [("--config", "zero"), ("fnn", "--data", "iris", "--weights", "zero"), ("fnn", "--data", "zero.csv")]
)
def test_a_device_that_never_ends_is_not_read(typed, tmp_path, words):
    """`--config /dev/zero` took all of the memory until the system killed it."""
    for name in ("zero", "zero.csv"):
        (tmp_path / name).symlink_to("/dev/zero")
    code, _, err = typed("train", *words)
    assert code == 2 and re.search(r"zero(.csv)?` is a device, which may never end: write its content into a file", err)


def test_options_that_take_too_long_or_too_much(typed, tmp_path):
    """Python's reader of TOML takes time in the square of the parts of a name: 100,000 of them took over a minute."""
    (tmp_path / "deep.toml").write_text("a." * 100_000 + "b = 1")
    code, _, err = typed("train", "--config", "deep.toml")
    assert code == 2 and "deep.toml cannot be read as TOML (a name of more than 100 parts): correct it" in err
    (tmp_path / "inline.toml").write_text("set = {" + "a." * 100_000 + "b = 1}")
    code, _, err = typed("train", "--config", "inline.toml")
    assert code == 2 and "inline.toml cannot be read as TOML (a name of more than 100 parts): correct it" in err
    (tmp_path / "large.toml").write_text("# " + "x" * 1_000_000)
    code, _, err = typed("train", "--config", "large.toml")
    assert code == 2 and "large.toml is larger than 1 MB: it cannot be a file of options" in err


@pytest.mark.posix
def test_the_root_and_this_folder_as_places_of_a_run(typed, tmp_path):
    (tmp_path / "here").mkdir()
    os.chdir(tmp_path / "here")
    small = "fnn", "--data", "iris", "--epochs", "1", "--quiet"
    code, _, err = typed("train", *small, "--out", "/", "--again")
    assert code == 2 and "/ exists, and its name can have no number: choose another folder" in err
    code, _, err = typed("search", "fnn", "learning_rate=0.1,0.2", *small[1:], "--folder", "/")
    assert code == 2 and "/ exists, and its name can have no number: choose another folder" in err


@pytest.mark.linux
def test_a_table_whose_name_is_not_utf8(typed, tmp_path):
    with open(os.fsencode(tmp_path) + b"/t\xe4.csv", "w") as file:
        file.write("x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(12)))
    code, _, err = typed("train", "fnn", "--data", "t\udce4.csv")
    assert code == 2 and r"the name 't\udce4.csv' is not UTF-8, as records of runs are: rename the file" in err


@pytest.mark.posix
def test_a_folder_that_is_gone(typed, tmp_path, monkeypatch):
    """A library ended the process with words of its own."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    code, out, err = typed("list")
    assert (code, out) == (2, "") and err == (
        "lamina: the folder in which you are has been removed: change to another one.\n"
    )


def test_a_file_that_may_not_be_read_is_not_said_to_be_written(typed, tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.toml").write_text("version = 1")
    read, allowed = Path.read_bytes, os.access

    def refuse(path):
        if path.name == "config.toml":
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    monkeypatch.setattr(os, "access", lambda path, mode: "config" not in str(path) and allowed(path, mode))
    code, _, err = typed("repair", "run")
    place = str(Path("run/config.toml"))
    assert code == 2 and err == f"lamina: {place} cannot be read (permission denied): become its owner, or copy it.\n"
