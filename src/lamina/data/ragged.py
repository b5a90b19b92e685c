"""Rows of different lengths in one piece of memory, and padded batches of them.

The letters of texts and the tokens of sentences are kept this way: one long tensor and the places where rows begin. A
single row of 10,000 among short ones costs 10,000 numbers, not 10,000 for every row.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from lamina._errors import DataError
from lamina._types import Int, Tensor


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of whole numbers, each of its own length.

    Args:
        values: all rows, one after another.
        starts: where each row begins, and at the end the number of values.
        fill: what stands after the end of a row in a padded batch; it never occurs within a row.

    >>> rows = Ragged.of([[5, 6], [], [7, 8, 9]], fill=0)
    >>> rows.lengths.tolist(), rows.padded(torch.tensor([2, 0])).tolist()
    ([2, 0, 3], [[7, 8, 9], [5, 6, 0]])
    """

    values: Int[Tensor, " value"]
    starts: Int[Tensor, " _"]
    fill: int

    @classmethod
    def of(cls, rows: Iterable[Sequence[int] | Tensor], fill: int, dtype: torch.dtype = torch.int64) -> "Ragged":
        """Join rows.

        >>> Ragged.of([[1], [2, 3]], fill=0).values.tolist()
        [1, 2, 3]
        """
        parts = [torch.as_tensor(row, dtype=dtype) for row in rows]
        values = torch.cat([*parts, torch.zeros(0, dtype=dtype)])
        return cls.by_lengths(values, torch.tensor([len(part) for part in parts], dtype=torch.int64), fill)

    @classmethod
    def by_lengths(cls, values: Int[Tensor, " value"], lengths: Int[Tensor, " row"], fill: int) -> "Ragged":
        """Cut one long tensor into rows of these lengths.

        >>> Ragged.by_lengths(torch.tensor([1, 2, 3]), torch.tensor([1, 2]), fill=0).row(1).tolist()
        [2, 3]
        """
        starts = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        if int(starts[-1]) != len(values):
            raise DataError(f"`lengths` must add up to the number of values ({len(values)}), got {int(starts[-1])}.")
        return cls(values, starts, fill)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> Int[Tensor, " row"]:
        """The length of each row, on the CPU."""
        return self.starts.diff().cpu()

    @property
    def longest(self) -> int:
        """The length of the longest row; 0 without rows."""
        return int(self.lengths.max()) if len(self) else 0

    def row(self, index: int) -> Int[Tensor, " _"]:
        """Give one row."""
        return self.values[int(self.starts[index]) : int(self.starts[index + 1])]

    def padded(self, indices: Int[Tensor, " batch"], width: int | None = None) -> Int[Tensor, "batch time"]:
        """Give rows as one tensor, filled up to the longest of them.

        Args:
            indices: which rows; on the device of `values`, or on the CPU.
            width: the number of columns when another one is wanted; longer rows are cut. With it nothing waits for
                a GPU.

        >>> Ragged.of([[5, 6], [7]], fill=-1).padded(torch.tensor([1]), width=3).tolist()
        [[7, -1, -1]]
        """
        if width is None:
            width = int(self.lengths[indices.cpu()].max()) if len(indices) else 0
        indices = indices.to(self.values.device)
        begin = self.starts[indices]
        steps = torch.arange(width, device=self.values.device)
        inside = steps < (self.starts[indices + 1] - begin)[:, None]
        if not len(self.values):
            return self.values.new_full(inside.shape, self.fill)
        places = (begin[:, None] + steps).clamp(max=len(self.values) - 1)
        return torch.where(inside, self.values[places], self.fill)

    def to(self, device: torch.device | str) -> "Ragged":
        """Give the same rows on another device."""
        return Ragged(self.values.to(device), self.starts.to(device), self.fill)


def lengths_of(tokens: Int[Tensor, "*batch time"], fill: int = 0) -> Int[Tensor, "*batch"]:
    """Count the entries of each row before its padding; nothing waits for a GPU.

    >>> lengths_of(torch.tensor([[7, 8, 9], [5, 0, 0]])).tolist()
    [3, 1]
    """
    return (tokens != fill).sum(-1)
