"""The manifest of a folder: kills between its moments are no damage, and everything else is."""

import json

import pytest

from lamina._errors import RunError
from lamina.training import manifest as module
from lamina.training.files import write
from lamina.training.manifest import NAME, Manifest, Seal


@pytest.fixture
def manifest(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    return Manifest(tmp_path)


def test_what_was_written_is_read_and_anything_else_refused(manifest, tmp_path):
    manifest.write("config.toml", b"version = 2")
    assert manifest.read("config.toml") == b"version = 2"
    (tmp_path / "config.toml").write_bytes(b"version = 3")
    match = r"config.toml is damaged: it is not what the run wrote. It says what was trained, .* lamina repair"
    with pytest.raises(RunError, match=match):
        manifest.read("config.toml")
    (tmp_path / "config.toml").unlink()
    with pytest.raises(RunError, match="config.toml is missing. It says what was trained"):
        manifest.read("config.toml")
    with pytest.raises(FileNotFoundError):
        manifest.read("evaluation.json")
    (tmp_path / "evaluation.json").write_bytes(b"{}")  # from elsewhere
    with pytest.raises(RunError, match="evaluation.json is damaged: it is not what the run wrote"):
        manifest.read("evaluation.json")


def test_a_kill_at_any_moment_of_a_write_is_no_damage(manifest, tmp_path):
    manifest.write("a.json", b"old")
    manifest.note(("b.json", "announced", Seal.of(b"new")))  # killed before there was one
    with pytest.raises(FileNotFoundError):
        manifest.read("b.json")
    manifest.note(("a.json", "announced", Seal.of(b"new")))  # killed before the file was replaced
    assert manifest.read("a.json") == b"old"
    write(tmp_path / "a.json", b"new")  # killed before it was noted
    assert manifest.read("a.json") == b"new"
    manifest.write("a.json", b"newer")
    (tmp_path / "a.json").write_bytes(b"old")  # an old copy put in its place is not what the run wrote last
    with pytest.raises(RunError, match="a.json is damaged"):
        manifest.read("a.json")


def test_a_line_that_a_kill_cut_short_is_passed_over_and_cut_off(manifest, tmp_path):
    manifest.write("a.json", b"1")
    with open(tmp_path / NAME, "ab") as file:
        file.write(b'{"file": "a.json", "st')
    assert manifest.read("a.json") == b"1"
    manifest.write("b.json", b"2")
    assert manifest.read("a.json") + manifest.read("b.json") == b"12"


def test_a_damaged_manifest_says_so(manifest, tmp_path):
    manifest.write("a.json", b"1")
    lines = (tmp_path / NAME).read_text().replace('"written"', '"wridden"')
    (tmp_path / NAME).write_text(lines)
    with pytest.raises(RunError, match=r"manifest.jsonl is damaged in line 2: the digests of files are lost, not the"):
        manifest.read("a.json")
    damaged = []
    assert manifest.seals(damaged) == {"a.json": [Seal.of(b"1")]} and damaged == [2]


def test_files_that_grow_are_whole_as_far_as_they_were_noted(manifest, tmp_path):
    path = tmp_path / "history.jsonl"
    manifest.write("config.toml", b"")
    path.write_bytes(b"one\n")
    assert manifest.read("history.jsonl") == b"one\n"  # not noted yet: its lines have checksums
    manifest.take("history.jsonl")
    path.write_bytes(b"one\ntwo\n")
    assert manifest.read("history.jsonl") == b"one\ntwo\n"
    for content in (b"One\ntwo\n", b"one", b""):
        path.write_bytes(content)
        with pytest.raises(RunError, match="history.jsonl is damaged"):
            manifest.read("history.jsonl")


def test_what_was_forgotten_need_not_be_there(manifest, tmp_path):
    manifest.write("evaluation.json", b"{}")
    (tmp_path / "evaluation.json").unlink()
    manifest.forget("evaluation.json")
    with pytest.raises(FileNotFoundError):
        manifest.read("evaluation.json")


def test_a_folder_without_one_gets_none(tmp_path):
    (tmp_path / "config.toml").write_text("version = 1")
    manifest = Manifest(tmp_path)
    manifest.write("evaluation.json", b"{}")
    assert not manifest.exists and manifest.read("evaluation.json") == b"{}"


def test_each_line_says_which_file_and_how_long_it_is(manifest, tmp_path):
    manifest.write("a.json", b"12")
    lines = [json.loads(line) for line in (tmp_path / NAME).read_text().splitlines()]
    assert [(line["file"], line["state"], line["bytes"]) for line in lines] == [
        ("a.json", "announced", 2),
        ("a.json", "written", 2),
    ]
