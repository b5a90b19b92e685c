"""A problem says what may vary, and what a configuration makes of recipe and network."""

from dataclasses import replace

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.data.load import load
from lamina.data.synthetic import curve, moons
from lamina.studies.folder import _StudyFolder
from lamina.studies.problem import Problem
from lamina.studies.samplers import Grid
from lamina.studies.search import open_problem, plan
from lamina.studies.space import Space
from lamina.studies.study import Study
from lamina.training.recipe import GD, Adam, MiniBatch, Recipe


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
            "optimizer=adams: `optimizer` must be one of 'gd', 'sgd', 'minibatch', 'adam', 'adamw', 'rmsprop', got",
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
    assert Problem.make("fnn", curve(60)).score(None) == ("validation_rmse", "minimize")
    with pytest.raises(ArgumentError, match="`metric` must be one of 'accuracy', 'loss', got 'mse'"):
        problem.score("mse")


def test_a_search_needs_validation_data_and_an_optimizer_with_a_name(problem):
    split = load("moons", count=60).split(ratios=(5, 0, 1))
    with pytest.raises(ArgumentError, match="compares configurations on validation data, but there are none"):
        Problem.make("fnn", split).score(None)

    with pytest.raises(ArgumentError, match="`optimizer` must be one of Lamina's in a search"):
        Problem.make("fnn", moons(60), recipe=Recipe(optimizer=lambda p: torch.optim.SGD(p, lr=0.1)))
    for own in ({"loss": torch.dist}, {"metrics": {"mine": torch.dist}}):
        with pytest.raises(ArgumentError, match="`loss` and `metrics` of your own cannot be in a search"):
            Problem.make("fnn", moons(60), recipe=Recipe(**own))


@pytest.mark.notes("N1.71")
def test_a_search_by_hand_starts_from_the_defaults(problem):
    space = Space.of(
        {"beta1": [0.0, 0.9], "beta2": [0.9, 0.999], "penalty": [1.0, 2.0], "width": [4, 8], "depth": [2, 3]}
    )
    assert problem.start(space) == {"beta1": 0.9, "beta2": 0.999, "width": 8, "depth": 2}


def test_a_problem_survives_its_file(tmp_path):
    problem, study = plan(
        "fnn",
        load("iris"),
        {"dropout": [0.0, 0.5]},
        options={"hidden": (8, 4), "initialization": None, "optimizer": "minibatch", "clip": 1.0},
        seeds=2,
        folder=tmp_path / "s",
    )
    again = open_problem(Study.open(study.folder))
    values = {"dropout": 0.5}
    assert again.members(values) == problem.members(values) and again.seeds == (0, 1)
    assert replace(again, split=problem.split) == problem
    assert _StudyFolder(study.folder).is_study


def test_a_grid_of_impossible_pairs_is_refused_before_anything_is_made(tmp_path, split):
    space = {"optimizer": ["minibatch"], "nesterov": [True], "momentum": [0.9, 0.0]}
    with pytest.raises(ArgumentError, match="`nesterov` needs a `momentum` greater than 0"):
        plan("fnn", split, space, Grid(), folder=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_names_resolve_from_words():
    assert Problem.make("fnn", "iris").notes[0].startswith("iris: ")
