"""What a network reads and writes where it is used without Lamina: a module of tensors, and the ends of its graph."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from lamina._types import Num, Tensor

Draw = Callable[[tuple[int, ...], torch.Generator], Tensor]
"""Draws values of a shape that a network could meet."""


def normal(shape: tuple[int, ...], generator: torch.Generator) -> Num[Tensor, "..."]:
    """Draw standard normal numbers."""
    return torch.randn(shape, generator=generator)


def below(count: int, dtype: torch.dtype = torch.int64) -> Draw:
    """Give what draws whole numbers from 0 on.

    >>> below(3)((1000,), torch.Generator().manual_seed(0)).unique().tolist()
    [0, 1, 2]
    """
    return lambda shape, generator: torch.randint(count, shape, generator=generator).to(dtype)


@dataclass(frozen=True)
class Port:
    """An input of an exported network.

    Args:
        name: what it is called.
        axes: the size of each axis, or a name where any size will do.
        draw: draws values of it, with which the exported network is compared with the trained one.
    """

    name: str
    axes: tuple[int | str, ...]
    draw: Draw = normal

    def example(self, sizes: Mapping[str, int], generator: torch.Generator) -> Num[Tensor, "..."]:
        """Draw an input whose free axes have these sizes.

        >>> Port("words", ("batch", "time"), below(5)).example({"batch": 2, "time": 3}, torch.Generator()).shape
        torch.Size([2, 3])
        """
        shape = tuple(axis if isinstance(axis, int) else sizes[axis] for axis in self.axes)
        return self.draw(shape, generator)


@dataclass(frozen=True)
class Deployed:
    """A network as it is used without Lamina.

    Args:
        module: takes one tensor per input and returns one per output.
        inputs: what it reads.
        outputs: the names of what it gives.
        classes: the names along the last axis of the first output, if the largest of it is the answer.
        columns: for the rows of a table the name and the levels of each column.
    """

    module: nn.Module
    inputs: tuple[Port, ...]
    outputs: tuple[str, ...] = ("outputs",)
    classes: tuple[str, ...] = ()
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def examples(self, sizes: Mapping[str, int], seed: int = 0) -> tuple[Num[Tensor, "..."], ...]:
        """Draw inputs whose free axes have these sizes."""
        generator = torch.Generator().manual_seed(seed)
        return tuple(port.example(sizes, generator) for port in self.inputs)

    @property
    def free(self) -> tuple[str, ...]:
        """The names of the free axes, in the order of their first use."""
        return tuple(dict.fromkeys(axis for port in self.inputs for axis in port.axes if isinstance(axis, str)))


class Steps(nn.Module):
    """A network with what comes before and after it as one module.

    Args:
        network: the network.
        call: takes the network and the inputs, and gives the outputs.
    """

    def __init__(self, network: nn.Module, call: Callable[..., Any]) -> None:
        super().__init__()
        self.network, self.call = network, call

    def forward(self, *inputs: Num[Tensor, "..."]) -> Any:
        """Return the outputs."""
        return self.call(self.network, *inputs)
