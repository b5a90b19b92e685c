"""Trials of one shape are trained as one, and each is what a run of its own would be."""

import json

import pytest

import lamina
from lamina._errors import DataWarning, RunError
from lamina.populations.population import train_together
from lamina.studies.finish import evaluate
from lamina.studies.folder import Part
from lamina.studies.halving import Halving
from lamina.studies.search import open_problem, plan, search, work
from lamina.studies.study import Study
from lamina.training.loop import drain
from lamina.training.runtime import Runtime
from studies.small import events


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


def test_batches_are_limited(tmp_path, split):
    problem, study = plan(
        "fnn", split, {"learning_rate": [1e-3, 2e-3, 3e-3, 4e-3, 5e-3]}, options={"epochs": 1}, folder=tmp_path / "s"
    )
    seen = []
    work(study, problem, batch=2, watch=lambda study, moment: seen.append(moment))
    assert [moment.trials for moment in seen if moment and moment.epoch == 0] == [2, 2, 1]
    assert [event["size"] for event in events(study, "stack")] == [2]


def test_what_runs_one_by_one_is_said(tmp_path, split):
    options = {"optimizer": "gd", "line_search": True, "epochs": 2}
    problem, study = plan("fnn", split, {"penalty": [0.0, 1e-3]}, options=options, folder=tmp_path / "s")
    with pytest.warns(DataWarning, match="the members run one by one"):
        work(study, problem)
    assert study.complete


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
