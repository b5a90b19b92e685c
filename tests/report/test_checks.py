"""What is wrong with a file becomes a sentence that names it."""

import json

import pytest

from lamina._errors import RunError
from lamina.report._record import read
from report.samples import PREPROCESS

DAMAGED = [
    ("config.toml", "a = ", r"config\.toml cannot be read"),
    ("config.toml", "version = 1\n", r"config\.toml is damaged \(no 'architecture'\): restore it from a copy"),
    (
        "config.toml",
        'architecture = "x"\n[data]\n[recipe]\n',
        r"config\.toml is damaged \(architecture is not a table\)",
    ),
    ("config.toml", "version = 99\n", "written by a newer Lamina"),
    ("status.json", "{", r"status\.json cannot be read"),
    ("status.json", "[1]", r"status\.json is damaged: it does not say how the run ended"),
    ("environment.json", "3", r"environment\.json is damaged \(it does not map names"),
    ("preprocess.json", '{"spec": {}}', r"preprocess\.json is damaged"),
    ("preprocess.json", json.dumps({**PREPROCESS, "new": 1}), r"preprocess\.json is damaged \(.*unknown fields"),
    ("evaluation.json", "{}", r"evaluation\.json is damaged \(no 'examples'\)"),
    ("evaluation.json", '{"examples": 3}', r"evaluation\.json is damaged \(no 'metrics'\)"),
    ("evaluation.json", '{"examples": 3, "metrics": {"loss": "x"}}', r"evaluation\.json is damaged"),
    ("evaluation.json", '{"examples": -3, "metrics": {}}', r"evaluation\.json is damaged \(impossible counts\)"),
    (
        "evaluation.json",
        '{"examples": 3, "metrics": {"accuracy": 1.5}}',
        r"evaluation\.json is damaged \(an accuracy outside \[0, 1\]\)",
    ),
    ("preprocess.json", json.dumps({**PREPROCESS, "mean": [1.0]}), "its columns do not fit"),
    ("preprocess.json", json.dumps({**PREPROCESS, "seen": [[0], [], [], []]}), "its categories do not fit"),
    ("history.jsonl", '{"epoch": 1}\n', r"history\.jsonl is damaged \(no 'step'\)"),
    ("history.jsonl", '{"epoch": null, "step": 1}\n', r"history\.jsonl is damaged \(a row lacks its epoch or step\)"),
    ("history.jsonl", '{"epoch": 1, "step": 1, "loss": []}\n', r"history\.jsonl is damaged"),
    ("history.jsonl", '{"epoch": 1, "step": 1, "gradients": 3}\n', r"history\.jsonl is damaged"),
    (
        "history.jsonl",
        '{"epoch": 1, "step": 1}\nxx\n',
        r"history\.jsonl is damaged in line 2: restore it .* lamina repair",
    ),
    ("history.jsonl", b"\xff\n", r"history\.jsonl is damaged in line 1"),
    ("timings.jsonl", "[]\n", r"timings\.jsonl is damaged in line 1"),
    ("timings.jsonl", "{}\n", r"timings\.jsonl is damaged \(no 'seconds'\)"),
    ("timings.jsonl", '{"seconds": 1, "at": 1e30}\n', r"timings\.jsonl is damaged"),
    ("weights.safetensors", "nonsense", r"weights\.safetensors is damaged"),
]


@pytest.mark.parametrize(("file", "content", "sentence"), DAMAGED)
def test_a_damaged_file_is_named(make, file, content, sentence):
    folder = make()
    (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RunError, match=sentence):
        read(folder)


def test_damaged_checkpoints_are_named(make):
    folder = make(weights=None)
    (folder / "checkpoints" / "step-00000001-0123456789abcdef.safetensors").write_bytes(b"x")
    with pytest.raises(RunError, match=r"every checkpoint in .* is damaged"):
        read(folder)
