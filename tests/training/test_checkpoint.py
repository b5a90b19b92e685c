"""Checkpoints: the newest two, damage noticed, the one before taken."""

import errno
import os

import pytest
import torch

from lamina._errors import RunError
from lamina.training import checkpoint


def saved(folder, *steps):
    return [checkpoint.save(folder, s, {"w": torch.full((3,), float(s))}, {"step": s, "text": "ä"}) for s in steps]


def test_the_newest_two_are_kept_and_the_newest_is_read(tmp_path):
    saved(tmp_path, 1, 5, 12)
    assert [path.name[:13] for path in checkpoint.found(tmp_path)] == ["step-00000012", "step-00000005"]
    state = checkpoint.load(tmp_path)
    assert state.plain == {"step": 12, "text": "ä"} and state.tensors["w"].tolist() == [12.0] * 3 and not state.skipped
    assert checkpoint.load(tmp_path / "none") is None


def test_the_same_state_gives_the_same_bytes(tmp_path):
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    first, second = saved(tmp_path / "a", 3)[0], saved(tmp_path / "b", 3)[0]
    assert first.name == second.name and first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_a_damaged_newest_falls_back_to_the_one_before_and_says_so(tmp_path, damage):
    _, newest = saved(tmp_path, 5, 12)
    content = bytearray(newest.read_bytes())
    if damage == "flipped":
        content[-3] ^= 1
    newest.write_bytes({"truncated": content[:-7], "flipped": content, "empty": b""}[damage])
    state = checkpoint.load(tmp_path)
    assert state.plain["step"] == 5 and len(state.skipped) == 1 and newest.name in state.skipped[0]
    assert "its content does not match its digest" in state.skipped[0]


def test_when_all_are_damaged_a_sentence_says_so(tmp_path):
    for path in saved(tmp_path, 5, 12):
        path.write_bytes(b"nonsense")
    with pytest.raises(RunError, match="every checkpoint in .* is damaged .*train again from the start"):
        checkpoint.load(tmp_path)


def test_a_file_that_only_looks_whole_is_passed_over(tmp_path):
    saved(tmp_path, 5)
    content = b"no safetensors, but its digest is right"
    (tmp_path / f"step-00000009-{checkpoint.digest(content)}.safetensors").write_bytes(content)
    (tmp_path / ".step-00000010-0000000000000000.safetensors.1.part").write_bytes(b"")
    state = checkpoint.load(tmp_path)
    assert state.plain["step"] == 5 and "step-00000009" in state.skipped[0]


def test_a_checkpoint_that_vanishes_while_looking_is_no_error(tmp_path, monkeypatch):
    first, second = saved(tmp_path, 5, 12)
    monkeypatch.setattr(checkpoint.os, "listdir", lambda folder: [first.name, second.name])
    first.unlink()
    assert checkpoint.found(tmp_path) == [second, first]
    assert checkpoint.load(tmp_path).plain["step"] == 12


def test_writing_never_leaves_a_part_behind(tmp_path):
    saved(tmp_path, 1)
    assert all(not name.endswith(".part") for name in os.listdir(tmp_path))


def test_checkpoints_that_may_not_be_read_are_not_said_to_be_missing_or_damaged(tmp_path, monkeypatch):
    checkpoint.save(tmp_path, 3, {"a": torch.ones(1)}, {})

    def refuse(*parts):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "read", refuse)
        with pytest.raises(
            RunError, match=r"step-.*safetensors cannot be read \(Permission denied\): become its owner"
        ):
            checkpoint.load(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.os, "listdir", refuse)
        with pytest.raises(RunError, match=r"cannot be read \(Permission denied\): become its owner, or copy it"):
            checkpoint.found(tmp_path)
    assert len(checkpoint.found(tmp_path)) == 1 and checkpoint.found(tmp_path / "nowhere") == []
