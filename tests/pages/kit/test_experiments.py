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
    text = outcome(result, "from {2^n[0]} to {2^n[1]:,}.").text
    assert "1,024" in text and "✓ it grows" in text and "✗ it falls" in text
    assert "Measured just now: from 2 to 1,024." in text


@pytest.mark.parametrize(("state", "words"), [("idle", "press it"), ("running", "running"), ("failed", "no memory")])
def test_waiting_says_what_a_job_is_doing(state, words):
    shown = waiting(SimpleNamespace(state=state, words=words), "press it").text
    assert words in shown and ("bad" in shown) == (state == "failed")


def test_a_button_shows_what_was_recorded_and_then_what_its_experiment_has_found():
    button = experiment_button("Count")
    says = "XOR is wrong {errors at end[4]} times."
    shown = measured(button, "N1.80", says, "press it", seeds=1, epochs=2).text
    assert "press it" in shown and "XOR is wrong 3 times." in shown and "lamina experiment logical_functions" in shown
    button._update(1)  # pressed once
    shown = measured(button, "N1.80", says, "press it", seeds=1, epochs=2).text
    assert button.value == 1 and "press it" not in shown and "Measured just now: XOR is wrong" in shown
    assert "1 first weights, 2 epochs" in shown, "the options are passed on"
