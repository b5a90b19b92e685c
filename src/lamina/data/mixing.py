r"""Examples mixed with their neighbors in the batch: mixup and cutmix, with targets that remember both.

$\lambda$ is one number for a batch, a pure function of (seed, step), so that the loss of a batch is
$\lambda L(y, S_a) + (1 - \lambda) L(y, S_b)$ for any loss L, also one that gives a single number for the batch. The
neighbor of an example is the one before it: the order of an epoch is random already. Targets stay one tensor: a row has
the target of the example, that of its neighbor and $\lambda$, as `joined` writes them and `parted` reads them.
"""

import math
from collections.abc import Callable

import torch

from lamina._types import Float, Num, Tensor
from lamina.data.augment import Augment
from lamina.functional.mixing import cutmix_box, mixup, symmetric_beta
from lamina.functional.random import uniform

# Streams of the random hash, those after the changes of single pictures.
_MIX, _MIX_TOO, _CUT, _CUT_TOO, _DOWN, _ACROSS, _WHICH = range(0x41554710, 0x41554717)


def mixed(
    kept: Num[Tensor, "batch ..."],
    changes: Augment,
    finish: Callable[[Tensor], Tensor],
    seed: int | Tensor,
    step: int | Tensor,
) -> tuple[Float[Tensor, "batch ..."], Float[Tensor, ""]]:
    """Mix each example of a batch with the one before it.

    Args:
        kept: examples before the last step of their preparation; pictures with their axes.
        changes: says how to mix.
        finish: the last step of the preparation.
        seed: which experiment.
        step: which update.

    Returns:
        Prepared inputs, and the share of each example in what it has become.

    >>> inputs, share = mixed(torch.eye(2), Augment(mixup=1.0), lambda kept: kept, seed=0, step=0)
    >>> torch.allclose(inputs, torch.stack([torch.stack([share, 1 - share]), torch.stack([1 - share, share])]))
    True
    """

    def chance(stream: int) -> Tensor:
        return uniform((), seed, stream, step, kept.device)

    share = blend = torch.ones((), device=kept.device)
    if changes.mixup:
        share = blend = symmetric_beta(chance(_MIX), chance(_MIX_TOO), changes.mixup)
    if changes.cutmix:
        size = kept.shape[-2], kept.shape[-1]
        box = cutmix_box(symmetric_beta(chance(_CUT), chance(_CUT_TOO), changes.cutmix), chance(_DOWN), chance(_ACROSS),
                         *size)  # fmt: skip
        if changes.mixup:
            whole = chance(_WHICH) < 0.5
            box, blend = box & ~whole, torch.where(whole, share, torch.ones_like(share))
        left = 1 - box.sum() / math.prod(size)
        share = torch.where(whole, share, left) if changes.mixup else left
        kept = torch.where(box, kept.roll(1, 0), kept)
    inputs = finish(kept)
    return (mixup(inputs, inputs.roll(1, 0), blend.to(inputs.dtype)) if changes.mixup else inputs), share


def joined(targets: Num[Tensor, "batch ..."], share: Float[Tensor, "..."], axes: int = 1) -> Float[Tensor, "batch ..."]:
    """Write the target of the example before, and how much of each there is, behind each target.

    Args:
        targets: those of the examples.
        share: how much of each example is left; one number, or one for each member on the second axis.
        axes: how many axes there are before those of a target.

    >>> joined(torch.tensor([3, 5]), torch.tensor(0.75)).tolist()
    [[3.0, 5.0, 0.75], [5.0, 3.0, 0.75]]
    """
    rows = targets.reshape(*targets.shape[:axes], -1)
    rows = rows if rows.is_floating_point() else rows.float()
    members = rows.shape[:-1] if share.ndim == 0 else (*rows.shape[:1], *share.shape)
    both = torch.cat([rows, rows.roll(1, 0)], -1).expand(*members, -1)
    return torch.cat([both, share.to(rows.dtype).unsqueeze(-1).expand(*members, 1)], -1)


def parted(
    targets: Float[Tensor, "batch ..."], shape: tuple[int, ...], axes: int = 1
) -> tuple[Float[Tensor, "batch ..."], Float[Tensor, "batch ..."], Float[Tensor, "..."]]:
    """Read both targets and the share, as `joined` wrote them.

    Args:
        targets: rows of both.
        shape: that of one target.
        axes: how many axes there are before it.

    >>> first, second, share = parted(torch.tensor([[3.0, 5.0, 0.75], [5.0, 3.0, 0.75]]), ())
    >>> first.tolist(), second.tolist(), share.item()
    ([3.0, 5.0], [5.0, 3.0], 0.75)
    """
    size = math.prod(shape)
    first, second, share = targets.split([size, size, 1], -1)
    lead = targets.shape[:axes]
    return first.reshape(*lead, *shape), second.reshape(*lead, *shape), share[0].squeeze(-1)
