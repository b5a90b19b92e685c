"""TPE asks in batches, learns from results, and names what is missing."""

import builtins
import math

import pytest

from lamina._errors import ArgumentError, MissingExtraError
from lamina.studies.samplers import Done
from lamina.studies.space import Space
from lamina.studies.tpe import TPE
from studies.small import play

SPACE = Space.read(["x=-1.0..1.0", "rate=1e-4..1e-1:log", "k=1..8", "kind=a,b", "more=0,1 if kind=b"])


def hollow(v):
    penalty = 0.0 if v["kind"] == "b" and v.get("more") == 1 else 1.0
    return (v["x"] - 0.3) ** 2 + (math.log10(v["rate"]) + 2) ** 2 + 0.1 * abs(v["k"] - 5) + penalty


def test_tpe_asks_in_batches_and_learns():
    sampler = TPE(60, batch=10, startup=10)
    done, _ = play(sampler, SPACE, hollow)
    assert len(done) == 60 == sampler.total(SPACE)
    assert all(1 <= each.values["k"] <= 8 and isinstance(each.values["k"], int) for each in done)
    assert all(("more" in each.values) == (each.values["kind"] == "b") for each in done)
    mean = [sum(each.error for each in part) / len(part) for part in (done[:10], done[-20:])]
    assert mean[1] < 0.75 * mean[0]  # better than the random start
    assert (
        sampler.propose(SPACE, done[:20]) == sampler.propose(SPACE, done[:20]) == [each.values for each in done[20:30]]
    )
    assert TPE(60, batch=10, seed=1).propose(SPACE, ()) != sampler.propose(SPACE, ())


def test_tpe_is_told_about_failures():
    sampler = TPE(12, batch=4, startup=4)
    done, _ = play(sampler, SPACE, lambda v: math.inf if v["kind"] == "a" else hollow(v))
    assert len(done) == 12


def test_tpe_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "optuna":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        MissingExtraError, match=r"TPE needs the package 'optuna': install it with  pip install 'lamina-nn\[search\]'"
    ):
        TPE(5).propose(SPACE, ())
    assert TPE(5).propose(SPACE, [Done({}, 0.0)] * 5) == []  # nothing left to ask, nothing needed


@pytest.mark.parametrize(("name", "value"), [("trials", 0), ("batch", 0), ("startup", 0)])
def test_tpe_checks_its_numbers(name, value):
    with pytest.raises(ArgumentError, match=f"`{name}` must be at least 1, got 0"):
        TPE(**{"trials": 3, name: value})
