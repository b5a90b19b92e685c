r"""Pictures turned and recolored as by `torchvision.transforms.v2.functional`, each of a batch by its own number.

Values lie in [0, 1], and results are clipped to it. Nothing here is in the notes.
"""

import torch
from torch.nn.functional import grid_sample

from lamina._errors import ShapeError
from lamina._types import Float, Tensor

Pictures = Float[Tensor, "batch channel height width"]
Factors = Float[Tensor, " batch"]


def rotate(images: Pictures, angle: Factors) -> Pictures:
    r"""Turn pictures counterclockwise about their middle, by bilinear interpolation, with 0 beyond the border.

    $$y(p) = x(R p), \qquad R = \begin{pmatrix}\cos\theta & -\sin\theta\\ \sin\theta & \cos\theta\end{pmatrix}$$
    with x = `images`, $\theta$ = `angle` and p = (column, row) counted from the middle, rows downward.

    Args:
        images: of any size.
        angle: in degrees.

    >>> rotate(torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), torch.tensor([90.0])).round(decimals=4).tolist()
    [[[[2.0, 4.0], [1.0, 3.0]]]]
    """
    height, width = images.shape[-2:]
    theta = torch.deg2rad(angle)[:, None, None]
    rows = (torch.arange(height, device=images.device) - (height - 1) / 2).to(images.dtype)[:, None]
    columns = (torch.arange(width, device=images.device) - (width - 1) / 2).to(images.dtype)[None, :]
    cos, sin = theta.cos().to(images.dtype), theta.sin().to(images.dtype)
    across, down = cos * columns - sin * rows, sin * columns + cos * rows
    grid = torch.stack([across * (2 / width), down * (2 / height)], -1)
    return grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def grayscale(images: Pictures) -> Float[Tensor, "batch one height width"]:
    """Give the luma of pictures of three channels, 0.2989 R + 0.587 G + 0.114 B; those of one channel have it already.

    >>> grayscale(torch.tensor([1.0, 0.0, 1.0]).reshape(1, 3, 1, 1)).item()  # doctest: +ELLIPSIS
    0.4129...
    """
    if images.shape[-3] == 1:
        return images
    red, green, blue = _colors(images)
    return (0.2989 * red + 0.587 * green + 0.114 * blue).unsqueeze(-3)


def adjust_brightness(images: Pictures, factor: Factors) -> Pictures:
    """Multiply pictures by factors, clipped.

    >>> adjust_brightness(torch.tensor([0.5, 0.75]).reshape(1, 1, 1, 2), torch.tensor([1.5])).flatten().tolist()
    [0.75, 1.0]
    """
    return (images * _each(factor)).clamp(0, 1)


def adjust_contrast(images: Pictures, factor: Factors) -> Pictures:
    r"""Move pictures away from the mean of their luma or toward it, $f x + (1 - f) \bar g$, clipped.

    >>> adjust_contrast(torch.tensor([0.25, 0.75]).reshape(1, 1, 1, 2), torch.tensor([0.5])).flatten().tolist()
    [0.375, 0.625]
    """
    return _blend(images, grayscale(images).mean((-3, -2, -1), keepdim=True), factor)


def adjust_saturation(images: Pictures, factor: Factors) -> Pictures:
    """Move pictures away from their luma or toward it, f x + (1 - f) g, clipped; 0 makes them gray.

    >>> gray = adjust_saturation(torch.tensor([1.0, 0.0, 0.0]).reshape(1, 3, 1, 1), torch.tensor([0.0]))
    >>> gray.flatten().allclose(torch.tensor(0.2989))
    True
    """
    return _blend(images, grayscale(images), factor)


def adjust_hue(images: Pictures, turn: Factors) -> Pictures:
    r"""Turn the hue of pictures of three channels by a share of the circle of colors; 1/3 makes red green.

    With the largest value v, the smallest u, the chroma c = v - u and the hue h of HSV,
    $$y_n = v - c \max(0, \min(k_n, 4 - k_n, 1)), \qquad k_n = (n + 6 (h + t)) \bmod 6$$
    with n = 5, 3, 1 for red, green and blue and t = `turn`.

    >>> adjust_hue(torch.tensor([1.0, 0.0, 0.0]).reshape(1, 3, 1, 1), torch.tensor([1 / 3])).flatten().tolist()
    [0.0, 1.0, 0.0]
    """
    red, green, blue = _colors(images)
    v = images.amax(-3)
    c = v - images.amin(-3)
    by = torch.where(c == 0, torch.ones_like(c), c)
    h = torch.where(v == green, 2 + (blue - red) / by, 4 + (red - green) / by)
    h = torch.where(v == red, (green - blue) / by, h) / 6 + turn[:, None, None]
    k = [torch.remainder(n + 6 * h, 6) for n in (5, 3, 1)]
    return torch.stack([v - c * torch.minimum(each, 4 - each).clamp(0, 1) for each in k], -3)


def _colors(images: Tensor) -> tuple[Tensor, ...]:
    if images.shape[-3] != 3:
        raise ShapeError(f"`images` must have 3 channels to have colors, got {images.shape[-3]}.")
    return images.unbind(-3)


def _each(factor: Tensor) -> Tensor:
    return factor[:, None, None, None]


def _blend(images: Tensor, others: Tensor, factor: Tensor) -> Tensor:
    return (_each(factor) * images + (1 - _each(factor)) * others).clamp(0, 1)
