"""Residual blocks of convolutions: what all share, and the two with two 3x3 convolutions.

Convolutions have no bias: the batch normalization that follows (in the next block, at the latest) would take it away
again. The names of the parts are those of torchvision's ResNets, so that their weights load.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from lamina._types import Float, Seed, Tensor
from lamina.functional.random import as_generator
from lamina.layers.initialized import conv2d
from lamina.layers.normalization import norm_relu, norm_relu_and_skip
from lamina.layers.shortcuts import _shortcut_of, make_shortcut


class ResidualBlock(nn.Module):
    """A branch of convolutions and the shortcut past it; each kind of block says which parts its branch has.

    Args:
        in_channels: the number of input channels.
        out_channels: the number of output channels; in a bottleneck, four times those in the middle.
        stride: the factor by which height and width shrink, in the first 3x3 convolution and the shortcut.
        shortcut: "projection" (1x1 convolution, with batch normalization where the branch ends with one) or "zero-pad".
        initialization: the rule for the kernels.
        scale: the factor of that rule.
        seed: an integer or a generator.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        stride: int = 1,
        shortcut: str = "projection",
        initialization: str = "he",
        scale: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        weights = partial(conv2d, bias=False, initialization=initialization, scale=scale, seed=as_generator(seed))
        self._make_branch(weights, in_channels, out_channels, stride)
        *_, (self._end, end) = self.named_children()
        norm = isinstance(end, nn.BatchNorm2d)
        self.downsample = make_shortcut(shortcut, in_channels, out_channels, stride, weights=weights, norm=norm)

    def _make_branch(self, weights: Callable[..., nn.Conv2d], n_in: int, n_out: int, stride: int) -> None:
        raise NotImplementedError

    @torch.no_grad()
    def zero_branch(self) -> None:
        """Set the last scale or the last kernels of the branch to zero, so that the block starts as its shortcut."""
        getattr(self, self._end).weight.zero_()


class OriginalBlock(ResidualBlock):
    r"""Add a branch of two convolutions to the input and rectify the sum, in the order of He et al. (2015).

    $$y^{[l]} = \mathrm{ReLU}\big(P y^{[l-1]} + \mathrm{BN}(W_2\,\mathrm{ReLU}(\mathrm{BN}(W_1 y^{[l-1]})))\big)$$
    with $W_1, W_2$ 3x3 convolutions and P the identity, or `downsample` where sizes change. The output is never
    negative; with zero weights it is ReLU(y). The ReLU after the sum is why this is no step of an ODE $y + \tau f(y)$.

    Notes: N4.19, N4.20, N4.21, N4.24 (§4.1).
    Corrects: E58, "pre" and "post" count from the sum in the notes, from the weights in He et al.

    The arguments are those of `ResidualBlock`.

    >>> block = OriginalBlock(2, 2)
    >>> bool((block(torch.randn(4, 2, 5, 5, generator=torch.Generator())) >= 0).all())
    True
    """

    stackable = True

    def _make_branch(self, weights: Callable[..., nn.Conv2d], n_in: int, n_out: int, stride: int) -> None:
        self.conv1 = weights(n_in, n_out, 3, stride=stride, padding=1)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = weights(n_out, n_out, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(n_out)

    def forward(
        self, inputs: Float[Tensor, "*#batch channel height width"]
    ) -> Float[Tensor, "*batch out_channel rows columns"]:
        """Return ReLU(shortcut + branch)."""
        y = inputs
        branch = self.conv2(norm_relu(self.bn1, self.conv1(y)))
        return norm_relu(self.bn2, branch, residual=_shortcut_of(self.downsample, y))


class PreActBlock(ResidualBlock):
    r"""Add a branch of two convolutions to the input, each behind its normalization and ReLU (He et al., 2016).

    $$y^{[l]} = P y^{[l-1]} + W_2\,\mathrm{ReLU}(\mathrm{BN}(W_1\,\mathrm{ReLU}(\mathrm{BN}(y^{[l-1]}))))$$
    with $W_1, W_2$ 3x3 convolutions and P the identity. Where sizes change, a zero-padded shortcut also starts from y,
    a learned one (without normalization) from ReLU(BN(y)), as in the authors' code. With zero weights the block is
    the identity; its output may be negative. Nothing follows the sum, so it is a step $y + \tau f(y)$ of an ODE.

    Notes: N4.20, N4.21, N4.23, N4.24, N4.25 (§4.1).
    Differs: TensorFlow knows ResNets of this block as ResNetV2; torchvision has none.
    Corrects: E58, "pre" and "post" count from the sum in the notes, from the weights in He et al.

    The arguments are those of `ResidualBlock`.

    >>> block, y = PreActBlock(2, 2), torch.randn(4, 2, 5, 5, generator=torch.Generator())
    >>> block.zero_branch()
    >>> block(y).equal(y)
    True
    """

    stackable = True

    def _make_branch(self, weights: Callable[..., nn.Conv2d], n_in: int, n_out: int, stride: int) -> None:
        self.bn1 = nn.BatchNorm2d(n_in)
        self.conv1 = weights(n_in, n_out, 3, stride=stride, padding=1)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.conv2 = weights(n_out, n_out, 3, padding=1)

    def forward(
        self, inputs: Float[Tensor, "*#batch channel height width"]
    ) -> Float[Tensor, "*batch out_channel rows columns"]:
        """Return shortcut + branch."""
        y = inputs
        active, skip = norm_relu_and_skip(self.bn1, y)
        branch = self.conv2(norm_relu(self.bn2, self.conv1(active)))
        return self.downsample(active if isinstance(self.downsample, nn.Conv2d) else skip) + branch
