"""Long runs measure whether compiling pays."""

import pytest
import torch

from lamina.training.executors import _tuning as tuning
from lamina.training.executors._tuning import timed, tuned
from lamina.training.learner import Learner
from lamina.training.objective import Objective
from lamina.training.recipe import Adam, Recipe
from lamina.training.tasks.feed import Feed


class Clock(Learner):
    """A step that takes a given time and does nothing."""

    batches = 50

    def __init__(self, kind, seconds, now):
        self.seconds, self.now = seconds, now
        self.step, self.restored = 0, 0

    def begin(self, epoch):
        assert epoch == 0

    def __call__(self):
        self.now[0] += self.seconds
        self.step += 1

    def state(self):
        return {"x": torch.zeros(1)}

    def restore(self, tensors, step):
        self.step, self.restored = step, self.restored + 1


def test_steps_are_timed_in_turns_and_left_as_they_were():
    now = [0.0]
    steps = [Clock("eager", 0.25, now), Clock("compiled", 0.125, now)]
    assert timed(steps, seconds=1.0, rounds=2, clock=lambda: now[0]) == [0.25, 0.125]
    assert [(s.step, s.restored) for s in steps] == [(0, 2), (0, 2)]


@pytest.mark.parametrize(
    "eager,compiled,epochs,kind,reason",
    [
        (0.01, 0.005, 1000, "eager", "about 50 s of updates do not repay compiling"),
        (0.01, 0.005, 2000, "compiled", "measured: 5 ms per update compiled, 10 ms eager"),
        (0.01, 0.02, 2000, "eager", "measured: 20 ms per update compiled, 10 ms eager"),
    ],
)
def test_a_long_run_takes_the_faster_kind(monkeypatch, source, net, eager, compiled, epochs, kind, reason):
    monkeypatch.setattr(tuning, "timed", lambda steps: [eager, compiled][: len(steps)])

    def make(*parts):
        step = Learner(*parts)
        step.executor.kind = "compiled"
        return step

    monkeypatch.setattr(tuning, "compiled", make)
    recipe = Recipe(Adam(), epochs=epochs, batch_size=16)  # 5 batches
    step = tuned(net(), Feed(source, recipe), None, Objective("nll"), recipe, 5 * epochs)
    assert (step.kind, step.reason) == (kind, reason)
