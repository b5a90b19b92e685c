import pytest

from lamina.experiments.result import Claim, _ratios_of_pairs, _runs_enough


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5, 0.7, 0.9])
def test_what_suffices_is_improbable_to_miss(rate):
    import scipy.stats as scipy_stats

    for count in range(1, 61):
        enough = _runs_enough(count, rate)
        assert scipy_stats.binom.cdf(enough - 1, count, rate) < 0.05 or enough == 1
        assert scipy_stats.binom.cdf(enough, count, rate) >= 0.05
        assert 0 <= enough <= count


def test_a_rate_is_contradicted_by_too_few_runs():
    enough = Claim.often("it works", [True] * 16 + [False] * 4, rate=0.9)
    assert enough.holds and enough.numbers == {"rate": 0.9, "found": 16, "runs": 20, "enough": 16}
    assert not Claim.often("it works", [True] * 15 + [False] * 5, rate=0.9).holds
    assert not Claim.often("it works", [False], rate=0.9).holds  # most runs are at least one
    assert Claim.often("it works", [False] * 3, rate=0.2).holds  # three runs cannot tell


def test_a_mean_is_told_with_its_standard_error():
    claim = Claim.on_average("the loss", [1.0, 2.0, 3.0], most=2.5)
    assert claim.sentence == "the loss is on average at most 2.5: 2 ± 0.577" and claim.holds
    assert claim.numbers == {"mean": 2.0, "standard error": pytest.approx(3**-0.5), "runs": 3, "most": 2.5}
    both = Claim.on_average("the loss", [1.0, 2.0, 3.0], least=0.5, most=1.5)
    assert both.sentence.startswith("the loss is on average between 0.5 and 1.5") and not both.holds
    assert not Claim.on_average("the loss", [1.0, 2.0], least=1.6).holds
    assert not Claim.on_average("the loss", [float("nan"), 2.0], least=1.0).holds


def test_seeds_are_a_number_or_a_range():
    from lamina.experiments.selection import coin_flips

    assert coin_flips(2).rows == coin_flips(seeds=range(2)).rows != coin_flips(seeds=range(5, 7)).rows
    assert _ratios_of_pairs([2.0, 1.0]) == [2.0, 2.0]
