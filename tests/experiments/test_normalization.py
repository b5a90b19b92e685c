import jaxtyping
import pytest

from lamina.experiments.normalization import batch_norm_training
from lamina.experiments.result import REGISTRY, ClaimError


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    """Switch the shape checker off, which costs more than a small update."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.notes("N2.43")
def test_batch_norm_rescues_bad_starting_weights():
    result = batch_norm_training(seeds=2).check()
    assert REGISTRY["N2.43"] is batch_norm_training
    rows = {row[:3]: row[3:] for row in result.rows}
    assert rows["gradient descent", 0.01, "no"][0] == 0.5
    assert rows["gradient descent", 0.2, "no"][3] == 2  # both runs diverged
    assert min(rows[m, std, "yes"][0] for m in ("gradient descent", "Adam") for std in (0.01, 0.2)) > 0.9
    assert rows["Adam", 0.01, "no"][0] == 0.5
    assert rows["Adam", 0.2, "no"][0] > 0.9  # reported: Adam needs no batch norm for large weights


def test_same_numbers_again_and_claims_that_fail():
    small = {"seeds": 1, "epochs": 2, "depth": 3, "width": 16}
    first = batch_norm_training(**small)
    assert first.rows == batch_norm_training(**small).rows
    with pytest.raises(ClaimError):
        first.check()
    with pytest.raises(ClaimError, match=r"from std 0.2 gradient descent diverges without it"):
        batch_norm_training(seeds=1, width=64).check()  # std sqrt(n) = 1.6 is not enough at this depth


@pytest.mark.slow
@pytest.mark.notes("N2.43")
def test_batch_norm_with_more_seeds_and_epochs():
    result = batch_norm_training(seeds=5, epochs=40).check()
    assert min(row[5] for row in result.rows if row[2] == "yes") > 0.9
