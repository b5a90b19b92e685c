"""Studies: every configuration once, whoever is killed when."""

import random
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from lamina.studies.folder import Part
from lamina.studies.samplers import OneAtATime, Random
from lamina.studies.space import Space
from lamina.studies.study import Study
from lamina.studies.tpe import TPE
from studies.small import SPACE, bowl, events, recorded


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
            at_work[victim].kill()
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


def test_what_an_interrupt_kept_from_being_taken_is_read_again(tmp_path, monkeypatch):
    study = Study.create(tmp_path / "s", {"x": [1, 2]})
    study.run(lambda values: values["x"])
    again = Study.open(tmp_path / "s")
    fresh = Study(again.home)

    def interrupted(event):
        raise KeyboardInterrupt

    monkeypatch.setattr(fresh.state, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fresh.refresh()
    monkeypatch.undo()
    assert len(fresh.refresh().state.results) == 2 == len(again.state.results)
