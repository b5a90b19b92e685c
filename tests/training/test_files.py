"""Files are complete or absent, and say what went wrong."""

import errno
import os
import tomllib
from pathlib import Path

import pytest

import lamina
from lamina._errors import RunError
from lamina.training import files
from lamina.training.files import numbered
from lamina.training.lines import append_lines, complete, read_line
from lamina.training.repair import repair


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
        (
            errno.EROFS,
            "the file system is read-only: choose another folder with --out, or copy this one to where you can write",
        ),
        (errno.EACCES, "permission denied: choose another folder with --out, or copy this one to where you can write"),
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
    with pytest.raises(RunError, match=r"its folder is gone: was it moved or deleted during the run\? What was saved"):
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


@pytest.mark.posix
def test_what_grows_is_no_link_to_a_file_of_somebody_else(tmp_path):
    """A folder from a stranger appended to any file of whoever resumed it, or cut off the end of that file."""
    (tmp_path / "thesis").write_text("years of work\nwithout a last line end")
    (tmp_path / "rows.jsonl").symlink_to(tmp_path / "thesis")
    append_lines(tmp_path / "rows.jsonl", [{"step": 1}])
    assert (tmp_path / "thesis").read_text() == "years of work\nwithout a last line end"
    assert [read_line(line) for line in complete((tmp_path / "rows.jsonl").read_bytes())][-1] == {"step": 1}
    (tmp_path / "new.jsonl").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"new\.jsonl is a link to a file that is not there: bring that file back"):
        append_lines(tmp_path / "new.jsonl", [{"step": 1}])  # the rows before are perhaps on a disk that is not mounted
    assert not (tmp_path / "nowhere").exists() and (tmp_path / "new.jsonl").is_symlink()
    (tmp_path / "odd.jsonl").symlink_to(tmp_path)
    with pytest.raises(RunError, match=r"cannot write .*odd\.jsonl: it is not a file"):
        append_lines(tmp_path / "odd.jsonl", [{"step": 1}])


def test_dots_in_comments_and_in_texts_of_many_lines_are_no_names():
    dots = 200 * "."
    text = f'# {dots}\nx = """\n{dots} \\""" \'"""  # {dots}\ny = \'\'\'\n{dots}\n\'\'\'\nz = 1'
    assert {name: str(value).count(".") for name, value in files.read_toml(text).items()} == {
        "x": 200,
        "y": 200,
        "z": 0,
    }
    for quotes in ('"""', "'''"):
        with pytest.raises(ValueError, match="a name of more than 100 parts"):
            files.read_toml(f"x = {{a = {quotes}\ny{quotes}, b{200 * '.b'} = 1}}")


ENDLESS = ['''"""\\"''', "'''", '"', "''", '''x="""a"''', "#'\n", "\"\"\" ''' "]


@pytest.mark.parametrize("text", ENDLESS)
def test_quotes_without_end_take_no_time(text):
    with pytest.raises(ValueError, match=r"[Uu]nterminated|[Ee]xpected|[Ii]nvalid|[Ii]llegal|[Uu]nescaped"):
        files.read_toml("x = " + text * 50_000)


@pytest.mark.posix
def test_a_run_of_links_leaves_their_files_alone(tmp_path):
    """As a store of data (DVC, git-annex) checks a run out: every file is a link into the store."""
    data = lamina.load("iris")
    lamina.fit("fnn", data, lamina.Recipe(epochs=2), folder=tmp_path / "store", progress=False)
    (tmp_path / "run/checkpoints").mkdir(parents=True)
    before = {}
    for path in sorted((tmp_path / "store").rglob("*")):
        if path.is_file():
            before[path] = path.read_bytes()
            (tmp_path / "run" / path.relative_to(tmp_path / "store")).symlink_to(path)
    lamina.resume(tmp_path / "run", epochs=3, progress=False).evaluate()
    assert {path: path.read_bytes() for path in before} == before
    assert all(found.state == "whole" for found in repair(tmp_path / "run"))


@pytest.mark.posix
def test_checkpoints_of_another_run_are_neither_written_nor_removed(tmp_path):
    """A folder from a stranger wrote into that of a run of yours through a link, and removed the older checkpoints."""
    data = lamina.load("iris")
    for name in ("mine", "stranger"):
        lamina.fit("fnn", data, lamina.Recipe(epochs=2), folder=tmp_path / name, progress=False)
    mine = tmp_path / "mine/checkpoints"
    for path in (tmp_path / "stranger/checkpoints").iterdir():
        path.rename(mine / path.name)
    (tmp_path / "stranger/checkpoints").rmdir()
    (tmp_path / "stranger/checkpoints").symlink_to(mine)
    before = {path: path.read_bytes() for path in mine.iterdir()}
    with pytest.raises(RunError, match="checkpoints is a link, through which a run writes nothing: put a folder with"):
        lamina.resume(tmp_path / "stranger", epochs=3, progress=False)
    assert {path: path.read_bytes() for path in mine.iterdir()} == before


@pytest.mark.posix
def test_the_root_has_no_number():
    with pytest.raises(RunError, match="/ exists, and its name can have no number: choose another folder"):
        numbered(Path("/"), 2)
