"""Studies: every configuration once, whoever is killed when; the best one refitted and tested once."""

import json
import math
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace

import pytest
import torch

import lamina
from lamina._errors import ArgumentError, DataWarning, RunError
from lamina.data.load import load
from lamina.data.synthetic import moons
from lamina.populations.population import train_population, train_together
from lamina.studies._claims import Worker, this_machine, working
from lamina.studies._workers import run_workers
from lamina.studies.finish import _refit, evaluate
from lamina.studies.folder import Part, _StudyFolder
from lamina.studies.halving import Halving
from lamina.studies.problem import Problem
from lamina.studies.records import Outcome
from lamina.studies.samplers import Grid, OneAtATime, Random
from lamina.studies.search import go_on, open_problem, plan, resume_search, search, work
from lamina.studies.space import Space
from lamina.studies.study import Study
from lamina.studies.tpe import TPE
from lamina.training.loop import Event, drain
from lamina.training.run import Run
from lamina.training.runtime import Runtime

SPACE = {"x": [-2, -1, 0, 1, 2], "y": [0, 1, 2, 3]}


def bowl(values):
    return (values["x"] - 1) ** 2 + (values["y"] - 2) ** 2


def events(study, kind):
    lines = [json.loads(line) for path in study.home.journals() for line in path.read_text().splitlines()]
    return [line for line in lines if line["event"] == kind]


def recorded(study):
    """How often each configuration was recorded, in the files themselves."""
    return Counter(line["trial"] for line in events(study, "result"))


def test_a_study_tries_everything_and_finds_the_best(tmp_path):
    study = Study.create(tmp_path / "bowl", SPACE)
    assert study.total == 20 and not study.complete and len(study.trials) == 20
    study.run(bowl)
    assert study.complete and study.best.values == {"x": 1, "y": 2} and study.best.outcome.value == 0
    assert recorded(study) == Counter(range(20))
    assert [r.outcome.value for r in study.leaders(3)] == [0, 1, 1] and [r.number for r in study.leaders(3)][1:] == [
        10,
        13,
    ]
    again = Study.open(study.folder)
    assert again.results == study.results and again.run(lambda values: 1 / 0).complete  # nothing is tried again


def test_larger_may_be_better_and_ties_go_to_the_smaller_loss(tmp_path):
    study = Study.create(tmp_path / "s", {"x": [1, 2, 3, 4]}, direction="maximize", metric="score")
    ties = {1: 0.2, 2: 0.9, 3: 0.1, 4: None}
    study.run(lambda v: Outcome(0.5 if v["x"] < 4 else math.nan, tie=ties[v["x"]]))
    assert [r.values["x"] for r in study.leaders()] == [3, 1, 2, 4]
    with pytest.raises(ArgumentError, match="`direction` must be one of 'minimize', 'maximize', got 'up'"):
        Study.create(tmp_path / "t", {"x": [1]}, direction="up")


def test_what_is_not_finite_has_diverged(tmp_path):
    study = Study.create(tmp_path / "s", {"x": [0, 1]}).run(lambda v: math.inf)
    assert [r.outcome.state for r in study.results] == ["diverged"] * 2 and study.complete
    with pytest.raises(RunError, match="every configuration of .*s diverged: try smaller learning rates"):
        study.best  # noqa: B018
    with pytest.raises(
        RunError, match=r"has no finished configuration yet: continue it with  lamina search --resume .*t$"
    ):
        Study.create(tmp_path / "t", {"x": [0, 1]}).best  # noqa: B018


def test_an_error_in_between_loses_nothing(tmp_path):
    study = Study.create(tmp_path / "s", SPACE)
    tried = []

    def fails(values):
        tried.append(values)
        if len(tried) == 8:
            raise KeyboardInterrupt
        return bowl(values)

    with pytest.raises(KeyboardInterrupt):
        study.run(fails)
    assert len(study.results) == 7 and not study.complete
    Study.open(study.folder).run(fails)  # in the same process, whose claims are known to be void
    assert recorded(study) == Counter(range(20)) and len(tried) == 21


