import pytest

from lamina.experiments.result import REGISTRY, ClaimError
from lamina.experiments.selection import coin_flips


@pytest.mark.notes("N1.68")
def test_the_best_of_many_coins_is_a_coin():
    result = coin_flips().check()
    assert REGISTRY["N1.68"] is coin_flips
    selected, fresh = result.column("where selected"), result.column("on fresh points")
    # the catalogue has 0.68 and 0.47 for one draw of 1024; the largest of 1024 such means is 0.66 on average
    assert selected[2] == pytest.approx(0.66, abs=0.01) and selected[1] == pytest.approx(0.588, abs=0.012)
    assert all(0.47 < accuracy < 0.53 for accuracy in fresh)
    assert coin_flips(seeds=3).rows == coin_flips(seeds=3).rows


def test_models_with_skill_are_told_from_coins():
    with pytest.raises(ClaimError, match="on fresh points it is a coin"):
        coin_flips(skill=0.1).check()


def test_selecting_among_few_promises_little():
    with pytest.raises(ClaimError, match="the accuracy of the best of 3"):
        coin_flips(models=(1, 2, 3)).check()
