"""Trainable subsampling: the pooling layer of the 1998 LeNet-5, which has variables."""

import torch
from torch import nn

from lamina._errors import at_least
from lamina._types import Float, Tensor
from lamina.layers.detector import Detector


class Subsampling(nn.Module):
    r"""Add up each m x m window, scale the sum and shift it by two numbers per channel, and squash it.

    $$\hat Y_{ijk} = \sigma\Big(w_k \sum_{p=1}^{m} \sum_{q=1}^{m} Y_{m(i-1)+p,\; m(j-1)+q,\; k} + b_k\Big)$$
    with m = `size`, w = `weight`, b = `bias` and $\sigma$ = `activation`. The weight starts at 1/m^2 and the bias at 0:
    average pooling, squashed.

    Notes: N3.07 (§3).
    Corrects: E37, pooling has no variables in the notes' form only; here it has two per channel.

    Args:
        channels: the number of feature maps, each with its own pair (w, b).
        size: the side m of the window and the stride.
        activation: the name of the activation, see `Detector`.

    >>> layer = Subsampling(1, activation="identity")
    >>> layer(torch.tensor([[[[1.0, 3.0], [-2.0, 4.0]]]])).tolist()
    [[[[1.5]]]]
    """

    stackable = True

    def __init__(self, channels: int, size: int = 2, *, activation: str = "scaled_tanh") -> None:
        super().__init__()
        at_least("channels", channels, 1)
        at_least("size", size, 1)
        self.size = size
        self.weight = nn.Parameter(torch.full((channels,), 1 / size**2))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.detector = Detector(activation)

    def forward(
        self, inputs: Float[Tensor, "*#batch channel height width"]
    ) -> Float[Tensor, "*batch channel rows columns"]:
        """Return maps with height and width divided by `size`, rounded down."""
        total = nn.functional.avg_pool2d(inputs.flatten(1, -3), self.size, divisor_override=1)
        total = total.unflatten(1, inputs.shape[1:-2])
        return self.detector(self.weight[..., None, None] * total + self.bias[..., None, None])

    def extra_repr(self) -> str:
        """Show the sizes."""
        return f"{self.weight.numel()}, size={self.size}"
