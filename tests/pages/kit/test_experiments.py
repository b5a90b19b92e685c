"""Experiments in a process of their own, and how their results are shown."""

from types import SimpleNamespace

import pytest

from lamina.experiments.result import Claim, Result
from lamina.pages.kit._experiments import experiment, experiment_button, measured, outcome, waiting


def test_experiment_passes_options_on():
    (row,) = experiment("N1.66", 2, sizes=(12,))
    assert row["result"].rows == ((12, 8, 2, 2, True),) and row["run"] == 2


def test_outcome_shows_the_table_and_what_holds():
    result = Result("powers", ("n", "2^n"), ((1, 2), (10, 1024)), Claim("it grows", True), Claim("it falls", False))
    text = outcome(result).text
    assert "1,024" in text and "it grows" in text and "does not hold" in text


@pytest.mark.parametrize(("state", "words"), [("idle", "press it"), ("running", "running"), ("failed", "no memory")])
def test_waiting_says_what_a_job_is_doing(state, words):
    shown = waiting(SimpleNamespace(state=state, words=words), "press it").text
    assert words in shown and ("bad" in shown) == (state == "failed")


def test_a_button_shows_what_its_experiment_has_found():
    button = experiment_button("Count")
    assert "press it" in measured(button, "N1.66", "press it", sizes=(12,)).text
    button._update(1)  # pressed once
    shown = measured(button, "N1.66", "press it", sizes=(12,)).text
    assert button.value == 1 and "press it" not in shown and ">8<" in shown  # 12 examples train with 8
