"""A search trains all, chooses by validation, tests once, and goes on where it was."""

from collections import Counter

import pytest

from lamina._errors import ArgumentError, RunError
from lamina.data.load import load
from lamina.studies.folder import Part
from lamina.studies.samplers import OneAtATime
from lamina.studies.search import go_on, open_problem, plan, resume_search, search
from lamina.studies.study import Study
from lamina.training.runtime import Runtime
from studies.small import RATES, SPACE, bowl, events, recorded


@pytest.mark.notes("N1.66", "N1.67", "N1.71")
def test_a_search_trains_all_chooses_by_validation_and_tests_once(found):
    assert recorded(found) == Counter(range(8)) and found.complete and found.metric == "validation_accuracy"
    values = [r.outcome.value for r in found.results]
    assert found.best.outcome.value == max(values) and found.best.values["learning_rate"] == 3e-2
    assert all(r.outcome.epochs == 4 and len(r.outcome.curve) == 4 for r in found.results)
    assert found.description["problem"]["examples"] == [160, 40, 40]  # 4:1:1
    assert found.test["examples"] == 40 and found.test["openings"] == 1 and found.test["trial"] == found.best.number
    assert [event["size"] for event in events(found, "stack")] == [4, 4]  # two shapes, each trained as one


def test_resuming_a_search_in_the_middle(tmp_path, found):
    problem, study = plan("fnn", load("moons", count=240), RATES, options={"epochs": 4}, folder=tmp_path / "s")
    seen = []

    def stop(study_, moment):
        seen.append(moment)
        if len(study_.state.results) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go_on(study, problem, watch=stop, runtime=Runtime(threads=1))
    assert len(study.state.results) == 4 and study.test is None
    assert [m.epoch for m in seen if m is not None] == [0, 1, 2, 3, 4] and seen[0].trials == 4
    done = resume_search(study.folder, runtime=Runtime(threads=1))
    assert done.complete and recorded(done) == Counter(range(8))
    assert [r.outcome.value for r in done.results] == [r.outcome.value for r in found.results]
    assert done.best.number == found.best.number and done.test["metrics"] == found.test["metrics"]


def test_data_in_memory_must_be_given_again(tmp_path, split):
    _, study = plan("fnn", split, {"learning_rate": [1e-2]}, folder=tmp_path / "s")
    with pytest.raises(RunError, match="were given in memory: give their split again as `data`"):
        resume_search(study.folder)


def test_a_search_is_refused_while_another_process_searches(tmp_path, split):
    problem, study = plan("fnn", split, {"learning_rate": [1e-2]}, options={"epochs": 1}, folder=tmp_path / "s")
    with study.writing(), pytest.raises(RunError, match="another process is writing to"):
        go_on(Study.open(study.folder), problem)
    assert go_on(study, problem).test is not None


def test_a_study_of_a_function_is_not_a_search(tmp_path):
    study = Study.create(tmp_path / "s", SPACE).run(bowl)
    with pytest.raises(
        ArgumentError, match=r"is a study of a function in Python: open it with Study.open\(...\) and call run"
    ):
        open_problem(study)


def test_parts_of_a_search_leave_the_test_to_the_last(tmp_path, found):
    data = load("moons", count=240)
    for i in (2, 1):
        problem, study = plan("fnn", data, RATES, options={"epochs": 4}, folder=tmp_path / "s", join=True)
        go_on(study, problem, part=Part(i, 2), runtime=Runtime(threads=1))
        assert study.test is None
    done = resume_search(tmp_path / "s", runtime=Runtime(threads=1))
    assert done.complete and done.best.number == found.best.number and done.test["openings"] == 1


@pytest.mark.notes("N1.70", "N1.71")
def test_one_at_a_time_starts_from_the_recommended_recipe(tmp_path, split):
    space = {"learning_rate": [1e-4, 3e-3, 1e-2], "penalty": [0.0, 0.0016]}
    study = search("fnn", split, space, OneAtATime(), epochs=2, folder=tmp_path / "s")
    assert study.results[0].values == {"learning_rate": 3e-3, "penalty": 0.0016}
    assert len(study.results) == 4 == study.total and study.test is not None


@pytest.mark.cuda
@pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS")  # torch, the first time in a thread of autograd
def test_a_search_on_a_gpu_finds_what_the_cpu_finds(tmp_path, split):
    found = [
        search("fnn", split, RATES, epochs=4, metric="loss", folder=tmp_path / device, runtime=Runtime(device=device))
        for device in ("cpu", "cuda")
    ]
    values = [[result.outcome.value for result in study.results] for study in found]
    assert values[1] == pytest.approx(values[0], rel=1e-3) and found[0].best.number == found[1].best.number
