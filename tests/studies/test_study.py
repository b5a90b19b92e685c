"""Studies: every configuration once, whoever is killed when."""

import subprocess
import sys
import time
from collections import Counter

import pytest

from lamina._errors import RunError
from lamina.studies.folder import Part
from lamina.studies.samplers import OneAtATime, Random
from lamina.studies.study import Study
from lamina.studies.tpe import TPE
from studies.small import SPACE, bowl, recorded


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
    Study.open(study.folder).run(fails)
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


def test_a_study_has_one_writer(tmp_path):
    study = Study.create(tmp_path / "s", {"x": [0, 1]})

    def overtaken(values):
        with pytest.raises(RunError, match="another process is writing to .*journal.jsonl, and a study has one writer"):
            Study.open(study.folder).run(bowl)
        return values["x"]

    assert study.run(overtaken).complete and recorded(study) == Counter([0, 1])


def test_a_part_and_the_whole_are_not_written_at_once_but_parts_are(tmp_path):
    study = Study.create(tmp_path / "s", SPACE)
    with study.writing(Part(1, 2)):
        other = Study.open(study.folder)
        other.run(bowl, part=Part(2, 2))
        with pytest.raises(RunError, match="another process is writing to .*journal-1-of-2.jsonl"):
            other.run(bowl)
    assert recorded(other.run(bowl)) == Counter(range(20))


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


# Killed searches

SEARCH = """
import sys, time
from lamina.studies.study import Study
def error(values):
    time.sleep(0.02)
    return (values["a"] - 0.3) ** 2 + values["b"]
Study.open(sys.argv[1]).run(error)
"""


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_killed_search_loses_nothing_and_repeats_nothing(tmp_path, kills):
    trials = 30 * kills
    study = Study.create(tmp_path / "s", {"a": "0..1.0", "b": "0..1.0"}, Random(trials))
    for turn in range(1, kills + 1):
        process = subprocess.Popen([sys.executable, "-c", SEARCH, str(study.folder)])
        while len(study.refresh().state.results) < 10 * turn:
            time.sleep(0.01)
        process.kill()
        process.wait()
    assert 10 * kills <= len(study.refresh().results) < trials
    Study.open(study.folder).run(lambda v: (v["a"] - 0.3) ** 2 + v["b"])
    assert recorded(study.refresh()) == Counter(range(trials))  # each exactly once, nothing lost
    straight = Random(trials).propose(study.space, ())
    errors = [(v["a"] - 0.3) ** 2 + v["b"] for v in straight]
    assert [r.values for r in study.results] == straight
    assert study.best.number == errors.index(min(errors)) and study.best.outcome.value == min(errors)


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
