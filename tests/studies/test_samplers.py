"""Samplers: grid, random and one at a time propose what they promise, and nothing else."""

import math
import tomllib

import pytest

from lamina._errors import ArgumentError
from lamina.studies.samplers import Done, Grid, OneAtATime, Random, _describe_sampler, _make_sampler
from lamina.studies.space import Range, Space, key
from lamina.studies.tpe import TPE
from lamina.training.files import as_toml
from studies.small import play

FIVE = Space.of({name: [1, 2, 3, 4] for name in "abcde"})


@pytest.mark.notes("N1.69")
def test_the_grid_is_everything_once():
    done, best = play(Grid(), FIVE, lambda v: sum((x - 3) ** 2 for x in v.values()))
    assert len(done) == 1024 == Grid().total(FIVE) and set(best.values()) == {3}
    assert done[0].values == dict.fromkeys("abcde", 1) and done[1].values == {**dict.fromkeys("abcde", 1), "e": 2}


def test_a_grid_may_not_be_endless():
    with pytest.raises(
        ArgumentError, match="at most 1,000,000 combinations, got 4,194,304: take fewer values or --random"
    ):
        Grid().propose(Space.of({f"n{i}": [1, 2, 3, 4] for i in range(11)}), ())


def test_random_draws_are_a_function_of_seed_number_and_name():
    space = Space.of({"x": Range(0.0, 1.0), "k": [1, 2, 3]})
    first = Random(50, seed=1).propose(space, ())
    assert Random(80, seed=1).propose(space, ())[:50] == first  # a longer search begins with the shorter one
    assert Random(50, seed=2).propose(space, ()) != first
    wider = Space.of({"new": [1, 2], "x": Range(0.0, 1.0), "k": [1, 2, 3]})
    assert [v["x"] for v in Random(50, seed=1).propose(wider, ())] == [v["x"] for v in first]
    assert Random(50).propose(space, [Done(first[0], 0.0)]) == []
    draws = [v["x"] for v in Random(4000).propose(space, ())]
    # mean and variance of the uniform distribution, within four standard errors
    assert sum(draws) / 4000 == pytest.approx(0.5, abs=4 * math.sqrt(1 / 12 / 4000))
    assert sum((x - 0.5) ** 2 for x in draws) / 4000 == pytest.approx(1 / 12, abs=4 * math.sqrt(1 / 180 / 4000))
    with pytest.raises(ArgumentError, match="`trials` must be at least 1, got 0"):
        Random(0)


@pytest.mark.notes("N1.70")
def test_one_at_a_time_takes_16_runs_where_the_grid_takes_1024():
    done, best = play(OneAtATime(), FIVE, lambda v: sum((x - 3) ** 2 for x in v.values()))
    assert len(done) == 16 == 1 + 5 * 3 == OneAtATime().total(FIVE)  # 20 with repeats, which are not run again
    assert len({key(each.values) for each in done}) == 16
    assert set(best.values()) == {3}  # without interaction it finds the optimum of the grid
    changed = [sum(x != y for x, y in zip(a.values.values(), done[0].values.values(), strict=True)) for a in done[:4]]
    assert changed == [0, 1, 1, 1]


@pytest.mark.notes("N1.70")
def test_one_at_a_time_misses_an_optimum_that_needs_two_changes():
    # A valley along a = b: from (1, 1) every single change is a step uphill.
    space = Space.of({"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]})

    def error(v):
        return 10 * (v["a"] - v["b"]) ** 2 + (8 - v["a"] - v["b"])

    done, best = play(OneAtATime(), space, error)
    assert best == {"a": 1, "b": 1} and error(best) == 6 and len(done) == 7
    assert play(Grid(), space, error)[1] == {"a": 4, "b": 4}
    assert play(OneAtATime(sweeps=9), space, error)[1] == {"a": 1, "b": 1}  # more sweeps do not help


def test_one_at_a_time_starts_where_it_is_told_and_sweeps_again():
    space = Space.of({"a": [1, 2, 3], "b": [1, 2, 3]})
    assert OneAtATime((("b", 3),)).propose(space, ())[0] == {"a": 1, "b": 3}

    def error(v):  # the best a depends on b: a second sweep is needed
        return (v["a"] - v["b"]) ** 2 - v["b"]

    once, twice = play(OneAtATime(), space, error), play(OneAtATime(sweeps=5), space, error)
    assert once[1] == {"a": 1, "b": 1} or error(once[1]) > error(twice[1])
    assert len(twice[0]) <= 9 and OneAtATime(sweeps=5).total(space) is None
    tied = play(OneAtATime((("a", 2),)), space, lambda v: 0.0)
    assert tied[0][0].values["a"] == 2 and {each.values["a"] for each in tied[0] if each.values["b"] > 1} == {2}
    with pytest.raises(ArgumentError, match="`start` names 'c', which does not vary: a, b do"):
        OneAtATime((("c", 1),)).propose(space, ())
    with pytest.raises(ArgumentError, match="`start` must be one of the values, got a=7: 1,2,3"):
        OneAtATime((("a", 7),)).propose(space, ())
    with pytest.raises(ArgumentError, match="`sweeps` must be at least 1, got 0"):
        OneAtATime(sweeps=0)


def test_one_at_a_time_knows_conditions():
    space = Space.read(["optimizer=adam,minibatch", "momentum=0,0.9 if optimizer=minibatch"])
    done, best = play(OneAtATime(), space, lambda v: {"adam": 3}.get(v["optimizer"], 1 - v.get("momentum", 0)))
    assert best == {"optimizer": "minibatch", "momentum": 0.9} and len(done) == 3
    done, best = play(OneAtATime(), space, lambda v: {"adam": 0}.get(v["optimizer"], 1))
    assert best == {"optimizer": "adam"} and len(done) == 2


def test_one_at_a_time_breaks_ties_by_the_second_number():
    space = Space.of({"a": [1, 2, 3]})
    done = [Done({"a": 1}, 0.5, 0.9), Done({"a": 2}, 0.5, 0.1), Done({"a": 3}, 0.5, 0.4)]
    assert OneAtATime().propose(space, done) == []
    wider = Space.of({"a": [1, 2, 3], "b": [1, 2]})
    done = [Done({**each.values, "b": 1}, each.error, each.tie) for each in done]
    assert OneAtATime().propose(wider, done) == [{"a": 2, "b": 2}]


def test_samplers_survive_a_file():
    for sampler in (Grid(), Random(7, 3), OneAtATime((("hidden", (8, 8)), ("clip", None)), 2), TPE(30, batch=5)):
        assert _make_sampler(tomllib.loads(as_toml(_describe_sampler(sampler)))) == sampler
    with pytest.raises(
        ArgumentError, match="`sampler` must be one of 'grid', 'random', 'one-at-a-time', 'tpe', got 'x'"
    ):
        _make_sampler({"name": "x"})