def test_adaptive_samplers_resume_as_if_never_stopped(tmp_path):
    for name, sampler in (("one", OneAtATime(sweeps=3)), ("tpe", TPE(14, batch=4, startup=5))):
        straight = Study.create(tmp_path / name, SPACE, sampler).run(bowl)
        broken = Study.create(tmp_path / f"{name}-broken", SPACE, sampler)
        left = [3]

        def fails(values, left=left):
            left[0] -= 1
            if left[0] < 0:
                left[0] = 3
                raise KeyboardInterrupt
            return bowl(values)

        for _ in range(10):
            if not broken.complete:
                try:
                    Study.open(broken.folder).run(fails)
                except KeyboardInterrupt:
                    pass
            broken.refresh()
        assert [(r.number, r.values, r.outcome.value) for r in broken.results] == [
            (r.number, r.values, r.outcome.value) for r in straight.results
        ]
        assert straight.complete and broken.complete and recorded(broken) == recorded(straight)


def test_workers_at_the_same_time_share_and_do_not_repeat(tmp_path):
    folder = Study.create(tmp_path / "s", Space.read(["x=0..1.0"]), Random(200)).folder
    tried, errors = [], []

    def slow(values):
        tried.append(values["x"])
        time.sleep(0.001)
        return values["x"]

    def work_():
        try:
            Study.open(folder).run(slow)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work_) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(tried) == len(set(tried)) == 200
    assert recorded(Study.open(folder)) == Counter(range(200))
    assert len({event["worker"]["token"] for event in events(Study.open(folder), "claim")}) == 4


def claim(study, numbers, worker):
    journal = study._journal(study.home.journal())
    with journal.locked():
        journal.append({"event": "claim", "trials": numbers, "worker": worker.as_dict(), "at": 0})


def test_claims_of_the_dead_are_taken_over_and_those_of_the_living_waited_for(tmp_path):
    study = Study.create(tmp_path / "s", {"x": [0, 1, 2]})
    claim(study, [0, 1], Worker(2**22 + 1, "7", *this_machine(), "dead"))
    with working() as living:
        claim(study, [2], living)
        rounds = [0]

        def go_on_():
            rounds[0] += 1
            return rounds[0] < 4

        study.run(lambda v: v["x"], go_on=go_on_)
        assert sorted(study.state.results) == [0, 1]
    study.run(lambda v: v["x"])
    assert sorted(study.state.results) == [0, 1, 2]


def test_claims_of_another_machine_are_waited_for_or_taken_over_by_word(tmp_path):
    study = Study.create(tmp_path / "s", {"x": [0, 1, 2]})
    claim(study, [1, 2], Worker(1, "1", "elsewhere", "then", "far"))
    with pytest.raises(RunError, match=r"2 configurations are claimed by a worker on another machine: .* --release"):
        study.run(lambda v: v["x"])
    assert sorted(study.state.results) == [0]  # what was free is done
    assert study.run(lambda v: v["x"], release=True).complete


def test_a_result_that_somebody_else_has_written_stands(tmp_path):
    study = Study.create(tmp_path / "s", {"x": [0, 1]})

    def overtaken(values):
        other = Study.open(study.folder)
        journal = other._journal(other.home.journal())
        with journal.locked():
            if values["x"] not in other.state.results:
                journal.append({"event": "result", "trial": values["x"], "values": values, "value": 7.0})
        return 1.0

    study.run(overtaken)
    assert recorded(study) == Counter([0, 1]) and [r.outcome.value for r in study.results] == [7.0, 7.0]


# Parts


def test_parts_are_disjoint_complete_and_merged_by_reading(tmp_path):
    straight = Study.create(tmp_path / "whole", SPACE).run(bowl)
    for i in (1, 2, 3):
        study = Study.create(tmp_path / "parts", SPACE, join=True)
        study.run(bowl, part=Part(i, 3))
        assert study.complete == (i == 3)
    assert sorted(path.name for path in study.home.journals()) == [f"journal-{i}-of-3.jsonl" for i in (1, 2, 3)]
    merged = Study.open(tmp_path / "parts")
    assert recorded(merged) == Counter(range(20)) and merged.complete
    assert [(r.number, r.outcome.value) for r in merged.results] == [
        (r.number, r.outcome.value) for r in straight.results
    ]
    # A journal that was copied under another name tells nothing new.
    (tmp_path / "parts/journal-copy.jsonl").write_bytes((tmp_path / "parts/journal-1-of-3.jsonl").read_bytes())
    assert Study.open(tmp_path / "parts").results == merged.results


