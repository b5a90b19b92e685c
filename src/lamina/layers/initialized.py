"""torch.nn's dense and convolutional layers, with weights from our own rules instead of the global generator.

`nn.Linear(...)` draws its weights from the process-wide generator when it is made. These two builders make the same
torch modules without that draw and fill them by `lamina.functional.initialization`; biases start at zero.
`torch.nn.utils.skip_init` would do the same, but it imports a computer algebra system on the way, for about a second.
"""

from typing import TypeVar

import torch
from torch import nn

from lamina._types import Seed
from lamina.functional.initialization import draw

Layer = TypeVar("Layer", nn.Linear, nn.Conv2d)


class _Linear(nn.Linear):
    def reset_parameters(self) -> None:
        """Draw nothing: `_fill` does."""


class _Conv2d(nn.Conv2d):
    def reset_parameters(self) -> None:
        """Draw nothing: `_fill` does."""


@torch.no_grad()
def linear(
    in_features: int,
    out_features: int,
    *,
    bias: bool = True,
    initialization: str = "xavier",
    scale: float = 1.0,
    seed: Seed = 0,
) -> nn.Linear:
    """Make an `nn.Linear` whose weight is drawn by a rule of the notes and whose bias is zero.

    Notes: N2.02, N2.28 (§2, §2.2).
    Differs: torch.nn.Linear starts uniform with std 1/sqrt(3 n_in) and a random bias.

    >>> linear(3, 2, initialization="constant", scale=0.5).weight.tolist()
    [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    """
    layer: nn.Linear = _Linear(in_features, out_features, bias=bias)
    layer.__class__ = nn.Linear
    return _fill(layer, initialization, scale, seed)


@torch.no_grad()
def conv2d(
    in_channels: int,
    out_channels: int,
    kernel_size: int,
    *,
    stride: int = 1,
    padding: int = 0,
    groups: int = 1,
    bias: bool = True,
    initialization: str = "he",
    scale: float = 1.0,
    seed: Seed = 0,
) -> nn.Conv2d:
    """Make an `nn.Conv2d` whose kernels are drawn by a rule of the notes and whose bias is zero.

    Notes: N3.30 (§3.2).

    >>> sum(p.numel() for p in conv2d(1, 6, 5, padding=2).parameters())
    156
    """
    layer: nn.Conv2d = _Conv2d(
        in_channels, out_channels, kernel_size, stride=stride, padding=padding, groups=groups, bias=bias
    )
    layer.__class__ = nn.Conv2d
    return _fill(layer, initialization, scale, seed)


def _fill(layer: Layer, initialization: str, scale: float, seed: Seed) -> Layer:
    if layer.weight.is_meta:  # nothing to draw; torch would load its compiler for that, a second and a half
        return layer
    layer.weight.copy_(draw(initialization, tuple(layer.weight.shape), seed, scale))
    if layer.bias is not None:
        layer.bias.zero_()
    return layer
