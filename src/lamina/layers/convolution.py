"""The true convolution as a layer; torch.nn.Conv2d is a correlation."""

import torch
from torch import nn

from lamina._errors import at_least
from lamina._types import Float, Seed, Tensor
from lamina.functional.convolution import convolution
from lamina.functional.initialization import draw


class TrueConv2d(nn.Module):
    r"""Convolve images with M learned filters, each kernel flipped in rows and columns as Def. 3.5 says.

    $$\hat Y^{(c)} = Y * K^{(c)} + b_c, \qquad c = 1, \dots, M$$
    with Y = `inputs`, K = `weight`, b = `bias`. Trained from mirrored kernels it does what `nn.Conv2d` does, mirrored.

    Notes: N3.18, N3.20, N3.30, N3.33 (§3.2, Def. 3.5).
    Differs: torch.nn.Conv2d does not flip its kernels.

    Args:
        in_channels: the number n_3 of channels of an image.
        out_channels: the number M of filters.
        kernel_size: the size m of every kernel.
        stride: how far a kernel moves.
        padding: how many zeros surround an image.
        initialization: one of `functional.initialization.INITIALIZATIONS`.
        scale: a factor on the starting weights.
        seed: an integer, or a generator that is advanced.

    >>> layer = TrueConv2d(1, 6, 5, padding=2)
    >>> layer(torch.zeros(1, 1, 28, 28)).shape, sum(p.numel() for p in layer.parameters())
    (torch.Size([1, 6, 28, 28]), 156)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        *,
        stride: int = 1,
        padding: int = 0,
        initialization: str = "he",
        scale: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        at_least("in_channels", in_channels, 1)
        at_least("out_channels", out_channels, 1)
        at_least("kernel_size", kernel_size, 1)
        at_least("stride", stride, 1)
        at_least("padding", padding, 0)
        self.stride, self.padding = stride, padding
        shape = (out_channels, in_channels, kernel_size, kernel_size)
        self.weight = nn.Parameter(draw(initialization, shape, seed, scale))
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(
        self, inputs: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch filters rows columns"]:
        """Return one feature map per filter."""
        return convolution(inputs, self.weight, self.bias, self.stride, self.padding)

    def extra_repr(self) -> str:
        """Show the sizes as `nn.Conv2d` does."""
        filters, channels, size, _ = self.weight.shape
        return f"{channels}, {filters}, kernel_size={size}, stride={self.stride}, padding={self.padding}"