def test_parts_are_named_and_need_known_trials(tmp_path):
    with pytest.raises(ArgumentError, match="`part` must be i/n, such as 2/4, got '2'"):
        Part.read("2")
    with pytest.raises(ArgumentError, match="`part` must be from 1/4 to 4/4, got 5/4"):
        Part.read("5/4")
    with pytest.raises(ArgumentError, match="`part` must be i/n"):
        Part.read("0/0")
    study = Study.create(tmp_path / "s", SPACE, OneAtATime())
    with pytest.raises(
        ArgumentError, match="`part` needs a search whose trials are known in advance, but 'one-at-a-time'"
    ):
        study.run(bowl, part=Part(1, 2))


def test_parts_of_different_studies_do_not_mix(tmp_path):
    Study.create(tmp_path / "s", SPACE, join=True)
    with pytest.raises(
        RunError, match="holds another study: all parts of a study must be started with the same command"
    ):
        Study.create(tmp_path / "s", {"x": [1]}, join=True)
    (tmp_path / "empty").mkdir()  # another part has made the folder and is about to write
    assert Study.create(tmp_path / "empty", SPACE, join=True).total == 20


# Folders


def test_another_study_of_the_same_name_gets_the_next_number(tmp_path):
    assert [Study.create(tmp_path / "s", SPACE).folder.name for _ in range(3)] == ["s", "s-2", "s-3"]


