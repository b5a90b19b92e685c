"""Spaces: what words say, in which order a grid goes, and every way to be wrong about it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import ArgumentError
from lamina.studies.samplers import _uniform
from lamina.studies.space import Choices, Range, Space, _untuple, key, read_value, spell, spell_all


def test_words_become_domains():
    space = Space.read(
        [
            "learning-rate=1e-4..1e-1:log",
            "hidden=32,128x64,16x",
            "dropout=0..0.5:3",
            "batch_size=16..64",
            "nesterov=true,false",
        ]
    )
    assert space.names == ("learning_rate", "hidden", "dropout", "batch_size", "nesterov")
    assert space.domain("learning_rate") == Range(1e-4, 1e-1, log=True)
    assert space.domain("hidden").grid() == (32, (128, 64), (16,))
    assert space.domain("dropout").grid() == (0.0, 0.25, 0.5)
    assert space.domain("batch_size") == Range(16, 64) and space.domain("batch_size").whole
    assert space.domain("nesterov").grid() == (True, False)
    assert space.size is None


@pytest.mark.notes("N1.69")
def test_the_last_name_changes_fastest_and_five_times_four_values_are_1024():
    space = Space.of({"a": [1, 2], "b": ["x", "y", "z"]})
    assert [spell_all(v) for v in space.grid()] == ["a=1 b=x", "a=1 b=y", "a=1 b=z", "a=2 b=x", "a=2 b=y", "a=2 b=z"]
    notes = Space.of({name: [1, 2, 3, 4] for name in "abcde"})
    every = list(notes.grid())
    assert notes.size == len(every) == len({key(v) for v in every}) == 1024


def test_conditions_leave_out_what_does_not_apply():
    space = Space.read(
        ["optimizer=gd,adam,minibatch", "momentum=0,0.9 if optimizer=minibatch", "nesterov=true,false if momentum=0.9"]
    )
    assert [spell_all(v) for v in space.grid()] == [
        "optimizer=gd",
        "optimizer=adam",
        "optimizer=minibatch momentum=0",
        "optimizer=minibatch momentum=0.9 nesterov=true",
        "optimizer=minibatch momentum=0.9 nesterov=false",
    ]
    assert space.size == 5
    both = Space.of({"a": [1, 2], "b": [1, 2], "c if a=1,2 and b=2": [7]})
    assert [v.get("c") for v in both.grid()] == [None, 7, None, 7]
    assert both.active({"a": 2, "b": 1, "c": 7}) == {"a": 2, "b": 1}


def test_words_and_space_are_the_same():
    words = ["a=0.0001,3e-05,1.0", "b=1..9", "c=0.001..0.1:log:5", "d=relu,tanh+relu,8x8,none,true if b=3 and a=1.0"]
    space = Space.read(words)
    assert space.words() == words and Space.read(space.words()) == space and Space.of(space) is space
    assert str(space.hyperparameters[2]) == "c=0.001..0.1:log:5"


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["relu", "one-cycle", "x"]),
    st.lists(st.integers(1, 999), max_size=4).map(tuple),
)


@given(VALUES)
def test_values_survive_being_spelled(value):
    assert read_value(spell(value)) == value and type(read_value(spell(value))) is type(value)


def test_configurations_survive_json():
    import json

    values = {"hidden": (8, 8), "activation": "relu", "penalty": 1e-5}
    assert _untuple(json.loads(json.dumps(values))) == values


def test_grids_of_ranges():
    assert Range(1, 4).grid() == (1, 2, 3, 4)
    assert Range(1e-4, 1e-1, log=True, points=4).grid() == (1e-4, 1e-3, 1e-2, 1e-1)
    assert Range(8, 128, log=True, points=5).grid() == (8, 16, 32, 64, 128)
    assert Range(1, 3, points=5).grid() == (1, 2, 3)  # whole numbers, each once


def test_samples_are_even_in_the_number_or_its_logarithm():
    shares = [(i + 0.5) / 1000 for i in range(1000)]
    linear = [Range(2.0, 4.0).at(share) for share in shares]
    assert sum(linear) / 1000 == pytest.approx(3, abs=1e-9) and min(linear) > 2 and max(linear) < 4
    logs = [math.log10(Range(1e-4, 1e-2, log=True).at(share)) for share in shares]
    assert sum(logs) / 1000 == pytest.approx(-3, abs=1e-9)
    whole = [Range(1, 4).at(share) for share in shares]
    assert [whole.count(k) for k in (1, 2, 3, 4)] == [250] * 4
    assert [Choices(("a", "b")).at(share) for share in (0.0, 0.49, 0.5, 0.999)] == ["a", "a", "b", "b"]
    drawn = Space.read(["a=0..1.0"]).sample(lambda name: _uniform(0, 3, name))["a"]
    assert drawn == _uniform(0, 3, "a")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "a search needs at least 1 hyperparameter, got none"),
        (["a"], "a hyperparameter is written name=values, got 'a'"),
        (["=1"], "a hyperparameter is written name=values, got '=1'"),
        (["a b=1"], "name is one word, got 'a b'"),
        (["a="], "`a`: a list must have at least 1 value, got none"),
        (["a=1,2,1"], "`a`: a list must name each value once, got 1 twice"),
        (["a=1", "a=2"], "`a` must be named once, got it twice"),
        (["a=2..1"], "`a`: a range must go up, got 2..1: swap its ends"),
        (["a=0..1:log"], "`a`: `low end of a range with :log` must be greater than 0, got 0"),
        (["a=x..1"], "the ends of a range must be numbers, got 'x..1'"),
        (["a=0..inf"], "the ends of a range must be finite, got inf"),
        (["a=0..1:cosine"], "a range is written low..high, low..high:log or low..high:log:5, got '0..1:cosine'"),
        (["a=0..1:1"], "`number of points of a range` must be at least 2, got 1"),
        (["a=nan,1"], "`a`: a value must be finite, got nan"),
        (["a=1 if b=2"], "`a` depends on `b`, which must vary and be named before it: the names before it are none."),
        (["bat=1,2", "a=1 if bet=2"], "the names before it are bat; did you mean 'bat'?"),
        (["b=1,2", "a=1 if b=3"], "`a` waits for b=3, but the values are 1,2."),
        (["b=1,2", "a=1 if b"], "a condition is written 'if name=value', got 'b' for 'a'"),
    ],
)
def test_wrong_words_are_named(words, sentence):
    with pytest.raises(ArgumentError) as error:
        Space.read(words)
    assert sentence in str(error.value)


def test_wrong_mappings_are_named():
    with pytest.raises(ArgumentError, match=r"`a` must have a list of values or a range, got 3: write \[3\]"):
        Space.of({"a": 3})
    with pytest.raises(ArgumentError, match="`a`: a word must have no blank, comma, colon or =, and not look like"):
        Space.of({"a": ["one two"]})
    with pytest.raises(ArgumentError, match="a word must have no blank, .* not look like a number, got '3'"):
        Space.of({"a": ["3"]})
    with pytest.raises(
        ArgumentError, match=r"a value must be a number, a word, true, false, none or a tuple.* got \{\}"
    ):
        Space.of({"a": [{}]})


def test_a_grid_refuses_a_range_without_a_number_of_points():
    with pytest.raises(
        ArgumentError, match=r"enumerate the range 0.0..1.0: say how many values to take, as in 0.0..1.0:5"
    ):
        list(Space.read(["a=0.0..1.0"]).grid())
