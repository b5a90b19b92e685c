"""The work of the page tools/search: numbers by hand, and what the notes say of them."""

import math

import pytest

from lamina.pages.chapters.tools.search._work import (
    AXES,
    FIVE,
    Board,
    Plan,
    digits,
    five_space,
    means,
    one_at_a_time,
    population,
)
from lamina.populations.members import by_shape
from lamina.populations.population import train_population
from lamina.studies.samplers import Grid
from lamina.studies.space import Space
from lamina.training.runtime import Runtime


@pytest.mark.notes("N1.67")
def test_a_cell_is_what_its_network_does_alone_and_the_test_part_is_opened_once():
    plan = Plan(hidden=4, epochs=2)
    rows = list(population(plan, 1))
    assert [row["epoch"] for row in rows] == [1, 2, 2, 2]
    end = rows[-1]
    values = Grid().propose(plan.space, ())[end["best"]]
    problem = digits(4, 2, 0)
    (alone,) = train_population(problem.members(values), problem.split, runtime=Runtime(threads=1))
    assert math.isclose(alone.rows[alone.best_row]["validation_loss"], end["losses"][end["best"]], rel_tol=1e-4)
    known = [value for value in end["accuracies"] if not math.isnan(value)]
    assert end["accuracies"][end["best"]] == max(known) and end["openings"] == 1 and 0 < end["test"] <= 1
    assert end["shapes"] == 1 and end["alone"] > 0


def test_networks_of_another_width_have_another_shape():
    plan = Plan("width", "learning_rate", epochs=1)
    problem = digits(4, 1, 0)
    groups = by_shape([problem.members(values)[0] for values in Grid().propose(plan.space, ())])
    assert len(groups) == len(AXES["width"]) and sorted(place for group in groups for place in group) == list(range(64))


@pytest.mark.notes("N1.69", "N1.70")
def test_sixteen_instead_of_a_thousand_networks():
    grid = Grid().propose(five_space(), ())
    assert len(grid) == 4**5
    # The loss falls with every value, one by one: no interaction, so that the usual practice finds the best.
    losses = [float(sum(values.index(each[name]) for name, values in FIVE.items())) for each in grid]
    board = Board([1 - loss / 100 for loss in losses], losses)
    tried, moves = one_at_a_time(five_space(), {name: values[-1] for name, values in FIVE.items()}, board)
    assert len(tried) == 1 + 5 * 3 and moves[-1] == board.best == 0


@pytest.mark.notes("N1.70")
def test_where_two_must_change_together_the_usual_practice_stays_where_it_began():
    space = Space.of({"a": [1, 2], "b": [1, 2]})
    board = Board([0.8, 0.5, 0.5, 0.9], [0.2, 1.0, 1.0, 0.1])
    tried, moves = one_at_a_time(space, {"a": 1, "b": 1}, board)
    assert (tried, moves, board.best) == ([0, 2, 1], [0], 3)


def test_a_network_that_says_nothing_any_more_has_diverged():
    board = Board.empty(2)
    assert board.best is None
    board.take([0, 1], [{"validation_loss": 0.5, "validation_accuracy": 0.7}, None])
    board.take([0, 1], [{"validation_loss": 0.6, "validation_accuracy": 0.9}, None])
    assert board.accuracies[0] == 0.7 and math.isnan(board.accuracies[1]) and board.best == 0


def test_means_mark_the_best_value():
    grid = Grid().propose(five_space(), ())
    board = Board([0.9 if each["learning_rate"] == 0.03 else 0.5 for each in grid], [1.0] * 1024)
    (row,) = [row for row in means(board) if row[0] == "learning rate"]
    assert row[1:] == ("0.001: 50.0%", "0.003: 50.0%", "0.01: 50.0%", "0.03: 90.0% ★")
