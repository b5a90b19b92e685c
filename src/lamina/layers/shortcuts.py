"""The skip connections of residual blocks: what carries y past the branch when sizes change."""

from collections.abc import Callable

from torch import nn

from lamina._errors import ArgumentError, at_least, choice
from lamina._types import Float, Tensor
from lamina.layers.initialized import conv2d
from lamina.layers.normalization import normalized

SHORTCUTS = ("projection", "zero-pad")
"""The names that every `shortcut` option accepts."""


class ZeroPadShortcut(nn.Module):
    r"""Keep every s-th row and column and append channels of zeros: a shortcut without variables.

    $$(P\,Y)_{ijk} = Y_{1+s(i-1),\,1+s(j-1),\,k} \ \text{for}\ k \le n_{in}, \qquad 0 \ \text{for}\ k > n_{in}$$

    Notes: N4.06 (§4, Remark 4.1).
    Corrects: E55, a rectangular map is no projection in the algebraic sense; this is the fixed one of the two options.

    Args:
        in_channels: the number of input channels.
        out_channels: the number of output channels, not fewer.
        stride: the step s.

    >>> import torch
    >>> ZeroPadShortcut(1, 2, 2)(torch.arange(4.0).reshape(1, 1, 2, 2)).tolist()
    [[[[0.0]], [[0.0]]]]
    """

    stackable = True

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1) -> None:
        super().__init__()
        at_least("stride", stride, 1)
        if out_channels < in_channels:
            raise ArgumentError(
                f"`out_channels` must be at least `in_channels` ({in_channels}), got {out_channels}: "
                'zero padding only adds channels; use shortcut="projection".'
            )
        self.extra, self.stride = out_channels - in_channels, stride

    def forward(
        self, inputs: Float[Tensor, "*#batch channel height width"]
    ) -> Float[Tensor, "*batch out_channel rows columns"]:
        """Return the subsampled maps followed by zeros."""
        return nn.functional.pad(inputs[..., :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.extra))

    def extra_repr(self) -> str:
        """Show what is added and skipped."""
        return f"extra={self.extra}, stride={self.stride}"


def make_shortcut(
    kind: str,
    in_channels: int,
    out_channels: int,
    stride: int,
    *,
    weights: Callable[..., nn.Conv2d] = conv2d,
    norm: bool = True,
) -> nn.Module:
    """Make the shortcut of a block: the identity where sizes agree, else a learned or a fixed change of size.

    Notes: N4.06 (§4, Remark 4.1).
    Corrects: E55, both readings of "projection" are options.

    Args:
        kind: "projection", a learned 1x1 convolution, or "zero-pad", which has no variables.
        in_channels: the number of input channels.
        out_channels: the number of output channels.
        stride: the factor by which height and width shrink.
        weights: what makes the learned convolution.
        norm: whether a batch normalization follows it.

    >>> make_shortcut("projection", 8, 8, 1)
    Identity()
    >>> sum(p.numel() for p in make_shortcut("projection", 64, 128, 2).parameters())
    8448
    """
    choice("shortcut", kind, SHORTCUTS)
    if stride == 1 and in_channels == out_channels:
        return nn.Identity()
    if kind == "zero-pad":
        return ZeroPadShortcut(in_channels, out_channels, stride)
    learned = weights(in_channels, out_channels, 1, stride=stride, bias=False)
    return nn.Sequential(learned, nn.BatchNorm2d(out_channels)) if norm else learned


def _shortcut_of(shortcut: nn.Module, inputs: Float[Tensor, "*batch channel height width"]) -> Tensor:
    """Apply the shortcut of a block; its batch normalization goes through the kernels where they apply.

    >>> import torch
    >>> _shortcut_of(make_shortcut("zero-pad", 1, 1, 2), torch.arange(4.0).reshape(1, 1, 2, 2)).tolist()
    [[[[0.0]]]]
    """
    if isinstance(shortcut, nn.Sequential):
        return normalized(shortcut[1], shortcut[0](inputs))
    return shortcut(inputs)
