"""Which sentences make a batch, and windows of one long row of tokens: pure functions of their arguments."""

import torch

from lamina._errors import DataError, at_least
from lamina._types import Int, Tensor

_POOL = 100  # batches that are sorted together


def _bucketed_order(
    lengths: Int[Tensor, "example ..."], batch_size: int, seed: int, epoch: int
) -> list[Int[Tensor, " _"]]:
    """Give the batches of an epoch, each of alike lengths, in random order: a pure function of seed and epoch.

    Examples are shuffled, sorted by length within pools of 100 batches, cut, and the batches shuffled. So batches are
    other ones in every epoch, every example is in exactly one, and only one of them may be smaller.
    """
    at_least("batch_size", batch_size, 1)
    generator = torch.Generator().manual_seed((seed * 2**31 + epoch) % 2**63)
    order = torch.randperm(len(lengths), generator=generator)
    batches = [
        batch
        for pool in order.split(batch_size * _POOL)
        for batch in pool[_sorting(lengths.cpu()[pool])].split(batch_size)
        if len(batch)
    ]
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


def sorted_order(lengths: Int[Tensor, "example ..."], batch_size: int) -> list[Int[Tensor, " _"]]:
    """Give batches of alike lengths without chance, the shortest first, for evaluation.

    >>> [batch.tolist() for batch in sorted_order(torch.tensor([9, 1, 8, 2, 5]), 2)]
    [[1, 3], [4, 2], [0]]
    """
    at_least("batch_size", batch_size, 1)
    return [batch for batch in _sorting(lengths.cpu()).split(batch_size) if len(batch)]


def stream_windows(
    tokens: Int[Tensor, " time"], batch: int, length: int
) -> list[tuple[Int[Tensor, "batch _"], Int[Tensor, "batch _"]]]:
    """Cut one long row of tokens into windows for truncated backpropagation through time.

    The row is cut into `batch` pieces of equal length, which become the rows of one tensor; windows walk along them.
    Row r of a window continues row r of the window before it, so that states are carried on. The last window may be
    shorter; at the very end fewer than `batch` tokens are left out. All windows are views.

    Args:
        tokens: the row.
        batch: how many pieces are read at the same time.
        length: how many steps a window has.

    Returns:
        Inputs and targets of each window; a target is the token after its input.

    >>> [(u.tolist(), s.tolist()) for u, s in stream_windows(torch.arange(8), batch=1, length=4)]
    [([[0, 1, 2, 3]], [[1, 2, 3, 4]]), ([[4, 5, 6]], [[5, 6, 7]])]
    """
    at_least("batch", batch, 1)
    at_least("length", length, 1)
    steps = (len(tokens) - 1) // batch
    if steps < 1:
        raise DataError(
            f"{len(tokens)} tokens are too few for {batch} pieces, which need at least {batch + 1}: use a longer text "
            "or a smaller batch."
        )
    inputs, targets = (tokens[i : i + batch * steps].unflatten(0, (batch, steps)) for i in (0, 1))
    return list(zip(inputs.split(length, 1), targets.split(length, 1), strict=True))


def _sorting(lengths: Tensor) -> Tensor:
    """Give the order by length; with several columns the first decides, then the next."""
    columns = (lengths,) if lengths.ndim == 1 else lengths.unbind(1)
    order = torch.arange(len(lengths))
    for column in reversed(columns):
        order = order[column[order].argsort(stable=True)]
    return order
