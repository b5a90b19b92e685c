"""Residual blocks with two 3x3 convolutions: the original order and full pre-activation.

Convolutions have no bias: the batch normalization that follows (in the next block, at the latest) would take it away
again. The names of the parts are those of torchvision's ResNets, so that their weights load.
"""

from functools import partial

import torch
from torch import nn

from lamina._types import Float, Seed, Tensor
from lamina.functional.random import as_generator
from lamina.layers.initialized import conv2d
from lamina.layers.normalization import norm_relu, norm_relu_and_skip
from lamina.layers.shortcuts import make_shortcut, shortcut_of


class OriginalBlock(nn.Module):
    r"""Add a branch of two convolutions to the input and rectify the sum, in the order of He et al. (2015).

    $$y^{[l]} = \mathrm{ReLU}\big(P y^{[l-1]} + \mathrm{BN}(W_2\,\mathrm{ReLU}(\mathrm{BN}(W_1 y^{[l-1]})))\big)$$
    with $W_1, W_2$ 3x3 convolutions and P the identity, or `downsample` where sizes change. The output is never
    negative; with zero weights it is ReLU(y). The ReLU after the sum is why this is no step of an ODE $y + \tau f(y)$.

    Notes: N4.19, N4.20, N4.21, N4.24 (§4.1).
    Corrects: E58, "pre" and "post" count from the sum in the notes, from the weights in He et al.

    Args:
        in_channels: the number of channels that come.
        out_channels: the number of channels that leave.
        stride: by which height and width shrink, in the first convolution and the shortcut.
        shortcut: "projection" (1x1 convolution and batch normalization) or "zero-pad".
        initialization: the rule for the kernels.
        scale: the factor of that rule.
        seed: an integer or a generator.

    >>> block = OriginalBlock(2, 2)
    >>> bool((block(torch.randn(4, 2, 5, 5, generator=torch.Generator())) >= 0).all())
    True
    """

    stackable = True

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
        self.conv1 = weights(in_channels, out_channels, 3, stride=stride, padding=1)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.conv2 = weights(out_channels, out_channels, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.downsample = make_shortcut(shortcut, in_channels, out_channels, stride, weights=weights, norm=True)

    @torch.no_grad()
    def zero_branch(self) -> None:
        """Set the last scale to zero, so that the block starts as the rectified shortcut."""
        self.bn2.weight.zero_()

    def forward(
        self, inputs: Float[Tensor, "*#batch channel height width"]
    ) -> Float[Tensor, "*batch out_channel rows columns"]:
        """Return ReLU(shortcut + branch)."""
        y = inputs
        branch = self.conv2(norm_relu(self.bn1, self.conv1(y)))
        return norm_relu(self.bn2, branch, residual=shortcut_of(self.downsample, y))


class PreActBlock(nn.Module):
    r"""Add a branch of two convolutions to the input, each behind its normalization and ReLU (He et al., 2016).

    $$y^{[l]} = P y^{[l-1]} + W_2\,\mathrm{ReLU}(\mathrm{BN}(W_1\,\mathrm{ReLU}(\mathrm{BN}(y^{[l-1]}))))$$
    with $W_1, W_2$ 3x3 convolutions and P the identity. Where sizes change, a zero-padded shortcut also starts from y,
    a learned one (without normalization) from ReLU(BN(y)), as in the authors' code. With zero weights the block is
    the identity; its output may be negative. Nothing follows the sum, so it is a step $y + \tau f(y)$ of an ODE.

    Notes: N4.20, N4.21, N4.23, N4.24, N4.25 (§4.1).
    Differs: TensorFlow knows ResNets of this block as ResNetV2; torchvision has none.
    Corrects: E58, "pre" and "post" count from the sum in the notes, from the weights in He et al.

    Args:
        in_channels: the number of channels that come.
        out_channels: the number of channels that leave.
        stride: by which height and width shrink, in the first convolution and the shortcut.
        shortcut: "projection" (1x1 convolution) or "zero-pad".
        initialization: the rule for the kernels.
        scale: the factor of that rule.
        seed: an integer or a generator.

    >>> block, y = PreActBlock(2, 2), torch.randn(4, 2, 5, 5, generator=torch.Generator())
    >>> block.zero_branch()
    >>> block(y).equal(y)
    True
    """

    stackable = True

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
        self.bn1 = nn.BatchNorm2d(in_channels)
        self.conv1 = weights(in_channels, out_channels, 3, stride=stride, padding=1)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.conv2 = weights(out_channels, out_channels, 3, padding=1)
        self.downsample = make_shortcut(shortcut, in_channels, out_channels, stride, weights=weights, norm=False)

    @torch.no_grad()
    def zero_branch(self) -> None:
        """Set the last kernels to zero, so that the block starts as its shortcut."""
        self.conv2.weight.zero_()

    def forward(
        self, inputs: Float[Tensor, "*#batch channel height width"]
    ) -> Float[Tensor, "*batch out_channel rows columns"]:
        """Return shortcut + branch."""
        y = inputs
        active, skip = norm_relu_and_skip(self.bn1, y)
        branch = self.conv2(norm_relu(self.bn2, self.conv1(active)))
        return self.downsample(active if isinstance(self.downsample, nn.Conv2d) else skip) + branch
