"""Reading a run folder: what is found, and every sentence about what is damaged."""

from datetime import UTC, datetime

import pytest

from lamina._errors import RunError
from lamina.report._record import read
from report.samples import CONFIG, EVALUATION, PREPROCESS, ROWS, STATUS


def test_everything_is_read(make):
    record = read(make("fnn-iris"))
    assert record.name == "runs/fnn-iris" and record.data == "iris" and record.classifies
    assert record.rows == tuple(ROWS) and record.best == 1 and record.clock == ("epoch", [1.0, 2.0, 3.0])
    assert record.seconds == 3.25 and record.ended == datetime(2023, 11, 14, 22, 13, 22, tzinfo=UTC)
    assert record.evaluation["metrics"]["accuracy"] == 0.85


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


def test_fixtures_are_not_changed_by_reading(make):
    read(make())
    assert CONFIG["architecture"]["network"] == "FNN" and STATUS["best_row"] == 1 and EVALUATION["openings"] == 1
