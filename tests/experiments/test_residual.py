import pytest
import torch

from lamina._errors import ArgumentError
from lamina.experiments.residual import (
    both_blocks,
    deep_residual_training,
    stacked_blocks,
    training_error_by_depth,
)
from lamina.experiments.result import ClaimError


@pytest.mark.notes("N4.13")
def test_skip_connections_train_what_plain_networks_do_not(unchecked):
    result = deep_residual_training(seeds=1, count=64, steps=120, least=0.8).check()
    assert result.column("network") == ["FNN", "ResNet"] * 2
    assert result.column("gradient")[0] < 1e-11 and result.column("gradient")[1] > 1e-3


def test_kinds_of_stacks_differ_in_their_skip_connections_only():
    networks = {
        kind: stacked_blocks(kind, 6, 8, inputs=5, outputs=3) for kind in ("plain", "original", "preactivation")
    }
    matrices = [[p for p in net.parameters() if p.ndim == 2] for net in networks.values()]
    assert [len(found) for found in matrices] == [6, 6, 6]
    assert all(torch.equal(a, b) and torch.equal(a, c) for a, b, c in zip(*matrices, strict=True))
    with pytest.raises(ArgumentError, match="`kind` must be one of 'plain', 'original', 'preactivation', got 'deep'"):
        stacked_blocks("deep", 6)


@pytest.mark.notes("N4.20")
def test_training_error_grows_with_the_depth_of_plain_networks(unchecked):
    result = training_error_by_depth(seeds=1, depths=(4, 28), steps=50).check()
    loss = dict(zip(zip(result.column("block"), result.column("depth"), strict=True), result.column("training loss"),
                    strict=True))  # fmt: skip
    assert loss["plain", 28] > loss["plain", 4] + 0.5 and loss["preactivation", 28] < loss["plain", 28] - 0.5
    assert [s.name for s in result.series()] == ["plain", "original", "preactivation"]


@pytest.mark.notes("N4.28")
def test_preactivation_is_better_at_110_layers(unchecked):
    result = both_blocks(seeds=2, steps=24, every=8).check()
    original, better = result.column("training loss")[:2], result.column("training loss")[2:]
    assert min(original) > 2.5 > max(better)  # ln 10 = 2.3 is guessing
    assert result.column("seed") == [0, 1, 0, 1]


def test_claims_about_blocks_can_fail(unchecked):
    with pytest.raises(ClaimError, match="lower with pre-activation"):
        both_blocks(seeds=1, depth=4, steps=8, every=4).check()


@pytest.mark.slow
@pytest.mark.notes("N4.13")
def test_deep_residual_training_at_full_size():
    """The catalogue has 0.48-0.50 for both plain networks and 0.996-1.0 for the residual ones."""
    result = deep_residual_training(seeds=3, count=512, steps=400, least=0.98).check()
    assert min(result.column("least")[1::2]) > 0.98


@pytest.mark.slow
@pytest.mark.notes("N4.20", "N4.28")
def test_depth_and_blocks_with_more_seeds():
    training_error_by_depth(seeds=3, depths=(4, 12, 28, 56)).check()
    both_blocks(seeds=4).check()
