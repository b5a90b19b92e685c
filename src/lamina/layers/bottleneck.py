"""Residual blocks with three convolutions, 1x1, 3x3 and 1x1, the middle one on a quarter of the channels.

Both kinds put the stride into the 3x3 convolution, as torchvision does; the first 1x1 convolution had it in 2015.
"""

from functools import partial

import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina._types import Float, Seed, Tensor
from lamina.functional.random import as_generator
from lamina.layers.fused import preact_bottleneck, served_by
from lamina.layers.initialized import conv2d
from lamina.layers.normalization import norm_relu, norm_relu_and_skip
from lamina.layers.shortcuts import make_shortcut, shortcut_of


def _middle(out_channels: int) -> int:
    if out_channels % 4:
        raise ArgumentError(
            f"`out_channels` of a bottleneck block must be a multiple of 4, got {out_channels}: "
            "its middle convolution has a quarter of them."
        )
    return out_channels // 4


class OriginalBottleneck(nn.Module):
    r"""Add a branch of three convolutions to the input and rectify the sum, in the order of He et al. (2015).

    $$y^{[l]} = \mathrm{ReLU}\big(P y^{[l-1]} +
    \mathrm{BN}(W_3\,\mathrm{ReLU}(\mathrm{BN}(W_2\,\mathrm{ReLU}(\mathrm{BN}(W_1 y^{[l-1]})))))\big)$$
    with $W_1, W_3$ 1x1 and $W_2$ 3x3 convolutions, P the identity or `downsample`.

    Notes: N4.19, N4.20 (§4.1).
    Differs: He et al. had the stride in the first convolution; torchvision has it in the second, as here.
    Corrects: E59, the blocks of ResNet-1001 (and of ResNet-50) have three weights, the drawn ones two.

    Args:
        in_channels: the number of channels that come.
        out_channels: the number of channels that leave, four times those in the middle.
        stride: by which height and width shrink, in the second convolution and the shortcut.
        shortcut: "projection" (1x1 convolution and batch normalization) or "zero-pad".
        initialization: the rule for the kernels.
        scale: the factor of that rule.
        seed: an integer or a generator.

    >>> sum(p.numel() for p in OriginalBottleneck(256, 256).parameters())
    70400
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
        middle = _middle(out_channels)
        weights = partial(conv2d, bias=False, initialization=initialization, scale=scale, seed=as_generator(seed))
        self.conv1 = weights(in_channels, middle, 1)
        self.bn1 = nn.BatchNorm2d(middle)
        self.conv2 = weights(middle, middle, 3, stride=stride, padding=1)
        self.bn2 = nn.BatchNorm2d(middle)
        self.conv3 = weights(middle, out_channels, 1)
        self.bn3 = nn.BatchNorm2d(out_channels)
        self.downsample = make_shortcut(shortcut, in_channels, out_channels, stride, weights=weights, norm=True)

    @torch.no_grad()
    def zero_branch(self) -> None:
        """Set the last scale to zero, so that the block starts as the rectified shortcut."""
        self.bn3.weight.zero_()

    def forward(
        self, inputs: Float[Tensor, "*#batch channel height width"]
    ) -> Float[Tensor, "*batch out_channel rows columns"]:
        """Return ReLU(shortcut + branch)."""
        y = inputs
        narrow = norm_relu(self.bn2, self.conv2(norm_relu(self.bn1, self.conv1(y))))
        return norm_relu(self.bn3, self.conv3(narrow), residual=shortcut_of(self.downsample, y))


class PreActBottleneck(nn.Module):
    r"""Add a branch of three convolutions to the input, each behind its normalization and ReLU (He et al., 2016).

    $$y^{[l]} = P y^{[l-1]} +
    W_3\,\mathrm{ReLU}(\mathrm{BN}(W_2\,\mathrm{ReLU}(\mathrm{BN}(W_1\,\mathrm{ReLU}(\mathrm{BN}(y^{[l-1]}))))))$$
    with $W_1, W_3$ 1x1 and $W_2$ 3x3 convolutions and P as in `PreActBlock`.

    Notes: N4.20, N4.23, N4.25 (§4.1).
    Differs: the authors' code has the stride in the first convolution; here it is in the second for both kinds.
    Corrects: E59, the blocks of ResNet-1001 have three weights, the drawn ones two.

    Args:
        in_channels: the number of channels that come.
        out_channels: the number of channels that leave, four times those in the middle.
        stride: by which height and width shrink, in the second convolution and the shortcut.
        shortcut: "projection" (1x1 convolution) or "zero-pad".
        initialization: the rule for the kernels.
        scale: the factor of that rule.
        seed: an integer or a generator.

    >>> sum(p.numel() for p in PreActBottleneck(64, 64).parameters())
    4544
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
        middle = _middle(out_channels)
        weights = partial(conv2d, bias=False, initialization=initialization, scale=scale, seed=as_generator(seed))
        self.bn1 = nn.BatchNorm2d(in_channels)
        self.conv1 = weights(in_channels, middle, 1)
        self.bn2 = nn.BatchNorm2d(middle)
        self.conv2 = weights(middle, middle, 3, stride=stride, padding=1)
        self.bn3 = nn.BatchNorm2d(middle)
        self.conv3 = weights(middle, out_channels, 1)
        self.downsample = make_shortcut(shortcut, in_channels, out_channels, stride, weights=weights, norm=False)

    @torch.no_grad()
    def zero_branch(self) -> None:
        """Set the last kernels to zero, so that the block starts as its shortcut."""
        self.conv3.weight.zero_()

    @served_by(preact_bottleneck)
    def forward(
        self, inputs: Float[Tensor, "*#batch channel height width"]
    ) -> Float[Tensor, "*batch out_channel rows columns"]:
        """Return shortcut + branch."""
        y = inputs
        active, skip = norm_relu_and_skip(self.bn1, y)
        branch = self.conv3(norm_relu(self.bn3, self.conv2(norm_relu(self.bn2, self.conv1(active)))))
        return self.downsample(active if isinstance(self.downsample, nn.Conv2d) else skip) + branch
