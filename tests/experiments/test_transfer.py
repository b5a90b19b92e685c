import pytest
import torch

from lamina.experiments.result import ClaimError
from lamina.experiments.transfer import any_architecture, classes_of, transfer_steps


@pytest.mark.notes("N4.40")
def test_transfer_saves_steps(unchecked):
    result = transfer_steps(seeds=1, epochs=(16, 25), real=False).check()
    (seed, moved, fresh, share), *_ = result.rows
    assert seed == 0 and 2 * moved < fresh and share == moved / fresh


@pytest.mark.slow
@pytest.mark.notes("N4.40")
def test_transfer_over_seeds_and_claims_that_fail():
    transfer_steps(seeds=3, real=False).check()
    with pytest.raises(ClaimError, match="with every seed transfer takes fewer steps"):
        transfer_steps(seeds=1, level=0.0, real=False).check()


def test_classes_are_counted_from_zero():
    split = classes_of("digits", range(6, 10), 50, seed=1)
    labels = split.train.take(torch.arange(50))[1]
    assert set(labels.tolist()) == {0, 1, 2, 3} and len(split.validation) == 500


@pytest.mark.notes("N4.41")
def test_one_function_adapts_every_architecture():
    result = any_architecture().check()
    assert result.column("architecture") == ["fnn", "lenet5", "dense-resnet", "cifar-resnet", "resnet18"]
    assert result.column("which")[-1] == "fc.weight, fc.bias"
    assert result.column("share of all numbers")[-1] == pytest.approx((512 + 1) * 4 / 11_191_262, rel=0.001)
