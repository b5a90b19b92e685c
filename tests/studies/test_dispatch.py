"""Trials become chunks; what the study must remember of each is on record before anything else happens."""

import json

import pytest

from lamina._errors import RunWarning
from lamina.data.load import load
from lamina.studies._dispatch import Dispatcher
from lamina.studies._trainer import Trainer
from lamina.studies.engines.here import Here
from lamina.studies.halving import Halving
from lamina.studies.samplers import OneAtATime
from lamina.studies.search import plan
from lamina.studies.tpe import TPE
from lamina.training.runtime import Runtime
from studies.small import events

RATES = {"learning_rate": [1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0], "hidden": [4, 8]}


class Several(Here):
    """This process, which says that it is several workers; keeps the chunks that it was given."""

    def __init__(self, problem, study, workers, halving=None):
        super().__init__(Trainer(problem, (study.metric, study.direction), halving=halving, runtime=Runtime(threads=1)))
        self.workers = self.present = workers
        self.chunks = []

    def __call__(self, chunks, tell):
        for tried in super().__call__(chunks, tell):
            self.chunks.append(tried.chunk)
            yield tried


@pytest.fixture(scope="module")
def data():
    return load("moons", count=60)


def searched(folder, data, workers, *, halving=None, **more):
    problem, study = plan("fnn", data, RATES, options={"epochs": 3}, halving=halving, folder=folder)
    engine = Several(problem, study, workers, halving)
    study.run(Dispatcher(study, problem, engine, **more))
    return study, [[trial.number for trial in chunk.trials] for chunk in engine.chunks], engine


def test_each_worker_gets_its_share_of_one_shape(tmp_path, data):
    shapes = [[0, 2, 4, 6, 8, 10, 12], [1, 3, 5, 7, 9, 11, 13]]
    one, chunks, engine = searched(tmp_path / "1", data, 1)
    assert chunks == shapes and [chunk.width for chunk in engine.chunks] == [None, None]
    four, chunks, engine = searched(tmp_path / "4", data, 4)
    assert chunks == [shapes[0][:4], shapes[0][4:], shapes[1][:4], shapes[1][4:]]
    assert [chunk.width for chunk in engine.chunks] == [None, 4, None, 4]  # the first of a shape decides
    assert [event["size"] for event in events(four, "stack")] == [4, 4]
    _, chunks, _ = searched(tmp_path / "b", data, 2, batch=3)
    assert [len(chunk) for chunk in chunks] == [3, 3, 1, 3, 3, 1]
    values = [[(r.number, r.outcome.value) for r in study.results] for study in (one, four)]
    assert [n for n, _ in values[0]] == [n for n, _ in values[1]] == list(range(14))
    assert [v for _, v in values[0]] == pytest.approx([v for _, v in values[1]], abs=0.11)


def test_chunks_of_halving_do_not_depend_on_the_number_of_workers(tmp_path, data):
    found = [searched(tmp_path / str(n), data, n, halving=Halving(3)) for n in (1, 5)]
    assert found[0][1] == found[1][1] and len(found[0][1]) == 2
    assert [r.outcome.curve for r in found[0][0].results] == [r.outcome.curve for r in found[1][0].results]


@pytest.mark.parametrize("sampler", [OneAtATime(), TPE(6, batch=3, startup=3)], ids=lambda sampler: sampler.name)
def test_what_decides_by_results_proposes_the_same_on_any_number_of_workers(tmp_path, data, sampler):
    found, chunks = [], []
    for workers in (1, 3):
        problem, study = plan("fnn", data, {"learning_rate": [1e-3, 1e-2, 3e-2], "penalty": [0.0, 1e-3]}, sampler,
                              options={"epochs": 2}, folder=tmp_path / str(workers))  # fmt: skip
        engine = Several(problem, study, workers)
        found.append([r.values for r in study.run(Dispatcher(study, problem, engine, batch=2)).results])
        chunks.append([len(chunk.trials) for chunk in engine.chunks])
    assert found[0] == found[1] and study.complete
    assert max(chunks[0]) == 2 and max(chunks[1]) == 1  # a round is shared by all


