"""Convolution in which each output map sees only some of the input maps, as layer C3 of the 1998 LeNet-5."""

from collections.abc import Sequence

import torch
from torch import nn

from lamina._errors import ArgumentError, at_least
from lamina._types import Float, Seed, Tensor
from lamina.functional.initialization import draw
from lamina.functional.random import as_generator

LENET5_TABLE: tuple[tuple[int, ...], ...] = (
    (0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5), (0, 4, 5), (0, 1, 5),
    (0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (0, 3, 4, 5), (0, 1, 4, 5), (0, 1, 2, 5),
    (0, 1, 3, 4), (1, 2, 4, 5), (0, 2, 3, 5),
    (0, 1, 2, 3, 4, 5),
)  # fmt: skip
"""The connections of C3 in 1998: six neighbors of three, six of four, three split fours, all six; 60 kernels."""


class PartialConv2d(nn.Module):
    r"""Convolve with kernels only where a table connects an input map to an output map.

    $$\hat Y_{\cdot\cdot k} = \sum_{c \in T_k} K_{kc} \star Y_{\cdot\cdot c} + b_k$$
    with $\star$ the cross-correlation of one matrix (as in `torch.nn.Conv2d`) and $T_k$ the k-th row of `table`.
    Only existing connections have variables: `weight` stacks their kernels, row after row of the table.

    Notes: N3.07 (§3).
    Corrects: E37, the second convolution of 1998 has 1516 variables, not 2416.

    Args:
        in_channels: the number of input maps.
        table: for each output map the indices of the input maps that it sees.
        kernel_size: the side m of the square kernels.
        initialization: the rule for the kernels; n_in counts the existing connections of an output map.
        scale: the factor of that rule.
        seed: an integer or a generator.

    >>> layer = PartialConv2d(6, LENET5_TABLE, 5)
    >>> layer.weight.shape, sum(p.numel() for p in layer.parameters())
    (torch.Size([60, 5, 5]), 1516)
    """

    index: Tensor

    def __init__(
        self,
        in_channels: int,
        table: Sequence[Sequence[int]],
        kernel_size: int,
        *,
        initialization: str = "xavier",
        scale: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        at_least("kernel_size", kernel_size, 1)
        _check(in_channels, table)
        generator, m = as_generator(seed), kernel_size
        self.weight = nn.Parameter(
            torch.cat([draw(initialization, (1, len(row), m, m), generator, scale)[0] for row in table])
        )
        self.bias = nn.Parameter(torch.zeros(len(table)))
        # Where connection (k, c) finds its kernel; missing ones point behind the last kernel, to a zero one.
        index = torch.full((len(table), in_channels), len(self.weight))
        places = [(k, c) for k, row in enumerate(table) for c in row]
        index[tuple(torch.tensor(places).T)] = torch.arange(len(places))
        self.register_buffer("index", index, persistent=False)

    def kernels(self) -> Float[Tensor, "*members out_channel channel rows columns"]:
        """Return the full stack of kernels, with zeros where nothing is connected."""
        return torch.cat([self.weight, torch.zeros_like(self.weight[..., :1, :, :])], -3)[..., self.index, :, :]

    def forward(
        self, inputs: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch out_channel rows columns"]:
        """Return one map for each row of the table."""
        return nn.functional.conv2d(inputs, self.kernels(), self.bias)

    def extra_repr(self) -> str:
        """Show the sizes."""
        out_channels, in_channels = self.index.shape
        return f"{in_channels}, {out_channels}, connections={len(self.weight)}"


def _check(in_channels: int, table: Sequence[Sequence[int]]) -> None:
    if not table or not all(table):
        raise ArgumentError("`table` must have a row for each output map and no empty row: a map needs an input.")
    for row in table:
        if len(set(row)) < len(row) or not all(0 <= c < in_channels for c in row):
            raise ArgumentError(
                f"each row of `table` must hold different input maps from 0 to {in_channels - 1}, got {tuple(row)}: "
                "correct the row or raise `in_channels`."
            )