def test_folders_that_are_no_studies_are_named(tmp_path):
    with pytest.raises(RunError, match="is not a folder: give the folder of a study, such as studies/fnn-digits"):
        Study.open(tmp_path / "none")
    with pytest.raises(RunError, match="is not the folder of a study: it has no study.toml"):
        Study.open(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot make the study folder .*Choose another with --folder"):
        Study.create(tmp_path / "file/s", SPACE)
    home = Study.create(tmp_path / "s", SPACE).home.path / "study.toml"
    home.write_text("version = 99")
    with pytest.raises(
        RunError, match=r"written by a newer Lamina \(version 99, the latest known is 1\): update Lamina"
    ):
        Study.open(tmp_path / "s")
    home.write_text("version = ")
    with pytest.raises(RunError, match="study.toml cannot be read"):
        Study.open(tmp_path / "s")


def test_nothing_is_written_for_a_space_that_cannot_be_tried(tmp_path):
    with pytest.raises(ArgumentError, match="a grid cannot enumerate the range"):
        Study.create(tmp_path / "s", {"x": "0..1.0"})
    assert not (tmp_path / "s").exists()


# Killed workers

WORKER = """
import sys, time
from lamina.studies.study import Study
def error(values):
    time.sleep(float(sys.argv[2]))
    return (values["a"] - 0.3) ** 2 + values["b"]
Study.open(sys.argv[1]).run(error)
"""


def killed(folder, trials, kills, wait, workers=3, seed=0):
    """Search with workers that are killed at random moments and replaced; return the study and the number of kills."""
    space = {"a": "0..1.0", "b": "0..1.0"}
    study = Study.create(folder, space, Random(trials))
    chance, done = random.Random(seed), 0

    def start():
        return subprocess.Popen([sys.executable, "-c", WORKER, str(study.folder), str(wait)])

    at_work = [start() for _ in range(workers)]
    begun = time.monotonic()
    while done < kills and not study.refresh().complete and time.monotonic() - begun < 240:
        time.sleep(chance.uniform(0.05, 0.6))
        if study.refresh().state.results:  # let the first ones begin
            victim = chance.randrange(workers)
            at_work[victim].send_signal(signal.SIGKILL)
            at_work[victim].wait()
            done += 1
            at_work[victim] = start()
    for worker in at_work:
        assert worker.wait(timeout=240) == 0
    return study.refresh(), done


def check_killed(study, trials):
    assert recorded(study) == Counter(range(trials))  # each exactly once, nothing lost
    straight = Random(trials).propose(study.space, ())
    errors = [(v["a"] - 0.3) ** 2 + v["b"] for v in straight]
    assert [r.values for r in study.results] == straight
    assert study.best.number == errors.index(min(errors)) and study.best.outcome.value == min(errors)


def test_killed_workers_lose_nothing_and_repeat_nothing(tmp_path):
    study, kills = killed(tmp_path / "s", 60, 2, 0.02, workers=2)
    check_killed(study, 60)
    assert kills >= 1


@pytest.mark.slow
def test_a_thousand_configurations_survive_twenty_kills(tmp_path):
    study, kills = killed(tmp_path / "s", 1000, 20, 0.06)
    check_killed(study, 1000)
    assert kills == 20


# Networks


@pytest.fixture(scope="module")
def split():
    return moons(240, seed=0).split(seed=0)


RATES = {"learning_rate": [1e-4, 3e-2], "hidden": [8, (8, 8)], "dropout": [0.0, 0.25]}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A small search that has ended."""
    place = tmp_path_factory.mktemp("studies") / "moons"
    return search("fnn", load("moons", count=240), RATES, epochs=4, folder=place, runtime=Runtime(threads=1))


@pytest.mark.notes("N1.66", "N1.67", "N1.71")
def test_a_search_trains_all_chooses_by_validation_and_tests_once(found):
    assert recorded(found) == Counter(range(8)) and found.complete and found.metric == "validation_accuracy"
    values = [r.outcome.value for r in found.results]
    assert found.best.outcome.value == max(values) and found.best.values["learning_rate"] == 3e-2
    assert all(r.outcome.epochs == 4 and len(r.outcome.curve) == 4 for r in found.results)
    assert found.description["problem"]["examples"] == [160, 40, 40]  # 4:1:1
    assert found.test["examples"] == 40 and found.test["openings"] == 1 and found.test["trial"] == found.best.number
    assert len(events(found, "claim")) == 2  # two shapes, each trained as one
    shapes = [{str(found.trials[n].values["hidden"]) for n in event["trials"]} for event in events(found, "claim")]
    assert sorted(map(sorted, shapes)) == [["(8, 8)"], ["8"]]


@pytest.mark.notes("N1.71")
def test_every_trial_equals_a_run_of_its_own(found, tmp_path):
    problem = open_problem(found)
    for result in found.results:
        (member,) = problem.members(result.values)
        run = lamina.fit(
            member.build(), problem.split, member.recipe, folder=tmp_path / "r", runtime=Runtime(threads=1)
        )
        assert result.outcome.curve == pytest.approx([row["validation_accuracy"] for row in run.rows], abs=1e-6)
        assert result.outcome.tie == pytest.approx(min(row["validation_loss"] for row in run.rows), rel=1e-4)


def test_the_best_is_an_ordinary_run_whose_validation_was_compared(found):
    run = Run.load(found.folder / "best")
    best = min(row["validation_loss"] for row in run.rows)
    assert best == pytest.approx(found.best.outcome.tie, rel=1e-4)
    assert run.evaluate().openings == 1 and run.evaluate().metrics == found.test["metrics"]
    assert (found.folder / "study.toml").is_file()


@pytest.mark.notes("N1.67")
def test_the_test_split_is_opened_once_and_again_only_by_word(found, tmp_path, split):
    study = search("fnn", split, {"learning_rate": [1e-2]}, epochs=1, folder=tmp_path / "s")
    problem = open_problem(study, split)
    openings = split.openings
    with pytest.raises(
        RunError, match="has already been opened for this study, for configuration 0: .* force it with --again"
    ):
        evaluate(study, problem)
    assert go_on(study, problem).test["openings"] == 1 and split.openings == openings  # resuming does not look
    assert evaluate(study, problem, again=True).openings == 2
    assert study.test["openings"] == 2 and split.openings == openings + 1
    assert len(events(study, "refit")) == 1  # not trained again


def forget(study):
    """Lose the kept weights, as a study of version 0.1 has none."""
    shutil.rmtree(study.folder / "kept")


def test_the_network_that_is_tested_is_bit_for_bit_the_one_that_was_compared(tmp_path, split):
    rates = {"learning_rate": [1e-3, 3e-2, 1e-2]}
    problem, study = plan("fnn", split, rates, options={"epochs": 3}, seeds=2, folder=tmp_path / "s")
    members = [member for values in study.space.grid() for member in problem.members(values)]
    stack = train_population(members, split)
    run = Run.load(go_on(study, problem).folder / "best")
    mine = stack[2 * study.best.number]
    assert list(run.rows) == list(mine.rows) and run.rows[mine.best_row]["validation_loss"] == min(
        row["validation_loss"] for row in mine.rows
    )
    assert all(torch.equal(tensor, mine.weights[name]) for name, tensor in run.model.state_dict().items())
    assert len(list((study.folder / "kept").iterdir())) == 1
    recorded = json.loads((run.folder / "environment.json").read_text())
    assert recorded["step_reason"] == "one of 6 networks trained as one"
    # A file whose bits were flipped is not believed.
    (kept,) = (study.folder / "kept").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    shutil.rmtree(run.folder)
    with pytest.warns(DataWarning, match="trained again"):
        again = _refit(Study.open(study.folder), problem)
    assert again.rows[-1]["loss"] == pytest.approx(mine.rows[-1]["loss"], rel=1e-4)


def test_a_refit_that_was_killed_goes_on(tmp_path, split):
    problem, study = plan("fnn", split, {"learning_rate": [1e-2]}, options={"epochs": 6}, folder=tmp_path / "s")
    work(study, problem)

    class Killed(Exception):
        pass

    def kill(event: Event) -> None:
        if event.row and event.epoch == 3:
            raise Killed

    forget(study)
    with pytest.raises(Killed), pytest.warns(DataWarning, match="configuration 0 were not kept: it is trained again"):
        _refit(study, problem, observers=(kill,))
    assert evaluate(Study.open(study.folder), problem).openings == 1
    assert [path.name for path in study.folder.iterdir() if path.is_dir()] == ["best"]
    assert Run.load(study.folder / "best").reason.name == "epochs"
    # Killed between the note and the folder, or before the folder had anything in it.
    second = plan("fnn", split, {"learning_rate": [1e-2]}, options={"epochs": 2}, folder=tmp_path / "t")[1]
    problem = open_problem(second, split)
    work(second, problem)
    second.note(event="refit", trial=0, folder="best")
    (second.folder / "best").mkdir()
    assert _refit(second, problem).reason.sentence == "all 2 epochs were done in the search"
    with pytest.raises(RunError, match="has no checkpoint to continue from, since its network was trained in a search"):
        lamina.resume(second.folder / "best", data=split, epochs=9)


def test_a_refit_is_interrupted_like_a_trial_and_fails_with_a_sentence(tmp_path, split, monkeypatch):
    problem, study = plan("fnn", split, {"learning_rate": [1e-2]}, options={"epochs": 6}, folder=tmp_path / "s")
    work(study, problem)

    def interrupt(event: Event) -> None:
        if event.row and event.epoch == 2:
            signal.raise_signal(signal.SIGINT)

    forget(study)
    with pytest.raises(KeyboardInterrupt), pytest.warns(DataWarning, match="trained again"):
        _refit(study, problem, observers=(interrupt,))
    status = study.folder / "best/status.json"
    status.write_text(status.read_text().replace("interrupted", "diverged", 1))
    with pytest.raises(RunError, match="the best configuration, trained again in .*best, failed: "):
        _refit(study, problem)


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


def test_processes_share_a_search(tmp_path, found):
    problem, study = plan("fnn", load("moons", count=240), RATES, options={"epochs": 4}, folder=tmp_path / "s")
    go_on(study, problem, processes=2, runtime=Runtime(threads=1))
    assert recorded(study) == Counter(range(8)) and study.best.number == found.best.number
    assert [r.outcome.value for r in study.results] == pytest.approx([r.outcome.value for r in found.results], abs=0.03)
    assert study.test is not None


def test_processes_that_all_die_leave_a_sentence(tmp_path, monkeypatch):
    _, study = plan("fnn", load("moons", count=60), RATES, options={"epochs": 1}, folder=tmp_path / "s")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(
        RunError, match=r"all 2 workers have ended, but not everything was tried \(they left no message\): continue it"
    ):
        run_workers(study, 2, runtime=Runtime())
    script = tmp_path / "worker"
    script.write_text("#!/bin/sh\necho one >&2\necho 'lamina: no room' >&2\nexit 2\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(RunError, match=r"not everything was tried \(no room\)"):
        run_workers(study, 1, runtime=Runtime())


def test_processes_need_data_that_can_be_loaded_again(tmp_path, split):
    problem, study = plan("fnn", split, {"learning_rate": [1e-2]}, folder=tmp_path / "s")
    with pytest.raises(RunError, match="given in memory, which other processes cannot see: use 1 process"):
        go_on(study, problem, processes=2)
    with pytest.raises(ArgumentError, match="`processes` must be at least 1, got 0"):
        go_on(study, problem, processes=0)
    with pytest.raises(ArgumentError, match="`part` is one process's share: start it without --processes"):
        go_on(study, problem, processes=2, part=Part(1, 2))
    with pytest.raises(RunError, match="were given in memory: give their split again as `data`"):
        resume_search(study.folder)


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


def test_halving_drops_the_worse_and_keeps_the_best(tmp_path, split):
    rates = {"learning_rate": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 3e-2]}
    full = search("fnn", split, rates, epochs=9, folder=tmp_path / "f", metric="loss")
    study = search("fnn", split, rates, epochs=9, folder=tmp_path / "h", metric="loss", halving=Halving(3))
    assert Counter(r.outcome.state for r in study.results) == {"finished": 1, "dropped": 5}
    assert sorted(r.outcome.epochs for r in study.results) == [1, 1, 1, 1, 3, 9]  # 6, then 2, then 1
    assert study.best.number == full.best.number and recorded(study) == Counter(range(6))
    for mine, all_ in zip(study.results, full.results, strict=True):  # what was trained is what a full run trains
        assert mine.outcome.curve == pytest.approx(all_.outcome.curve[: len(mine.outcome.curve)], rel=1e-4)
    with pytest.raises(ArgumentError, match="halving drops configurations of a stack .* but 'tpe' decides by results"):
        plan("fnn", split, rates, TPE(5), folder=tmp_path / "x", halving=Halving())


def test_seeds_are_averaged_and_dropped_together(tmp_path, split):
    rates = {"learning_rate": [1e-5, 1e-3, 1e-2]}
    study = search("fnn", split, rates, epochs=3, seeds=3, folder=tmp_path / "s", halving=Halving(3))
    for result in study.results:
        assert len(result.outcome.spread) == 3
        assert result.outcome.value == pytest.approx(sum(result.outcome.spread) / 3)
    assert sorted(r.outcome.epochs for r in study.results) == [1, 1, 3]
    singles = [
        search(
            "fnn", split, {"learning_rate": [1e-2]}, epochs=3, seeds=[s], folder=tmp_path / f"s{s}"
        ).best.outcome.value
        for s in (0, 1, 2)
    ]
    assert study.results[2].outcome.spread == pytest.approx(singles, abs=1e-6)


def test_a_configuration_that_diverges_is_recorded_and_loses(tmp_path, split):
    space = {"learning_rate": [1e15, 1e-2]}
    study = search("fnn", split, space, options={"optimizer": "minibatch"}, epochs=3, folder=tmp_path / "s")
    assert [r.outcome.state for r in study.results] == ["diverged", "finished"]
    assert study.best.number == 1 and study.results[0].outcome.value is None
    only = plan("fnn", split, {"learning_rate": [1e15]}, options={"optimizer": "minibatch"}, folder=tmp_path / "t")
    work(only[1], only[0])
    with pytest.raises(RunError, match="every configuration of .* diverged"):
        evaluate(only[1], only[0])


@pytest.mark.notes("N1.70", "N1.71")
def test_one_at_a_time_starts_from_the_recommended_recipe(tmp_path, split):
    space = {"learning_rate": [1e-4, 3e-3, 1e-2], "penalty": [0.0, 3e-3]}
    study = search("fnn", split, space, OneAtATime(), epochs=2, folder=tmp_path / "s")
    assert study.results[0].values == {"learning_rate": 3e-3, "penalty": 3e-3}
    assert len(study.results) == 4 == study.total and study.test is not None


def test_label_noise_is_refitted_with_the_labels_it_had(tmp_path, split):
    study = search("fnn", split, {"label_noise": [0.3]}, epochs=3, folder=tmp_path / "s", metric="loss")
    run = Run.load(study.folder / "best")
    assert min(row["validation_loss"] for row in run.rows) == pytest.approx(study.best.outcome.value, rel=1e-4)
    clean = search("fnn", split, {"label_noise": [0.0]}, epochs=3, folder=tmp_path / "c", metric="loss")
    assert clean.best.outcome.value < study.best.outcome.value


def test_a_problem_survives_its_file(tmp_path):
    problem, study = plan(
        "fnn",
        load("iris"),
        {"dropout": [0.0, 0.5]},
        options={"hidden": (8, 4), "initialization": None, "optimizer": "minibatch", "clip": 1.0},
        seeds=2,
        folder=tmp_path / "s",
    )
    again = open_problem(Study.open(study.folder))
    values = {"dropout": 0.5}
    assert again.members(values) == problem.members(values) and again.seeds == (0, 1)
    assert replace(again, split=problem.split) == problem
    assert _StudyFolder(study.folder).is_study


def test_a_grid_of_impossible_pairs_is_refused_before_anything_is_made(tmp_path, split):
    space = {"optimizer": ["minibatch"], "nesterov": [True], "momentum": [0.9, 0.0]}
    with pytest.raises(ArgumentError, match="`nesterov` needs a `momentum` greater than 0"):
        plan("fnn", split, space, Grid(), folder=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_batches_are_limited(tmp_path, split):
    problem, study = plan(
        "fnn", split, {"learning_rate": [1e-3, 2e-3, 3e-3, 4e-3, 5e-3]}, options={"epochs": 1}, folder=tmp_path / "s"
    )
    work(study, problem, batch=2)
    assert [len(event["trials"]) for event in events(study, "claim")] == [2, 2, 1]


def test_what_runs_one_by_one_is_said(tmp_path, split):
    options = {"optimizer": "gd", "line_search": True, "epochs": 2}
    problem, study = plan("fnn", split, {"penalty": [0.0, 1e-3]}, options=options, folder=tmp_path / "s")
    with pytest.warns(DataWarning, match="the members run one by one"):
        work(study, problem)
    assert study.complete


@pytest.mark.cuda
@pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS")  # torch, the first time in a thread of autograd
def test_a_search_on_a_gpu_finds_what_the_cpu_finds(tmp_path, split):
    found = [
        search("fnn", split, RATES, epochs=4, metric="loss", folder=tmp_path / device, runtime=Runtime(device=device))
        for device in ("cpu", "cuda")
    ]
    values = [[result.outcome.value for result in study.results] for study in found]
    assert values[1] == pytest.approx(values[0], rel=1e-3) and found[0].best.number == found[1].best.number


def test_names_resolve_from_words():
    assert Problem.make("fnn", "iris").notes[0].startswith("iris: ")


def test_stacks_of_one_shape_have_one_width_which_the_journal_of_a_part_records(tmp_path, split):
    rates = {"learning_rate": [1e-3, 3e-3, 1e-2, 3e-2, 1e-1]}
    problem, study = plan("fnn", split, rates, options={"epochs": 2}, folder=tmp_path / "s")
    work(study, problem, part=Part(1, 2), batch=2)  # the configurations 0 and 2, then 4 with a copy of itself
    lines = [json.loads(line) for line in (tmp_path / "s/journal-1-of-2.jsonl").read_text().splitlines()]
    (width,) = [line for line in lines if line["event"] == "stack"]
    assert width["size"] == 2 and not (tmp_path / "s/journal.jsonl").exists()
    whole, members = Study.open(study.folder), [problem.members(trial.values)[0] for trial in study.trials]
    alone = drain(train_together([members[4], members[1]], split, chunk=2, padded=True))[0]
    assert list(whole.state.results[4].outcome.curve) == [row["validation_accuracy"] for row in alone.rows]
