r"""Batch normalization over the whole batch where its examples lie on several ranks.

$$\mu = \frac1v \sum_r \sum_{j \in B_r} y_j, \qquad \sigma^2 = \frac1v \sum_r \sum_{j \in B_r} (y_j - \mu)^{.2}$$
with the parts $B_r$ of a batch and v values a feature in all of them: first the sums, then the centered squares, as one
process computes them, so that nothing cancels. Both are sums over ranks whose derivative is a sum over ranks again,
and autograd does the rest. torch's SyncBatchNorm computes the same on GPUs and has no form for the CPU.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from lamina._types import Float, Tensor
from lamina.training.ranks import Ranks


class _Sum(torch.autograd.Function):
    """Add up a tensor over all ranks; all see every rank's derivative of the sum."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, ranks: Ranks) -> Tensor:
        ctx.ranks = ranks
        return ranks.sum_(values.clone(memory_format=torch.contiguous_format))

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.ranks.sum_(slopes[0].clone(memory_format=torch.contiguous_format)), None


def normalize_over(
    norm: _BatchNorm, ranks: Ranks, inputs: Float[Tensor, "batch feature *image"]
) -> Float[Tensor, "batch feature *image"]:
    """Normalize a part of a batch as it is in the whole one, and move the running statistics; in evaluation alone.

    A rank without examples takes part: what it computes has no weight, and it has the same running statistics.
    """
    if not norm.training:
        return type(norm).forward(norm, inputs)
    norm._check_input_dim(inputs)
    values = inputs.float() if inputs.dtype in (torch.bfloat16, torch.float16) else inputs
    axes, spread = (0, *range(2, values.ndim)), (-1, *[1] * (values.ndim - 2))
    weight = 0.0 if ranks.blank else 1.0
    own = values.new_full((1,), weight * (values.numel() // values.shape[1]))
    found = cast(Tensor, _Sum.apply(torch.cat([weight * values.sum(axes), own]), ranks))
    mean, count = found[:-1] / found[-1].detach(), found[-1].detach()
    if count.device.type == "cpu" and count < 2:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(inputs.shape)}")
    centered = values - mean.reshape(spread)
    squares = cast(Tensor, _Sum.apply(weight * centered.square().sum(axes), ranks))
    variance = squares / count
    if norm.track_running_stats and norm.running_mean is not None and norm.running_var is not None:
        with torch.no_grad():
            assert norm.num_batches_tracked is not None
            norm.num_batches_tracked.add_(1)
            move = norm.momentum if norm.momentum is not None else 1 / norm.num_batches_tracked.to(mean)
            for running, now in ((norm.running_mean, mean), (norm.running_var, squares / (count - 1))):
                running.mul_(1 - move).add_(now.to(running) * move)
    outputs = centered * torch.rsqrt(variance + norm.eps).reshape(spread)
    if norm.affine:
        outputs = outputs * norm.weight.reshape(spread)
        outputs = outputs if norm.bias is None else outputs + norm.bias.reshape(spread)
    return outputs.to(inputs.dtype)


def norms(model: nn.Module) -> Iterator[_BatchNorm]:
    """Give the batch normalizations of a network, but those that look at all ranks by themselves."""
    return (part for part in model.modules() if isinstance(part, _BatchNorm) and not isinstance(part, nn.SyncBatchNorm))


def attach(model: nn.Module, ranks: Ranks) -> None:
    """Let the batch normalizations of a network look at the whole batch, while several ranks train it."""
    for norm in norms(model) if ranks.many else ():
        vars(norm)["forward"] = partial(normalize_over, norm, ranks)


def detach(model: nn.Module) -> None:
    """Let them look at what they are given again."""
    for norm in norms(model):
        vars(norm).pop("forward", None)
