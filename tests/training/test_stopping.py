"""Stopping rules on histories written by hand."""

import pytest

from lamina.training.recipe import Stopping
from lamina.training.stopping import StopReason, _epochs_done, _interrupted, rules


def asked(stopping, *rows):
    history = [{"step": 10 * (i + 1), **row} for i, row in enumerate(rows)]
    reasons = [rule(history) for rule in rules(stopping)]
    return next((reason for reason in reasons if reason), None)


CASES = [
    (Stopping(max_steps=20), [{}, {}], "the maximum of 20 steps was reached"),
    (Stopping(gradient_norm=0.1), [{"gradient_norm": 0.05}], "the norm of the gradient, 0.05, fell below 0.1"),
    (Stopping(relative_step=0.1), [{"relative_step": 0.01}], "the relative step ‖θ⁺ − θ‖/‖θ‖, 0.01, fell below 0.1"),
    (Stopping(loss_below=0.5), [{"loss": 0.4}], "the training loss, 0.4, fell below 0.5"),
    (
        Stopping(relative_decrease=0.01),
        [{"loss": 1.0}, {"loss": 0.995}],
        "the loss fell by only 0.005 of itself between two checks, less than 0.01",
    ),
    (
        Stopping(relative_decrease=0.01),
        [{"loss": 1.0}, {"loss": 1.0}],
        "the loss fell by only 0 of itself between two checks, less than 0.01",
    ),
    (
        Stopping(patience=2),
        [{"validation_loss": v} for v in (0.5, 0.3, 0.4, 0.31)],
        "the validation loss did not improve in 2 checks; the best was 0.3 at step 20",
    ),
]


@pytest.mark.notes("N1.37")
@pytest.mark.parametrize(("stopping", "rows", "sentence"), CASES)
def test_each_rule_ends_with_its_sentence(stopping, rows, sentence):
    assert str(asked(stopping, *rows)) == sentence


@pytest.mark.parametrize(
    ("stopping", "rows"),
    [
        (Stopping(), [{}]),
        (Stopping(max_steps=21), [{}, {}]),
        (Stopping(gradient_norm=0.1), [{"gradient_norm": 0.2}]),
        (Stopping(gradient_norm=0.1), [{"gradient_norm": 0.1}]),
        (Stopping(gradient_norm=0.1), [{"gradient_norm": None}]),
        (Stopping(loss_below=0.5), [{"loss": None}]),
        (Stopping(relative_decrease=0.25), [{"loss": 1.0}, {"loss": 0.75}]),
        (Stopping(relative_decrease=0.01), [{"loss": 1.0}]),
        (Stopping(relative_decrease=0.01), [{"loss": 1.0}, {"loss": 1.5}]),
        (Stopping(relative_decrease=0.01), [{"loss": None}, {"loss": 1.5}]),
        (Stopping(patience=2), [{"validation_loss": v} for v in (0.5, 0.6)]),
        (Stopping(patience=1), [{"validation_loss": None}]),
    ],
)
def test_rules_are_silent_while_there_is_no_reason(stopping, rows):
    assert asked(stopping, *rows) is None


def test_reasons_know_whether_a_run_failed():
    assert not _epochs_done(3).failed and str(_epochs_done(3)) == "all 3 epochs were done"
    assert _interrupted(7).failed and "after step 7" in str(_interrupted(7))
    assert StopReason("diverged", "x").failed
