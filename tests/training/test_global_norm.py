"""Batch normalization over ranks: over one it is torch's; `test_ranks` compares several with one."""

import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina.training._global_norm import attach, detach, normalize_over, norms
from lamina.training.executors.choose import learner
from lamina.training.ranks import Ranks
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import task_of
from training import rank_run


def test_batch_norm_is_global_or_local():
    with pytest.raises(ArgumentError, match="`batch_norm` must be"):
        Runtime(batch_norm="sync")
    net = rank_run.network()
    attach(net, Ranks(0, 2))
    (norm,) = norms(net)
    assert "forward" in vars(norm)
    detach(net)
    assert "forward" not in vars(norm)
    task = task_of(rank_run.data(), seed=0)
    learner(net, task, Recipe(), Runtime("cpu", threads=1, batch_norm="local"), Ranks(0, 2))
    assert "forward" not in vars(norm)


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_norm_over_one_rank_is_that_of_torch(momentum, dtype):
    ours, theirs = (nn.BatchNorm2d(3, momentum=momentum).double() for _ in range(2))
    g = torch.Generator().manual_seed(0)
    if dtype == torch.bfloat16:
        ours, theirs = ours.float(), theirs.float()
    for _ in range(2):
        x = torch.randn(4, 3, 5, 2, generator=g).to(dtype)
        mine = normalize_over(ours, Ranks(), x)
        wanted = theirs(x)
        assert mine.dtype == wanted.dtype
        torch.testing.assert_close(mine, wanted, rtol=1e-2 if dtype == torch.bfloat16 else 1e-12, atol=1e-12)
    for a, b in zip(ours.buffers(), theirs.buffers(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        normalize_over(nn.BatchNorm1d(3), Ranks(), torch.ones(1, 3))
