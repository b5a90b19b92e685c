"""Results are ordered by their value, ties by the loss; what is not finite has diverged."""

import math

import pytest

from lamina._errors import ArgumentError, RunError
from lamina.studies.records import Outcome
from lamina.studies.study import Study


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
