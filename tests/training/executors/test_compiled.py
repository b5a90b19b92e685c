"""When an update is not compiled, and why; compiling is in tests/compiled."""

import shutil

import pytest
import torch
from torch import nn

import lamina
from lamina._errors import ArgumentError
from lamina.data.preprocess import Preprocess
from lamina.training.executors import compiled as compiling
from lamina.training.executors._eager import Eager
from lamina.training.executors.compiled import _why_not, compiled
from lamina.training.objective import Objective
from lamina.training.recipe import GD, Recipe
from lamina.training.tasks.feed import Feed


def test_what_is_not_compiled_has_a_reason(source, moons, net, monkeypatch):
    streamed = Preprocess.fit(moons.train, 2).source(moons.train, budget=0)
    feed = Feed(source, Recipe())
    assert _why_not(net(), feed, Recipe()) == ""
    assert "line search" in _why_not(net(), feed, Recipe(GD(line_search=True)))
    assert "not one of Lamina's" in _why_not(net(), feed, Recipe(torch.optim.Adagrad))
    assert _why_not(net(), Feed(streamed, Recipe()), Recipe()) == ""
    names = "many-to-one", "seq2seq", "neural-ode"
    for loop in (nn.Sequential(nn.GRU(2, 2)), *(lamina.build(name) for name in names)):
        assert "over time" in _why_not(loop, feed, Recipe())
    deep = nn.Sequential(*(nn.Linear(2, 2) for _ in range(151)))
    assert "has 151 layers, more than 150" in _why_not(deep, feed, Recipe())
    many = Recipe(batch_size=60, micro_batch=1)
    assert "60 pieces of a batch by 3 layers are more than 150" in _why_not(net(), Feed(source, many), many)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "no compiler (g++)" in _why_not(net(), feed, Recipe())
    step = compiled(net(), Feed(source, Recipe()), None, Objective("nll"), Recipe())
    assert step.kind == "eager" and "no compiler" in step.reason


def test_a_compiled_step_needs_the_cpu(net, source):
    source.device = torch.device("cuda")
    with pytest.raises(ArgumentError, match=r"needs device='cpu', got 'cuda': use step='auto' or 'captured'\."):
        compiled(net(), Feed(source, Recipe()), None, Objective("nll"), Recipe())


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
