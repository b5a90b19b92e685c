"""Residual blocks with three convolutions, 1x1, 3x3 and 1x1, the middle one on a quarter of the channels.

Both kinds put the stride into the 3x3 convolution, as torchvision does; the first 1x1 convolution had it in 2015.
"""

from collections.abc import Callable

from torch import nn

from lamina._errors import ArgumentError
from lamina._types import Float, Tensor
from lamina.layers._fused import preact_bottleneck, served_by
from lamina.layers.normalization import norm_relu, norm_relu_and_skip
from lamina.layers.residual_blocks import ResidualBlock
from lamina.layers.shortcuts import _shortcut_of


def _middle(out_channels: int) -> int:
    if out_channels % 4:
        raise ArgumentError(
            f"`out_channels` of a bottleneck block must be a multiple of 4, got {out_channels}: "
            "its middle convolution has a quarter of them."
        )
    return out_channels // 4


class OriginalBottleneck(ResidualBlock):
    r"""Add a branch of three convolutions to the input and rectify the sum, in the order of He et al. (2015).

    $$y^{[l]} = \mathrm{ReLU}\big(P y^{[l-1]} +
    \mathrm{BN}(W_3\,\mathrm{ReLU}(\mathrm{BN}(W_2\,\mathrm{ReLU}(\mathrm{BN}(W_1 y^{[l-1]})))))\big)$$
    with $W_1, W_3$ 1x1 and $W_2$ 3x3 convolutions, P the identity or `downsample`.

    Notes: N4.19, N4.20 (§4.1).
    Differs: He et al. had the stride in the first convolution; torchvision has it in the second, as here.
    Corrects: E59, the blocks of ResNet-1001 (and of ResNet-50) have three weights, the drawn ones two.

    The arguments are those of `ResidualBlock`.

    >>> sum(p.numel() for p in OriginalBottleneck(256, 256).parameters())
    70400
    """

    stackable = True

    def _make_branch(self, weights: Callable[..., nn.Conv2d], n_in: int, n_out: int, stride: int) -> None:
        middle = _middle(n_out)
        self.conv1 = weights(n_in, middle, 1)
        self.bn1 = nn.BatchNorm2d(middle)
        self.conv2 = weights(middle, middle, 3, stride=stride, padding=1)
        self.bn2 = nn.BatchNorm2d(middle)
        self.conv3 = weights(middle, n_out, 1)
        self.bn3 = nn.BatchNorm2d(n_out)

    def forward(
        self, inputs: Float[Tensor, "*#batch channel height width"]
    ) -> Float[Tensor, "*batch out_channel rows columns"]:
        """Return ReLU(shortcut + branch)."""
        y = inputs
        narrow = norm_relu(self.bn2, self.conv2(norm_relu(self.bn1, self.conv1(y))))
        return norm_relu(self.bn3, self.conv3(narrow), residual=_shortcut_of(self.downsample, y))


class PreActBottleneck(ResidualBlock):
    r"""Add a branch of three convolutions to the input, each behind its normalization and ReLU (He et al., 2016).

    $$y^{[l]} = P y^{[l-1]} +
    W_3\,\mathrm{ReLU}(\mathrm{BN}(W_2\,\mathrm{ReLU}(\mathrm{BN}(W_1\,\mathrm{ReLU}(\mathrm{BN}(y^{[l-1]}))))))$$
    with $W_1, W_3$ 1x1 and $W_2$ 3x3 convolutions and P as in `PreActBlock`.

    Notes: N4.20, N4.23, N4.25 (§4.1).
    Differs: the authors' code has the stride in the first convolution; here it is in the second for both kinds.
    Corrects: E59, the blocks of ResNet-1001 have three weights, the drawn ones two.

    The arguments are those of `ResidualBlock`.

    >>> sum(p.numel() for p in PreActBottleneck(64, 64).parameters())
    4544
    """

    stackable = True

    def _make_branch(self, weights: Callable[..., nn.Conv2d], n_in: int, n_out: int, stride: int) -> None:
        middle = _middle(n_out)
        self.bn1 = nn.BatchNorm2d(n_in)
        self.conv1 = weights(n_in, middle, 1)
        self.bn2 = nn.BatchNorm2d(middle)
        self.conv2 = weights(middle, middle, 3, stride=stride, padding=1)
        self.bn3 = nn.BatchNorm2d(middle)
        self.conv3 = weights(middle, n_out, 1)

    @served_by(preact_bottleneck)
    def forward(
        self, inputs: Float[Tensor, "*#batch channel height width"]
    ) -> Float[Tensor, "*batch out_channel rows columns"]:
        """Return shortcut + branch."""
        y = inputs
        active, skip = norm_relu_and_skip(self.bn1, y)
        branch = self.conv3(norm_relu(self.bn3, self.conv2(norm_relu(self.bn2, self.conv1(active)))))
        return self.downsample(active if isinstance(self.downsample, nn.Conv2d) else skip) + branch
