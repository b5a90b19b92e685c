r"""Pooling (§3.4): the largest or the mean value of each window, channel by channel and without variables.

Both functions are torch's, with the notes' letters: filter size m = `kernel_size`, stride s, padding p.
"""

import torch

from lamina._errors import ArgumentError, at_least
from lamina._types import Float, Tensor
from lamina.functional.convolution import output_size


def _check(inputs: Tensor, kernel_size: int, stride: int, padding: int) -> None:
    at_least("kernel_size", kernel_size, 1)
    if padding > kernel_size // 2:
        raise ArgumentError(
            f"`padding` must be at most half the kernel ({kernel_size // 2}), got {padding}: "
            "otherwise a window could hold nothing but padding."
        )
    for size in inputs.shape[-2:]:
        output_size(size, kernel_size, padding, stride)


def max_pool(
    inputs: Float[Tensor, "*batch channel height width"],
    kernel_size: int = 2,
    stride: int | None = None,
    padding: int = 0,
) -> Float[Tensor, "*batch channel rows columns"]:
    r"""Keep the largest value of each m x m window.

    $$\hat Y_{ij} = \max_{0 \le k, l < m} Y_{s i + k,\; s j + l}$$
    for i, j counted from 0. An axis of n pixels becomes $\lfloor (n + 2p - m)/s \rfloor + 1$: m = s = 2 halves it.
    A shift by less than a window changes the result less than the image; with one window for all, not at all.

    Notes: N3.39, N3.40, N3.41, N3.45, N3.47 (§3.4).
    Corrects: E10, the printed size holds n_1 twice and no floor; E50, padding is minus infinity, not zero.

    Args:
        inputs: an image or a batch of images.
        kernel_size: the size m of the window.
        stride: how far it moves; the kernel size when absent.
        padding: how far it may reach over the border.

    >>> max_pool(torch.tensor([[[[1.0, 3.0, 0.0, -7.0], [-2.0, 4.0, 1.0, -1.0]]]])).tolist()
    [[[[4.0, 1.0]]]]
    """
    stride = kernel_size if stride is None else stride
    _check(inputs, kernel_size, stride, padding)
    return torch.nn.functional.max_pool2d(inputs, kernel_size, stride, padding)


def average_pool(
    inputs: Float[Tensor, "*batch channel height width"],
    kernel_size: int = 2,
    stride: int | None = None,
    padding: int = 0,
    *,
    count_include_pad: bool = True,
) -> Float[Tensor, "*batch channel rows columns"]:
    r"""Take the mean of each m x m window: a strided correlation of every channel with the fixed kernel $1/m^2$.

    $$\hat Y_{ij} = \frac{1}{m^2} \sum_{0 \le k, l < m} Y_{s i + k,\; s j + l}$$
    for i, j counted from 0. An axis of n pixels becomes $\lfloor (n + 2p - m)/s \rfloor + 1$: m = s = 2 halves it.

    Notes: N3.39, N3.40, N3.42, N3.43, N3.44, N3.45 (§3.4).
    Corrects: E10, the printed size holds n_1 twice and no floor; E50, padded zeros darken the border of an image.

    Args:
        inputs: an image or a batch of images.
        kernel_size: the size m of the window.
        stride: how far it moves; the kernel size when absent.
        padding: how many zeros surround an image.
        count_include_pad: divide by m^2 also where a window holds padded zeros, as the notes do; otherwise by the
            number of pixels in it.

    >>> average_pool(torch.tensor([[[[1.0, 3.0, 0.0, -7.0], [-2.0, 4.0, 1.0, -1.0]]]])).tolist()
    [[[[1.5, -1.75]]]]
    """
    stride = kernel_size if stride is None else stride
    _check(inputs, kernel_size, stride, padding)
    return torch.nn.functional.avg_pool2d(inputs, kernel_size, stride, padding, count_include_pad=count_include_pad)
