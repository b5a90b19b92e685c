import pytest

from lamina.experiments import search as search_experiments
from lamina.experiments.result import REGISTRY, ClaimError
from lamina.experiments.search import (
    choose_degree,
    depth_and_width,
    good_defaults,
    grid_of_five,
    one_at_a_time,
    select_then_test,
    split_sizes,
)
from lamina.studies.samplers import Grid


def test_every_experiment_is_found_by_its_row():
    found = {
        "N1.61": choose_degree,
        "N1.66": split_sizes,
        "N1.67": select_then_test,
        "N1.69": grid_of_five,
        "N1.70": one_at_a_time,
        "N1.71": good_defaults,
        "N2.24": depth_and_width,
    }
    assert {key: REGISTRY[key] for key in found} == found


@pytest.mark.notes("N1.61")
def test_validation_chooses_the_degree():
    result = choose_degree().check()
    counts, unseen = result.column("times chosen"), result.column("unseen error")
    assert sum(counts) == 40 and max(counts) == counts[3]
    assert min(unseen) == unseen[3] and unseen[9] > 3 * unseen[3]


def test_too_few_points_to_choose_by_choose_badly():
    with pytest.raises(ClaimError, match="on unseen points the chosen degree does hardly worse"):
        choose_degree(held_out=2).check()


@pytest.mark.notes("N1.66")
def test_600_examples_are_split_4_1_1():
    result = split_sizes().check()
    assert result.rows[0] == (600, 400, 100, 100, True) and result.rows[4][1:4] == (5, 1, 1)


@pytest.mark.notes("N1.67")
def test_what_was_chosen_is_tested_once():
    result = select_then_test(seeds=2, count=120, epochs=4).check()
    assert result.column("test openings") == [1, 1] and result.column("configurations") == [24] * 2


@pytest.mark.notes("N1.69")
def test_a_small_grid_of_five():
    result = grid_of_five(values=2).check()
    assert result.column("combinations") == [16] * 10 and sum(result.column("in the best")) == 5
    # every value of one hyperparameter meets all combinations of the others, so the means have one mean
    means = result.column("mean")
    assert [(a + b) / 2 for a, b in zip(means[::2], means[1::2], strict=True)] == pytest.approx([sum(means) / 10] * 5)


@pytest.mark.notes("N1.69")
@pytest.mark.slow
def test_all_1024_combinations():
    result = grid_of_five().check()
    assert result.column("combinations") == [256] * 20


@pytest.mark.notes("N1.70")
def test_one_at_a_time_misses_what_the_grid_finds():
    result = one_at_a_time(seeds=3).check()
    assert result.rows[0][1:] == (1024, 16, 0.0, 0.0) and result.rows[1][1:] == (16, 7, 0.0, 6.0)
    for row in result.rows[2:]:
        assert row[1:3] == (15, 7) and row[4] >= row[3]
    assert sum(row[4] for row in result.rows[2:]) > 1.1 * sum(row[3] for row in result.rows[2:])


def test_the_whole_grid_misses_nothing(monkeypatch):
    monkeypatch.setattr(search_experiments, "OneAtATime", Grid)
    missed = one_at_a_time(seeds=6, epochs=1).claims[3]
    assert "it misses the best pair" in missed.sentence and missed.numbers["found"] == 0 and not missed.holds


@pytest.mark.notes("N1.71")
def test_adams_constants_may_stay_and_its_rate_may_not():
    result = good_defaults(("moons",)).check()
    assert result.column("data") == ["moons"]
    for row in result.rows:
        assert row[1] < 1.1 * row[3] and row[6] > 2 * row[5]


@pytest.mark.notes("N2.24")
def test_depth_and_width_are_found_by_experiment():
    result = depth_and_width(seeds=1, depths=(2, 4), widths=(2, 8, 32)).check()
    assert result.columns == ("depth", "width 2", "width 8", "width 32")
    assert result.rows[1][3] < 0.1 < result.rows[0][3]


def test_layers_taken_away_do_not_help():
    with pytest.raises(ClaimError, match="at the largest width a layer more helps"):
        depth_and_width(seeds=1, depths=(4, 2), widths=(2, 32)).check()
