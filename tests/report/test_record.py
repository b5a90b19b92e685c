"""Reading a run folder: what is found, and every sentence about what is damaged."""

import json
import math
from datetime import UTC, datetime

import pytest
import torch

import lamina
from lamina._errors import RunError
from lamina.architectures.table import TABLE
from lamina.report._record import read
from lamina.training import checkpoint
from report.samples import CONFIG, EVALUATION, PREPROCESS, ROWS, STATUS, WEIGHTS


def test_everything_is_read(make):
    record = read(make("fnn-iris"))
    assert record.name == "runs/fnn-iris" and record.data == "iris" and record.classifies
    assert record.rows == tuple(ROWS) and record.best == 1 and record.clock == ("epoch", [1.0, 2.0, 3.0])
    assert record.seconds == 3.25 and record.ended == datetime(2023, 11, 14, 22, 13, 22, tzinfo=UTC)
    assert record.evaluation["metrics"]["accuracy"] == 0.85


def test_weights_have_counts_and_norms(make):
    weights = read(make()).weights
    assert [w.name for w in weights] == list(WEIGHTS)
    assert [w.count for w in weights] == [20, 5, 15, 3]
    assert [w.norm for w in weights] == pytest.approx([math.sqrt(5), 0.0, math.sqrt(15), 5.0])


@pytest.mark.parametrize("name", [name for name in TABLE if not name.startswith(("alexnet", "resnet"))] + ["resnet18"])
def test_trained_tensors_of_every_architecture_are_told_from_statistics(make, name):
    network = lamina.build(name)
    weights = read(make(weights=network.state_dict())).weights
    assert [w.name for w in weights] == [key for key, _ in network.named_parameters()]
    assert sum(w.count for w in weights) == sum(p.numel() for p in network.parameters())


def test_weights_come_from_the_newest_checkpoint_while_there_are_no_final_ones(make):
    folder = make(weights=None)
    assert read(folder).weights == ()
    tensors = {"model/w": torch.ones(3), "best/w": torch.full((4,), 2.0), "optimizer/0/step": torch.ones(1)}
    checkpoint.save(folder / "checkpoints", 5, tensors, {})
    (weight,) = read(folder).weights
    assert (weight.name, weight.count, weight.norm) == ("w", 4, 4.0)


def test_time_of_several_sessions_is_added_up(make):
    clock = [1.0, 2.0, 3.5, 0.5, 2.0, 1.0]
    record = read(make(timings=[{"step": i, "seconds": s} for i, s in enumerate(clock)]))
    assert record.seconds == 3.5 + 2.0 + 1.0 and record.ended is None
    assert read(make(timings=None)).seconds is None


def test_the_best_check_is_found_when_the_status_does_not_tell(make):
    running = {"state": "running"}
    assert read(make(status=running)).best == 1
    rows = [{"epoch": 1, "step": 1, "loss": None}, {"epoch": 2, "step": 2, "loss": 0.5}]
    assert read(make(status=None, rows=rows)).best == 1
    assert read(make(status=running, rows=rows[:1])).best is None
    assert read(make(rows=None)).best is None


def test_several_checks_in_an_epoch_are_counted_in_steps(make):
    rows = [{"epoch": 0, "step": 4, "loss": 1.0}, {"epoch": 0, "step": 8, "loss": 0.5}]
    assert read(make(rows=rows)).clock == ("step", [4.0, 8.0])


def test_a_last_line_cut_short_is_left_out(make):
    folder = make()
    with open(folder / "history.jsonl", "a") as file:
        file.write('{"epoch": 4, "st')
    assert len(read(folder).rows) == 3


def test_missing_parts_are_none(make):
    record = read(make(preprocess=None, environment=None, status=None, evaluation=None, rows=None, weights=None))
    assert record.preprocess is record.environment is record.evaluation is None
    assert record.rows == () and record.weights == () and record.status == {"state": "running"}
    assert record.metric == "accuracy"


def test_the_task_shows_in_the_history_without_preprocessing(make):
    assert read(make(preprocess=None, rows=[{"epoch": 1, "step": 1, "loss": 1.0, "mse": 2.0}])).metric == "mse"


def test_sizes_are_those_of_the_config_and_of_the_sentence_of_an_old_run(make):
    assert read(make()).examples == (100, 25, 20)  # a run of 0.1: only the sentence has them
    assert read(make(config={**CONFIG, "examples": [7, 2, 1]})).examples == (7, 2, 1)
    complete = {**PREPROCESS, "spec": {**PREPROCESS["spec"], "complete": True}}
    assert read(make(config={**CONFIG, "examples": [4, 4, 4]}, preprocess=complete)).examples is None
    assert read(make(config={**CONFIG, "note": "all of it"})).examples is None


def test_no_folder_and_no_run(tmp_path):
    with pytest.raises(RunError, match="is not a folder: give the folder of a run"):
        read(tmp_path / "nothing")
    with pytest.raises(RunError, match=r"is not the folder of a run: it has no config\.toml"):
        read(tmp_path)


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
    ("status.json", "[1]", r"status\.json is damaged \(it does not hold names with values\)"),
    ("environment.json", "3", r"environment\.json is damaged \(it does not hold names"),
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
    ("history.jsonl", '{"epoch": null, "step": 1}\n', r"history\.jsonl is damaged \(a row without epoch and step\)"),
    ("history.jsonl", '{"epoch": 1, "step": 1, "loss": []}\n', r"history\.jsonl is damaged"),
    ("history.jsonl", '{"epoch": 1, "step": 1, "gradients": 3}\n', r"history\.jsonl is damaged"),
    ("history.jsonl", '{"epoch": 1, "step": 1}\nxx\n', r"history\.jsonl is damaged in line 2: .* or resume the run"),
    ("history.jsonl", b"\xff\n", r"history\.jsonl cannot be read"),
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


def test_fixtures_are_not_changed_by_reading(make):
    read(make())
    assert CONFIG["architecture"]["network"] == "FNN" and STATUS["best_row"] == 1 and EVALUATION["openings"] == 1
