"""Fixed rules choose how updates are executed, and say why."""

import json

import pytest

import lamina
from lamina._errors import ArgumentError
from lamina.data.preprocess import Preprocess
from lamina.training.executors import _tuning as tuning
from lamina.training.executors._tuning import tuned
from lamina.training.executors.choose import learner
from lamina.training.fit import fit
from lamina.training.objective import Objective
from lamina.training.recipe import Recipe, Stopping
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays
from lamina.training.tasks.feed import Feed
from training.tasks.steps import made, reviews


def test_a_run_records_threads_and_kind(moons, net, tmp_path):
    fit(net(), moons, Recipe(epochs=1), folder=tmp_path / "run")
    recorded = json.loads((tmp_path / "run/environment.json").read_text())
    assert recorded["threads"] == 1 and recorded["step"] == "eager" and "step_reason" not in recorded


def test_a_short_run_measures_nothing(monkeypatch, source, moons, net):
    monkeypatch.setattr(tuning, "timed", None)
    for short in (Recipe(epochs=1000), Recipe(epochs=400_000, stopping=Stopping(max_steps=100))):
        assert learner(net(), Arrays(Preprocess.fit(moons.train, 2), moons), short, Runtime("cpu")).reason == ""
    loop = lamina.build("neural-ode", inputs=2, outputs=2)
    long = Recipe(epochs=400_000)
    step = tuned(loop, Feed(source, long), None, Objective("nll"), long, 10**6)
    assert step.kind == "eager" and "over time" in step.reason


def test_a_step_says_why_it_is_eager():
    split = reviews()
    step, _ = made(split, "many-to-one", Recipe(), step="compiled", padding=0)
    assert step.kind == "eager" and "many lengths" in step.reason
    with pytest.raises(ArgumentError, match="a captured step needs device='cuda', got 'cpu'"):
        made(split, "many-to-one", Recipe(), step="captured", padding=0)
    assert made(split, "many-to-one", Recipe(), padding=0)[0].reason == ""
