"""What travels to a worker, and what comes back when it cannot be done."""

import pickle

import pytest

from lamina._errors import RunError
from lamina.data.load import load
from lamina.studies.engines import job as jobs
from lamina.studies.engines.chunk import Chunk
from lamina.studies.engines.job import Job, gpu
from lamina.studies.records import Moment
from lamina.studies.search import plan
from lamina.training.runtime import Runtime


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    monkeypatch.setattr(jobs, "_TRAINERS", {})


def made(folder, data):
    return plan("fnn", data, {"learning_rate": [1e-2, 3e-2]}, options={"epochs": 3}, folder=folder)


def test_a_chunk_is_tried_from_plain_values(tmp_path):
    _, study = made(tmp_path / "s", load("moons", count=60))
    job = pickle.loads(pickle.dumps(Job.of(study, Runtime(threads=1))))
    seen = []
    tried = job.attempt(Chunk(7, tuple(study.trials)), seen.append)
    assert tried.chunk.number == 7 and tried.width == 2 and [o.epochs for o in tried.outcomes] == [3, 3]
    assert tried.updates == 2 * 3 * 3 and seen[0] == Moment(2, 0, 3)  # 40 examples in batches of 16
    assert tried.kept[0] in (0, 1) and len(tried.kept[1].rows) == 3
    assert len(jobs._TRAINERS) == 1
    trainer = next(iter(jobs._TRAINERS.values()))
    beaten = job.attempt(Chunk(8, tuple(study.trials), beat=(False, -2.0, 0.0, 0)), seen.append)
    assert beaten.kept is None and next(iter(jobs._TRAINERS.values())) is trainer  # data are read once
    assert beaten.outcomes[0].curve == tried.outcomes[0].curve


def test_an_error_comes_back_as_its_sentence(tmp_path):
    _, study = made(tmp_path / "s", load("moons", count=60))
    job = Job.of(study, Runtime(threads=1))
    then = {**job.problem["data"]["fingerprint"], "contents": "others"}
    changed = {**job.problem, "data": {**job.problem["data"], "fingerprint": then}}
    said = Job(changed, job.score, None, job.runtime).attempt(Chunk(1, tuple(study.trials)), print)
    told = (
        "the data in moons have changed since the run began (the contents differ): restore the old ones, or train again"
    )
    assert said == told
    assert job.attempt(Chunk(1, ()), print) == "IndexError: list index out of range"


def test_a_file_is_found_from_another_folder_and_data_in_memory_are_refused(tmp_path, monkeypatch, split):
    rows = "\n".join(f"{i},{i % 3},{'ab'[i % 2]}" for i in range(40))
    (tmp_path / "rows.csv").write_text(f"u,v,kind\n{rows}\n")
    monkeypatch.chdir(tmp_path)
    _, study = made("s", load("rows.csv", target="kind"))
    assert Job.of(study, Runtime()).problem["data"]["source"] == str(tmp_path / "rows.csv")
    assert study.description["problem"]["data"]["source"] == "rows.csv"
    _, study = made("t", split)
    with pytest.raises(RunError, match="given in memory, which other processes cannot see: load them from a file, or"):
        Job.of(study, Runtime())


def test_moments_are_told_seldom(monkeypatch):
    seen, clock = [], [100.0]
    monkeypatch.setattr(jobs.time, "monotonic", lambda: clock[0])
    tell = jobs._Seldom(seen.append)
    for epoch in range(10):
        tell(Moment(1, epoch))
        clock[0] += 0.07
    assert [moment.epoch for moment in seen] == [0, 3, 6, 9]


def test_gpus_go_round():
    assert [gpu(None, 3, index) for index in range(5)] == ["0", "1", "2", "0", "1"]
    assert [gpu("4, 6", 2, index) for index in range(3)] == ["4", "6", "4"]
    assert gpu("4", 1, 0) is None and gpu(None, 0, 3) is None
