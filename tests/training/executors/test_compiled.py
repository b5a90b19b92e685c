"""When an update is compiled, with how many threads it runs, and what a run records; compiling is in tests/compiled."""

import json
import shutil

import pytest
import torch
from torch import nn

import lamina
from lamina._errors import ArgumentError
from lamina.data.preprocess import Preprocess
from lamina.training.executors import _tuning as tuning
from lamina.training.executors import compiled as compiling
from lamina.training.executors._eager import Eager
from lamina.training.executors._tuning import timed, tuned
from lamina.training.executors.choose import learner
from lamina.training.executors.compiled import _why_not, compiled
from lamina.training.fit import fit
from lamina.training.learner import Learner
from lamina.training.look import look
from lamina.training.objective import Objective
from lamina.training.recipe import GD, Adam, Recipe, Stopping
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays
from lamina.training.tasks.feed import Feed


@pytest.fixture
def source(moons):
    return Preprocess.fit(moons.train, 2).source(moons.train)


def test_operations_are_counted_by_hand():
    fnn = lamina.build("fnn", inputs=(1, 28, 28), outputs=10, hidden=(128,))
    assert look(fnn, torch.zeros(1, 1, 28, 28)).operations == 6 * (784 * 128 + 128 * 10)
    lenet = lamina.build("lenet5")
    products = 784 * 150 + 100 * 2400 + 400 * 120 + 120 * 84 + 84 * 10
    assert look(lenet, torch.zeros(1, 1, 28, 28)).operations == 6 * products
    assert lenet.training and not any(m._forward_hooks for m in lenet.modules())
    # An LSTM uses its two matrices [4H, D] and [4H, H] at each of 5 times.
    assert look(nn.LSTM(3, 4, batch_first=True), torch.zeros(1, 5, 3)).operations == 6 * 5 * (16 * 3 + 16 * 4)


def test_a_network_in_training_mode_stays_so_when_it_refuses_an_example():
    net = nn.Linear(3, 2)
    with pytest.raises(RuntimeError):
        look(net, torch.zeros(1, 4))
    assert net.training and not net._forward_hooks


def test_one_thread_for_every_twenty_million_operations(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    threads = [Runtime().with_threads(work).threads for work in (0, 1e6, 20e6, 21e6, 78e6, 1e12)]
    assert threads == [1, 1, 1, 2, 4, 4]
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert Runtime().with_threads(1e12).threads == 1


def test_threads_are_chosen_unless_they_are_given(moons, net, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)

    def chosen(runtime, model=None, batch=16):
        task = Arrays(Preprocess.fit(moons.train, 2), moons)
        return task.threads(runtime, model or net(), Recipe(batch_size=batch)).threads

    assert chosen(Runtime()) == 1 and chosen(Runtime(threads=3)) == 3 and chosen(Runtime("cuda")) == 0
    wide = lamina.build("fnn", inputs=2, outputs=2, hidden=(1000, 1000))
    work = 6 * 16 * (2 * 1000 + 1000 * 1000 + 1000 * 2)
    assert chosen(Runtime(), wide) == -(-work // 20_000_000) == 5
    assert chosen(Runtime(), nn.Linear(7, 2)) == 0  # what does not fit is said later


def test_a_run_records_threads_and_kind(moons, net, tmp_path):
    fit(net(), moons, Recipe(epochs=1), folder=tmp_path / "run")
    recorded = json.loads((tmp_path / "run/environment.json").read_text())
    assert recorded["threads"] == 1 and recorded["step"] == "eager" and "step_reason" not in recorded


def test_what_is_not_compiled_has_a_reason(source, moons, net, monkeypatch):
    streamed = Preprocess.fit(moons.train, 2).source(moons.train, budget=0)
    feed = Feed(source, Recipe())
    assert _why_not(net(), feed, Recipe()) == ""
    assert "line search" in _why_not(net(), feed, Recipe(GD(line_search=True)))
    assert "not one of Lamina's" in _why_not(net(), feed, Recipe(torch.optim.Adagrad))
    assert "streamed" in _why_not(net(), Feed(streamed, Recipe()), Recipe())
    names = "many-to-one", "seq2seq", "neural-ode"
    for loop in (nn.Sequential(nn.GRU(2, 2)), *(lamina.build(name) for name in names)):
        assert "over time" in _why_not(loop, feed, Recipe())
    deep = nn.Sequential(*(nn.Linear(2, 2) for _ in range(151)))
    assert "has 151 layers, more than 150" in _why_not(deep, feed, Recipe())
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "no compiler (g++)" in _why_not(net(), feed, Recipe())
    step = compiled(net(), Feed(source, Recipe()), None, Objective("nll"), Recipe())
    assert step.kind == "eager" and "no compiler" in step.reason


def test_a_compiled_step_needs_the_cpu(net, source):
    source.device = torch.device("cuda")
    with pytest.raises(ArgumentError, match=r"needs device='cpu', got 'cuda': use step='auto' or 'captured'\."):
        compiled(net(), Feed(source, Recipe()), None, Objective("nll"), Recipe())


class Clock(Learner):
    """A step that takes a given time and does nothing."""

    def __init__(self, kind, seconds, now):
        self.seconds, self.now = seconds, now
        self.batches, self.step, self.restored = 50, 0, 0

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


def test_a_short_run_measures_nothing(monkeypatch, source, moons, net):
    monkeypatch.setattr(tuning, "timed", None)
    for short in (Recipe(epochs=1000), Recipe(epochs=400_000, stopping=Stopping(max_steps=100))):
        assert learner(net(), Arrays(Preprocess.fit(moons.train, 2), moons), short, Runtime()).reason == ""
    loop = lamina.build("neural-ode", inputs=2, outputs=2)
    long = Recipe(epochs=400_000)
    step = tuned(loop, Feed(source, long), None, Objective("nll"), long, 10**6)
    assert step.kind == "eager" and "over time" in step.reason


def test_a_failure_of_the_compiler_is_a_reason(monkeypatch, source, net):
    class Broken(Eager):
        kind = "compiled"

        def __call__(self, step, watched):
            super().__call__(step, watched)
            raise ValueError("no such instruction\nand more")

    monkeypatch.setattr(compiling, "_Compiled", Broken)
    model = net()
    before = [p.detach().clone() for p in model.parameters()]
    step = compiled(model, Feed(source, Recipe()), None, Objective("nll"), Recipe())
    assert step.reason == "the update cannot be compiled (ValueError: no such instruction)"
    assert all(torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True))
