"""The folder of a run: what is none, and what is damaged."""

import json
import shutil

import numpy as np
import pytest
import torch

import lamina
from lamina._errors import RunError
from lamina.training.fit import resume
from lamina.training.folder import RunFolder
from lamina.training.manifest import Manifest
from lamina.training.run import Run


def test_folders_that_are_no_runs_are_refused(tmp_path):
    with pytest.raises(RunError, match="is not a folder: give the folder of a run"):
        Run.load(tmp_path / "nothing")
    with pytest.raises(RunError, match="is not the folder of a run: it has no config.toml"):
        resume(tmp_path)
    (tmp_path / "config.toml").write_text("version = 99\n")
    with pytest.raises(
        RunError, match="written by a newer Lamina \\(version 99, the latest known is 2\\): update Lamina"
    ):
        resume(tmp_path)
    (tmp_path / "config.toml").write_text("version = \n")
    with pytest.raises(RunError, match="config.toml cannot be read"):
        resume(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot make the folder .*Choose another with --out"):
        RunFolder.create(tmp_path / "file" / "run")


def test_damaged_weights_are_named(digits, tmp_path):

    folder = tmp_path / "run"
    shutil.copytree(digits.folder, folder)
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    status = folder / "status.json"
    known = status.read_text()
    status.write_text(json.dumps({key: value for key, value in json.loads(known).items() if key != "weights"}))
    Manifest(folder).take("status.json")
    with pytest.raises(RunError, match="weights.safetensors is damaged: it is not what the run wrote"):
        Run.load(folder)
    Manifest(folder).take("weights.safetensors")
    with pytest.raises(RunError, match="weights.safetensors is damaged .*train again, or restore it from a copy"):
        Run.load(folder)
    other = torch.nn.Sequential(lamina.layers.linear(3, 3))
    shutil.copy(digits.folder / "weights.safetensors", weights)
    Manifest(folder).take("weights.safetensors")
    with pytest.raises(RunError, match="does not hold the weights of this architecture"):
        Run.load(folder, model=other)
    weights.unlink()
    assert torch.equal(
        Run.load(folder).predict(np.zeros((1, 8, 8), np.uint8)).values,
        digits.predict(np.zeros((1, 8, 8), np.uint8)).values,
    )
    shutil.rmtree(folder / "checkpoints")
    with pytest.raises(RunError, match="has no weights yet: it stopped before its first checkpoint"):
        Run.load(folder)


def test_flipped_bits_in_the_weights_are_noticed(digits, tmp_path):

    shutil.copytree(digits.folder, tmp_path / "run")
    weights = tmp_path / "run/weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(RunError, match="is damaged: it is not what the run wrote"):
        Run.load(tmp_path / "run")


def test_a_damaged_history_is_named(digits, tmp_path):
    shutil.copytree(digits.folder, tmp_path / "run")
    history = tmp_path / "run/history.jsonl"
    history.write_text("{}\nnonsense\n{}\n")
    with pytest.raises(RunError, match="history.jsonl is damaged: it is not what the run wrote. It says what every"):
        Run.load(tmp_path / "run")
    Manifest(tmp_path / "run").take("history.jsonl")
    with pytest.raises(RunError, match=r"history.jsonl is damaged in line 2: .* run  lamina repair .*run"):
        Run.load(tmp_path / "run")
    history.write_text("{}\n")
    Manifest(tmp_path / "run").take("history.jsonl")
    with pytest.raises(RunError, match="history.jsonl is damaged in line 1: resume the run, which rewrites it"):
        Run.load(tmp_path / "run")
    history.write_bytes(b"\xff\n")
    Manifest(tmp_path / "run").take("history.jsonl")
    with pytest.raises(RunError, match="history.jsonl is damaged in line 1"):
        Run.load(tmp_path / "run")
