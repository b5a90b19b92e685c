"""The loop with a step that only counts: order of events, checks, stopping, interruption."""

import math
import signal

import pytest
import torch

from lamina.training.loop import Progress, _Diverged, _keep_best, _stop_on_signal, drain, observed
from lamina.training.stopping import StopReason


class Counting:
    """A step whose validation loss is given in advance."""

    def __init__(self, losses=(), batches=3, bad=None):
        self.batches, self.step, self.calls = batches, 0, []
        self.losses, self.bad, self.weight = list(losses), bad, torch.zeros(1)

    def begin(self, epoch, batch=0):
        self.calls.append(("begin", epoch, batch))

    def __call__(self):
        self.step += 1
        self.weight.fill_(self.step)

    def totals(self):
        return {"loss": 1.0 / self.step}

    def evaluate(self):
        return {"validation_loss": self.losses.pop(0)} if self.losses else {}

    def first_bad_step(self):
        return self.bad if self.bad is not None and self.step > self.bad else None

    def finite(self):
        return True

    def weights(self):
        return {"w": self.weight}


def loop(*arguments, **named):
    return drain(observed(*arguments, **named))


def test_epochs_batches_checks_in_order():
    step, seen = Counting(), []
    reason = loop(step, 2, observers=[seen.append])
    assert reason.name == "epochs" and step.step == 6 and [c[1:] for c in step.calls] == [(0, 0), (1, 0)]
    assert [(e.epoch, e.batch, e.step, e.row is not None) for e in seen] == [
        (0, 1, 1, False), (0, 2, 2, False), (0, 3, 3, False), (1, 0, 3, True),
        (1, 1, 4, False), (1, 2, 5, False), (1, 3, 6, False), (2, 0, 6, True),
    ]  # fmt: skip
    with pytest.raises(AttributeError):
        seen[0].step = 3


def test_checks_come_every_so_many_epochs_and_at_the_end():
    at = Progress()
    loop(Counting(), 5, at=at, check_every=2)
    assert [row["epoch"] for row in at.rows] == [2, 4, 5]


def test_max_steps_ends_in_the_middle_of_an_epoch_with_a_check():
    at, step = Progress(), Counting()
    reason = loop(
        step, 9, [lambda rows: StopReason("max_steps", "done") if rows[-1]["step"] >= 4 else None], at=at, max_steps=4
    )
    assert reason.name == "max_steps" and step.step == 4 and [r["step"] for r in at.rows] == [3, 4]
    alone = Counting()
    assert loop(alone, 9, max_steps=4).name == "epochs" and alone.step == 4  # no rule is needed to end
    loop(alone, 9, at=Progress(epoch=1, batch=1), max_steps=4)
    assert alone.step == 4
    assert (at.epoch, at.batch) == (1, 1)


def test_the_first_rule_with_a_reason_ends_the_run():
    at = Progress()
    rules = [
        lambda rows: None,
        lambda rows: StopReason("b", "b") if len(rows) == 2 else None,
        lambda rows: StopReason("c", "c"),
    ]
    assert loop(Counting(), 9, rules[:2], at=at).name == "b" and len(at.rows) == 2
    assert loop(Counting(), 9, rules).name == "c"


@pytest.mark.notes("N1.44")
def test_the_best_weights_are_kept():
    at = Progress()
    loop(Counting([0.5, 0.2, 0.4, math.nan]), 4, at=at)
    assert at.best_row == 1 and at.best["w"].item() == 6.0
    _keep_best(Counting(), at)
    assert at.best_row == 1
    first = Progress(rows=[{"loss": 1.0}])
    _keep_best(Counting(), first)
    first.rows.append({"loss": 2.0})
    _keep_best(Counting(), first)
    assert first.best_row == 0  # a worse second check does not take the place of the first


def test_a_loss_that_is_not_finite_is_raised_with_its_step():
    with pytest.raises(_Diverged, match="not been finite since step 4") as error:
        loop(Counting(bad=4), 9)
    assert error.value.step == 4


def test_a_run_goes_on_where_it_was():
    step = Counting()
    step.step = 4
    at = Progress(epoch=1, batch=1, rows=[{"epoch": 1, "step": 3, "loss": 1.0}], best_row=0)
    loop(step, 2, at=at)
    assert step.calls == [("begin", 1, 1)] and step.step == 6 and len(at.rows) == 2


def test_a_request_to_stop_is_obeyed_after_the_step():
    step = Counting()
    at = Progress()
    reason = loop(step, 9, at=at, stop=lambda: step.step >= 4)
    assert reason.name == "interrupted" and (at.epoch, at.batch, step.step) == (1, 1, 4)


def test_signals_ask_to_stop_and_handlers_come_back():
    before = signal.getsignal(signal.SIGINT)
    with _stop_on_signal() as stop:
        assert not stop()
        signal.raise_signal(signal.SIGTERM)
        assert stop()
        assert signal.getsignal(signal.SIGINT) == before  # a second Ctrl-C ends at once
    assert signal.getsignal(signal.SIGINT) == before
