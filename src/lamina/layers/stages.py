"""A stage of a ResNet: residual blocks of one kind, the first of which changes the sizes."""

from collections.abc import Callable

from torch import nn

from lamina._errors import at_least, choice
from lamina._types import Seed
from lamina.functional.random import as_generator
from lamina.layers.bottleneck import OriginalBottleneck, PreActBottleneck
from lamina.layers.residual_blocks import OriginalBlock, PreActBlock, ResidualBlock

BLOCKS = ("original", "preactivation")
"""The names that every `block` option accepts."""

_CLASSES: dict[tuple[str, bool], type[ResidualBlock]] = {
    ("original", False): OriginalBlock,
    ("original", True): OriginalBottleneck,
    ("preactivation", False): PreActBlock,
    ("preactivation", True): PreActBottleneck,
}


def block_class(kind: str, *, bottleneck: bool = False) -> type[ResidualBlock]:
    """Look up the class of a residual block.

    Notes: N4.34 (§4.2).

    Args:
        kind: "original" or "preactivation".
        bottleneck: whether the block has three weights instead of two.

    >>> block_class("preactivation").__name__
    'PreActBlock'
    """
    choice("block", kind, BLOCKS)
    return _CLASSES[kind, bottleneck]


def stage(
    make: Callable[..., ResidualBlock],
    in_channels: int,
    out_channels: int,
    count: int,
    *,
    stride: int = 1,
    zero_branch: bool = False,
    seed: Seed = 0,
) -> nn.Sequential:
    """Stack residual blocks; the first has the stride and the change of channels.

    Notes: N4.20 (§4.1).

    Args:
        make: what makes a block, such as the class `OriginalBlock` or a partial application of it.
        in_channels: the number of channels that come.
        out_channels: the number of channels that leave.
        count: the number of blocks.
        stride: by which height and width shrink.
        zero_branch: whether every block starts as its shortcut.
        seed: an integer or a generator.

    >>> sum(p.numel() for p in stage(OriginalBlock, 64, 128, 2, stride=2).parameters())
    525568
    """
    at_least("count", count, 1)
    generator = as_generator(seed)
    sizes = [(in_channels, stride)] + [(out_channels, 1)] * (count - 1)
    blocks = [make(channels, out_channels, stride=step, seed=generator) for channels, step in sizes]
    if zero_branch:
        for block in blocks:
            block.zero_branch()
    return nn.Sequential(*blocks)