def test_a_recorded_width_makes_whole_stacks(tmp_path, data):
    problem, study = plan("fnn", data, RATES, options={"epochs": 1}, folder=tmp_path / "s")
    first = Dispatcher(study, problem, Several(problem, study, 1))
    for shape in {first._shape(trial) for trial in study.trials}:
        study.note(event="stack", shape=shape, size=3)
    engine = Several(problem, study, 14)  # a share of one would be padded with two copies
    study.run(Dispatcher(study, problem, engine))
    assert [len(chunk.trials) for chunk in engine.chunks] == [3, 3, 1, 3, 3, 1]
    assert {chunk.width for chunk in engine.chunks} == {3} and len(events(study, "stack")) == 2


def test_what_another_width_was_computed_with_is_computed_again(tmp_path, data):
    problem, study = plan("fnn", data, {"learning_rate": [1e-3, 1e-2, 3e-2, 1e-1]}, options={"epochs": 2},
                          folder=tmp_path / "s")  # fmt: skip

    class Unlike(Several):
        """Two workers of unlike memory begin at the same time, when nobody knows a width yet."""

        def __call__(self, chunks, tell):
            chunks = list(chunks)
            if len(chunks) == 2:
                chunks[1] = type(chunks[1])(chunks[1].number, chunks[1].trials, 1)
            return super().__call__(iter(chunks), tell)

    engine = Unlike(problem, study, 2)
    study.run(Dispatcher(study, problem, engine))
    assert [(chunk.number, chunk.width) for chunk in engine.chunks] == [(1, None), (2, 1), (2, 2)]
    assert [event["size"] for event in events(study, "stack")] == [2] and len(events(study, "result")) == 4


def test_the_best_network_is_kept_and_an_older_one_goes_when_the_better_is_on_record(tmp_path, data):
    problem, study = plan("fnn", data, {"learning_rate": [1e-5, 3e-2, 1e-4]}, options={"epochs": 6},
                          folder=tmp_path / "s")  # fmt: skip
    stale = tmp_path / "s/kept/trial-000009-0123456789abcdef.safetensors"
    stale.parent.mkdir()
    stale.touch()  # of a search that was killed
    engine = Several(problem, study, 1)
    seen = []

    def look(study, moment):
        if moment is None:
            seen.append(sorted(path.name[:12] for path in (tmp_path / "s/kept").iterdir()))

    study.run(Dispatcher(study, problem, engine, batch=1), watch=look)
    assert study.best.number == 1
    assert seen == [["trial-000000"], ["trial-000000", "trial-000001"], ["trial-000001"]]
    assert engine.chunks[2].beat == study.best.rank("maximize")  # so that no worker sends anything worse


def test_lost_workers_are_counted_and_moments_added_up(tmp_path, data):
    problem, study = plan("fnn", data, {"learning_rate": [1e-3, 1e-2]}, options={"epochs": 2}, folder=tmp_path / "s")
    seen = []

    class Losing(Several):
        def __call__(self, chunks, tell):
            self.lost = 2
            yield from super().__call__(chunks, tell)
            tell(-1, None)

    with pytest.warns(RunWarning, match="2 workers were lost during the search; what they had begun was trained again"):
        engine = Losing(problem, study, 3)
        study.run(Dispatcher(study, problem, engine, batch=2, watch=lambda study, moment: seen.append(moment)))
    # Two trials for three workers: one each. 40 examples make 3 updates an epoch.
    assert [(m.trials, m.epoch, m.epochs, m.updates, m.workers) for m in seen] == [
        (1, 0, 2, 0, 3), (1, 1, 2, 3, 3), (1, 2, 2, 6, 3), (1, 0, 2, 6, 3), (1, 1, 2, 9, 3), (1, 2, 2, 12, 3),
        (0, 0, 0, 12, 3),
    ]  # fmt: skip
    assert seen[0].rate == 0 and seen[-1].rate > 0
    lines = [json.loads(line) for line in (tmp_path / "s/journal.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["stack", "result", "result"]
