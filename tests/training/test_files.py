"""Files are complete or absent, and say what went wrong."""

import errno
import os
import tomllib

import pytest

from lamina._errors import RunError
from lamina.training import files
from lamina.training.lines import append_lines


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "a.json"
    files.write(path, b"old")
    files.write(path, b"new")
    assert path.read_bytes() == b"new" and os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk is full: free some space"),
        (errno.EDQUOT, "the disk quota is used up"),
        (errno.EROFS, "the file system is read-only: choose another folder with --out"),
        (errno.EACCES, "permission denied: choose another folder with --out"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_what_cannot_be_written_leaves_the_old_file(tmp_path, monkeypatch, number, words):
    path = tmp_path / "a.json"
    files.write(path, b"old")

    def full(handle):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(RunError, match=f"cannot write .*a.json: {words}.*What was saved before is intact"):
        files.write(path, b"new")
    with pytest.raises(RunError, match=words):
        append_lines(tmp_path / "b.jsonl", [{"x": 1}])
    assert path.read_bytes() == b"old" and sorted(os.listdir(tmp_path)) == ["a.json", "b.jsonl"]


def test_a_folder_that_is_gone_is_said(tmp_path):
    with pytest.raises(RunError, match="its folder is gone: was it moved or deleted during the run"):
        files.write(tmp_path / "gone" / "a", b"")


def test_json_is_read_or_named(tmp_path):
    path = tmp_path / "a.json"
    text = files.as_json({"x": [1.5, float("nan"), float("inf")], "y": (1, 2)})
    assert files.parse_json(text, path) == {"x": [1.5, None, None], "y": [1, 2]}
    for damaged in (b"{", b'"\xff"', b"[" * 100_000):
        with pytest.raises(RunError, match="a.json cannot be read"):
            files.parse_json(damaged, path)


def test_toml_comes_back():
    values = {
        "a": 1, "b": 1e-05, "c": True, "d": "x \"y\" ä\n", "e": [1, 2], "none": None,
        "t": {"x": 0.1, "u": {"v": []}}, "empty": {}, "big": 1e22, "names": ["a", "b"],
    }  # fmt: skip
    back = tomllib.loads(files.as_toml(values))
    del values["none"]
    assert back == values
