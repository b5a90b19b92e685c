import math
from pathlib import Path

import jaxtyping
import pytest

from lamina.experiments.result import REGISTRY, ClaimError
from lamina.experiments.xor import xor_training
from scripts import script

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "xor_training.py"


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    """Switch the shape checker off, which costs more than a small update."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.notes("N2.14")
def test_most_starting_points_reach_xor_and_the_rest_share_a_value():
    result = xor_training(seeds=60).check()
    assert REGISTRY["N2.14"] is xor_training
    rows = {row[:2]: row[2:] for row in result.rows}
    assert rows["sigmoid", "Xavier x 1"][0] == pytest.approx(0.75, abs=0.15)
    assert rows["tanh", "Xavier x 1"][0] == pytest.approx(0.5, abs=0.15)  # one half, not most
    for right, stuck, good, bad in list(rows.values())[:-1]:
        assert right + stuck == pytest.approx(1) and good < 0.1
        assert math.log(2) / 2 <= bad < 0.35  # the best that is possible when two inputs share their answer
    # -ln 0.9926 for all four: 0.007426
    assert rows["sigmoid", "given, gain 10"][2] == pytest.approx(0.0074, abs=1e-4)


def test_same_numbers_again_and_claims_that_fail():
    short = xor_training(seeds=8, steps=3)
    assert str(short.rows) == str(xor_training(seeds=8, steps=3).rows)
    with pytest.raises(ClaimError, match="a sigmoid network from Xavier x 1 reaches 4 of 4"):
        short.check()
    assert [claim.holds for claim in short.claims] == [False, False, True, True, True, True, True, True]


@pytest.mark.notes("N2.14")
def test_the_example_keeps_its_promise_or_fails():
    done = script(SCRIPT)
    assert done.returncode == 0, done.stderr
    assert "of 20 starting points" in done.stdout
    assert script(SCRIPT, "--target", "1.0").returncode == 1
