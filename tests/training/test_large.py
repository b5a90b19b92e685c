"""A table that stays on disk trains, resumes in the middle of an epoch bit for bit, and answers like a resident one."""

import shutil
import subprocess
import sys

import numpy as np
import polars as pl
import psutil
import pytest
import torch

from lamina._errors import ArgumentError, DataError, DataWarning, RunError
from lamina.data import block_source, large
from lamina.data.dataset import ArrayDataset
from lamina.data.load import load
from lamina.data.splits import Sealed, Split
from lamina.training.fit import fit, resume
from lamina.training.objective import choose
from lamina.training.recipe import GD, SGD, Recipe
from lamina.training.runtime import Runtime

ONE = Runtime(threads=1)
OPTIONS = {"hidden": 8, "batch_size": 50, "learning_rate": 0.01}


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "BLOCK", 100)
    monkeypatch.setattr(block_source, "WINDOW", 400)
    draw = np.random.default_rng(0)
    x = draw.normal(size=(1500, 3))
    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": np.where(x[:, 2] > 0, "up", "down")})
    frame = frame.with_columns(y=pl.Series((x[:, 0] + x[:, 2] > 0).astype(int)))
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=300)
    return tmp_path / "a.parquet"


def readers():
    """Give the processes that read tables for this one, which may have other children."""
    return [child for child in psutil.Process().children() if "lamina.data.reader" in child.cmdline()]


def weights(run):
    return torch.cat([p.detach().flatten() for p in run.model.parameters()])


def test_it_learns_and_is_judged(path, tmp_path):
    run = fit("fnn", load(path, target="y", stream=True), epochs=8, options=OPTIONS, folder=tmp_path / "run",
              runtime=ONE)  # fmt: skip
    found = run.evaluate()
    assert found.metrics["accuracy"] > 0.8 and found.examples == len(run.split.test)
    assert found.baselines[0]["name"].startswith("always '") and found.linear["examples"] == len(run.split.validation)


@pytest.mark.parametrize("apart", [2**30, 0], ids=["thread", "process"])
def test_a_run_resumes_in_the_middle_of_an_epoch_bit_for_bit(path, tmp_path, monkeypatch, apart):
    whole = fit("fnn", load(path, target="y", stream=True), epochs=3, options=OPTIONS, folder=tmp_path / "whole",
                runtime=ONE)  # fmt: skip
    monkeypatch.setattr(block_source, "APART", apart)
    stopped = fit("fnn", load(path, target="y", stream=True), epochs=3, options=OPTIONS, folder=tmp_path / "run",
                  observers=[lambda event: event.step == 27], runtime=ONE)  # fmt: skip
    assert stopped.reason.name == "observer"
    again = resume(tmp_path / "run")
    assert torch.equal(weights(again), weights(whole))
    assert [row["loss"] for row in again.rows] == [row["loss"] for row in whole.rows]


def test_a_run_goes_on_when_its_reader_is_killed(path, tmp_path, monkeypatch):
    whole = fit("fnn", load(path, target="y", stream=True), epochs=3, options=OPTIONS, folder=tmp_path / "whole",
                runtime=ONE)  # fmt: skip
    monkeypatch.setattr(block_source, "APART", 0)
    killed = []

    def kill(event):
        if event.step == 27:
            killed.extend(readers())
            killed[0].kill()

    with pytest.warns(DataWarning, match="the process that reads the table has ended .*: a thread reads the rows from"):
        run = fit("fnn", load(path, target="y", stream=True), epochs=3, options=OPTIONS, folder=tmp_path / "run",
                  observers=[kill], runtime=ONE)  # fmt: skip
    assert len(killed) == 1 and torch.equal(weights(run), weights(whole)) and not readers()


def test_it_prepares_and_answers_as_the_same_rows_in_memory(path, tmp_path):
    split = load(path, target="y", stream=True).split()
    rows = ArrayDataset(*split.train.take(torch.arange(len(split.train))), split.train.spec)
    resident = Split(rows, split.validation, Sealed(split.open_test()), split.note)
    first = fit("fnn", split, epochs=1, options=OPTIONS, folder=tmp_path / "one", runtime=ONE)
    second = fit("fnn", resident, epochs=1, options=OPTIONS, folder=tmp_path / "two", runtime=ONE)
    inputs = split.validation.inputs
    one, two = first.preprocess.apply(inputs), second.preprocess.apply(inputs)
    assert torch.allclose(one, two, atol=1e-6)
    second.model.load_state_dict(first.model.state_dict())
    assert torch.allclose(first.outputs(inputs), second.outputs(inputs), atol=1e-6)


def test_changed_rows_are_noticed_by_a_resume(path, tmp_path):
    fit("fnn", load(path, target="y", stream=True), epochs=1, options=OPTIONS, folder=tmp_path / "run", runtime=ONE)
    frame = pl.read_parquet(path)
    frame.with_columns(y=1 - pl.col("y")).write_parquet(path)
    with pytest.raises(RunError, match="have changed since the run began"):
        resume(tmp_path / "run", epochs=2)


