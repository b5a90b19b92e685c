"""Spaces: what words say, in which order a grid goes, and every way to be wrong about it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import ArgumentError
from lamina.data.load import load
from lamina.data.synthetic import curve, moons
from lamina.studies.problem import Problem
from lamina.studies.samplers import _uniform
from lamina.studies.space import Choices, Range, Space, _untuple, key, read_value, spell, spell_all
from lamina.training.recipe import GD, Adam, MiniBatch, Recipe


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


# What varies must be something that the network or the recipe has.


@pytest.fixture(scope="module")
def problem():
    return Problem.make("fnn", moons(60), options={"hidden": 8})


def checked(problem, *words):
    return problem.check(Space.read(words))


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("learning_rat=0.1", "neither fnn nor the recipe has an option 'learning_rat'"),
        ("learning_rat=0.1", "; did you mean 'learning_rate'?"),
        ("learning_rate=fast", "`learning_rate` must be a number, got fast."),
        ("learning_rate=0,0.1", "learning_rate=0: `learning_rate` must be greater than 0, got 0."),
        ("learning_rate=-1..1.0", "learning_rate=-1.0: `learning_rate` must be greater than 0"),
        ("batch_size=16,32.5", "`batch_size` must be a whole number, got 32.5."),
        ("batch_size=1.5..3", "`batch_size` must be a whole number, got the range 1.5..3: use whole ends."),
        ("activation=1", "`activation` must be a word or words such as relu+tanh, got 1."),
        ("activation=1..2", "`activation` must be a word or words such as relu+tanh, got the range 1..2: give a list"),
        ("activation=rely", "activation=rely: "),
        ("batch_norm=1", "`batch_norm` must be true or false, got 1."),
        ("dropout=0,1", "dropout=1: "),
        (
            "optimizer=adams",
            "optimizer=adams: `optimizer` must be one of 'gd', 'sgd', 'minibatch', 'adam', got 'adams'.",
        ),
        ("momentum=0.9", "momentum=0.9: the recipe has no option 'momentum'"),
        ("seed=1,2", "`seed` is not a hyperparameter: --seeds N trains every configuration N times."),
        ("width=0", "width=0: `width` must be at least 1, got 0."),
        ("label_noise=2", "label_noise=2: `label_noise` must be in [0, 1], got 2."),
    ],
)
def test_what_cannot_vary_is_named(problem, word, sentence):
    with pytest.raises(ArgumentError) as error:
        checked(problem, word)
    assert sentence in str(error.value)


def test_hidden_and_width_together_are_refused(problem):
    with pytest.raises(ArgumentError, match="`hidden` gives all widths: vary either it, or `width` and `depth`"):
        checked(problem, "hidden=8,16", "width=8")


def test_whole_ends_of_a_real_number_are_real(problem):
    space = checked(problem, "dropout=0..0.5", "learning_rate=1..2", "batch_size=8..16")
    assert [type(space.domain(name).low) for name in space.names] == [float, float, int]


def test_values_reach_recipe_and_network(problem):
    values = {
        "learning_rate": 0.02,
        "penalty": 1e-3,
        "dropout": 0.25,
        "batch_norm": True,
        "label_noise": 0.1,
        "clip": 2.0,
    }
    (member,) = problem.members(values)
    assert member.recipe.optimizer == Adam(0.02) and member.recipe.penalty.strength == 1e-3
    assert member.recipe.clip.limit == 2.0 and member.label_noise == 0.1
    assert (member.config.dropout, member.config.batch_norm, member.config.hidden) == (0.25, True, 8)


def test_width_and_depth_are_the_widths_of_hidden_layers(problem):
    wide = Problem.make("fnn", moons(60))
    assert wide.members({"width": 16})[0].config.hidden == (16, 16)
    assert wide.members({"depth": 4, "width": 5})[0].config.widths == (2, 5, 5, 5, 2)
    assert wide.members({"depth": 1})[0].config.widths == (2, 2)
    assert problem.members({"depth": 3})[0].config.widths == (2, 8, 8, 2)
    assert Problem.make("dense-resnet", moons(60)).members({"width": 12, "depth": 3})[0].config.hidden == 12


def test_an_optimizer_that_varies_keeps_what_is_fixed():
    problem = Problem.make("fnn", moons(60), options={"learning_rate": 0.5, "epochs": 3})
    assert problem.members({"optimizer": "minibatch"})[0].recipe.optimizer == MiniBatch(0.5)
    assert problem.members({"optimizer": "gd", "learning_rate": 0.1})[0].recipe.optimizer == GD(0.1)
    assert problem.members({})[0].recipe.optimizer == Adam(0.5) and problem.recipe.epochs == 3


def test_members_of_one_shape_differ_in_numbers_only(problem):
    shapes = {
        problem.members(values)[0].shape
        for values in ({"learning_rate": 0.1}, {"penalty": 0.1}, {"dropout": 0.3}, {"scale": 2.0}, {"label_noise": 0.1})
    }
    assert len(shapes) == 1
    others = [
        {"width": 4},
        {"depth": 3},
        {"activation": "tanh"},
        {"batch_size": 5},
        {"optimizer": "minibatch"},
        {"epochs": 2},
    ]
    assert len({problem.members(values)[0].shape for values in others} | shapes) == 7


def test_seeds_are_first_weights_and_masks_of_one_order():
    problem = Problem.make("fnn", moons(60), seeds=3, seed=5)
    members = problem.members({})
    assert [m.seed for m in members] == [5, 6, 7] and {m.recipe.seed for m in members} == {5}
    with pytest.raises(ArgumentError, match="`seeds` must be at least 1, got 0"):
        Problem.make("fnn", moons(60), seeds=0)


def test_the_metric_is_named_after_the_task(problem):
    assert problem.score(None) == ("validation_accuracy", "maximize")
    assert problem.score("loss") == problem.score("validation_loss") == ("validation_loss", "minimize")
    assert Problem.make("fnn", curve(60)).score(None) == ("validation_mse", "minimize")
    with pytest.raises(ArgumentError, match="`metric` must be one of 'accuracy', 'loss', got 'mse'"):
        problem.score("mse")


def test_a_search_needs_validation_data_and_an_optimizer_with_a_name(problem):
    split = load("moons", count=60).split(ratios=(5, 0, 1))
    with pytest.raises(ArgumentError, match="compares configurations on validation data, but there are none"):
        Problem.make("fnn", split).score(None)
    import torch

    with pytest.raises(ArgumentError, match="`optimizer` must be one of Lamina's in a search"):
        Problem.make("fnn", moons(60), recipe=Recipe(optimizer=lambda p: torch.optim.SGD(p, lr=0.1)))


@pytest.mark.notes("N1.71")
def test_a_search_by_hand_starts_from_the_defaults(problem):
    space = Space.of(
        {"beta1": [0.0, 0.9], "beta2": [0.9, 0.999], "penalty": [1.0, 2.0], "width": [4, 8], "depth": [2, 3]}
    )
    assert problem.start(space) == {"beta1": 0.9, "beta2": 0.999, "width": 8, "depth": 2}
