"""Experiments in a process of their own, and how their results are shown."""

from types import SimpleNamespace

import pytest

from lamina.experiments.result import Claim, Result
from lamina.pages.kit._experiments import experiment, measured, outcome


def test_experiment_passes_options_on():
    (row,) = experiment("N1.66", 2, sizes=(12,))
    assert row["result"].rows == ((12, 8, 2, 2, True),) and row["run"] == 2


def test_outcome_shows_the_table_and_what_holds():
    result = Result("powers", ("n", "2^n"), ((1, 2), (10, 1024)), (Claim("it grows", True), Claim("it falls", False)))
    text = outcome(result).text
    assert "1024" in text and "it grows" in text and "does not hold" in text


@pytest.mark.parametrize(("state", "words"), [("idle", "press it"), ("running", "running"), ("failed", "no memory")])
def test_measured_says_what_it_is_doing(state, words):
    job = SimpleNamespace(rows=[], state=state, words=words)
    assert words in measured("a button", job, "press it").text