def test_balanced_classes_are_those_of_the_training_part(path, tmp_path):
    split = load(path, target="y", stream=True).split()
    labels = split.train.targets
    plain = choose("classification", 2, None, "balanced", labels)
    counted = choose("classification", 2, None, "balanced", labels[:0], counted=split.train.statistics.balance)
    assert torch.equal(plain.weights, counted.weights)
    run = fit("fnn", split, epochs=1, options={**OPTIONS, "class_weights": "balanced"}, folder=tmp_path / "run",
              runtime=ONE)  # fmt: skip
    assert len(run.rows) == 1


@pytest.mark.parametrize(
    ("recipe", "what"),
    [(Recipe(GD()), "GD"), (Recipe(SGD()), "SGD"), (Recipe(sampling="with-replacement"), "sampling")],
)
def test_ways_that_need_all_rows_are_refused(path, tmp_path, recipe, what):
    with pytest.raises(ArgumentError, match=f"^{what}.* takes any rows at any time, but this table is read block by"):
        fit("fnn", load(path, target="y", stream=True), recipe, folder=tmp_path / "run", runtime=ONE)


def shrunk(monkeypatch):
    monkeypatch.setattr(large, "free_memory", lambda: 1000)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_a_table_beyond_memory_is_predicted_block_by_block(path, tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("lamina.training.tasks.arrays.BLOCK", 100)
    run = fit("fnn", load(path, target="y", stream=True), epochs=1, options=OPTIONS, folder=tmp_path / "run",
              runtime=ONE)  # fmt: skip
    whole, parts = tmp_path / f"whole.{suffix}", tmp_path / f"parts.{suffix}"
    assert run.predict_file(path, whole, coverage=0.9) == 1500
    shrunk(monkeypatch)
    held = []
    predict = run.task.predict
    monkeypatch.setattr(run.task, "predict", lambda run, what: (held.append(len(what)), predict(run, what))[1])
    assert run.predict_file(path, parts, coverage=0.9) == 1500
    assert held == [100] * 15
    if suffix == "parquet":
        assert pl.read_parquet(parts).equals(pl.read_parquet(whole))
    else:
        assert parts.read_bytes() == whole.read_bytes()
    assert not list(tmp_path.glob(".*unfinished"))


def test_what_fails_while_predicting_leaves_no_file(path, tmp_path, monkeypatch):
    run = fit("fnn", load(path, target="y", stream=True), epochs=1, options=OPTIONS, folder=tmp_path / "run",
              runtime=ONE)  # fmt: skip
    shrunk(monkeypatch)
    pl.read_parquet(path).drop("a").write_parquet(tmp_path / "other.parquet")
    for name in ("out.csv", "out.parquet"):
        with pytest.raises(DataError, match="lacks the column 'a' of the training data"):
            run.predict_file(tmp_path / "other.parquet", tmp_path / name)
        assert not (tmp_path / name).exists() and not list(tmp_path.glob(".*unfinished"))


def test_a_table_beyond_memory_is_judged_on_rows_from_all_over_it(path, tmp_path, monkeypatch):
    run = fit("fnn", load(path, target="y", stream=True), epochs=1, options=OPTIONS, folder=tmp_path / "run",
              runtime=ONE)  # fmt: skip
    other = tmp_path / "other.parquet"
    pl.read_parquet(path).write_parquet(other)
    exact = run.evaluate(pl.read_parquet(path).gather_every(4)).metrics
    shrunk(monkeypatch)
    monkeypatch.setattr(large, "HELD", 375)
    with pytest.warns(DataWarning, match="has 1,500 rows: every 4th of them is judged, 375 in all"):
        found = run.evaluate(other)
    assert found.examples == 375 and found.metrics == exact


BOUNDED = """
import threading, time
from pathlib import Path

import lamina
from lamina.training.runtime import Runtime

def anonymous():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) * 1024

def watch():
    while True:
        peaks.append(anonymous())
        time.sleep(0.02)

start, peaks = anonymous(), [0]
threading.Thread(target=watch, daemon=True).start()
run = lamina.fit("fnn", lamina.load("rows", target="y", stream=True), epochs=1, folder="run", progress=False,
                 options={"hidden": 16, "batch_size": 8192}, runtime=Runtime(threads=1))
print(max(peaks) - start, sum(run.split.train.counts).item(), run.rows[-1]["validation_accuracy"])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
def test_twenty_million_rows_train_in_bounded_memory(tmp_path):
    """As float64 the rows would take 3.2 GB, as float32 1.6 GB."""
    (tmp_path / "rows").mkdir()
    for number in range(10):
        x = np.random.default_rng(number).standard_normal((2_000_000, 20), dtype=np.float32)
        frame = pl.DataFrame({f"x{j}": x[:, j] for j in range(20)})
        frame = frame.with_columns(y=pl.Series((x[:, :3].sum(1) > 0).astype(np.int64)))
        frame.write_parquet(tmp_path / "rows" / f"{number}.parquet")
        del x, frame
    done = subprocess.run([sys.executable, "-c", BOUNDED], cwd=tmp_path, capture_output=True, text=True, check=False)
    shutil.rmtree(tmp_path / "rows")
    assert done.returncode == 0, done.stderr
    grown, rows, accuracy = done.stdout.split()[-3:]
    assert int(rows) > 19_500_000 and float(accuracy) > 0.95
    assert int(grown) < 1.2e9
