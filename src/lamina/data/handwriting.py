"""Bring a drawn or photographed character into the form of MNIST, so that a network trained on MNIST can read it."""

import torch

from lamina._errors import DataError, at_least
from lamina._types import Float, Tensor

BOX, SIDE = 20, 28
"""MNIST scales a digit into a box of 20 x 20 and puts its center of mass into the middle of 28 x 28."""
_INK = 0.05  # gray values below this are paper


def as_mnist(strokes: Float[Tensor, "row column"], *, box: int = BOX, side: int = SIDE) -> Float[Tensor, "side side"]:
    """Scale and center a character as the pictures of MNIST are.

    The part with ink is cut out, scaled so that its longer side has `box` pixels, each of them the mean of the area
    it covers, in 256 levels, and placed so that the center of mass of the ink is in the middle of the picture.

    Args:
        strokes: ink from 0 to 1 on paper that is 0.
        box: the longer side of the character.
        side: the side of the picture.

    Raises:
        DataError: there is no ink.

    >>> seven = torch.zeros(280, 280)
    >>> seven[40:60, 60:160] = 1
    >>> seven[40:200, 140:160] = 1
    >>> as_mnist(seven).shape
    torch.Size([28, 28])
    """
    at_least("box", box, 1)
    at_least("side", side, box)
    ink = strokes.clamp(0, 1)
    rows, columns = (torch.nonzero((ink > _INK).any(dim)).flatten() for dim in (1, 0))
    if len(rows) == 0:
        raise DataError("the picture has no ink (every value is below 0.05): draw with a thicker or darker line.")
    cut = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = (max(1, round(size * box / max(cut.shape))) for size in cut.shape)
    small = torch.nn.functional.interpolate(
        cut[None, None], (height, width), mode="bilinear", align_corners=False, antialias=True
    )[0, 0].clamp(0, 1)
    return _centered(_levels(small), side)


def _levels(gray: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """Round to the 256 gray levels of MNIST; means of pixels often lie between two, and no last bit may choose one.

    >>> _levels(torch.tensor([[0.1, 0.3 + 1e-7]])).mul(255).tolist()
    [[26.0, 76.0]]
    """
    return (((255_000 * gray.double()).round() / 1000).round() / 255).to(gray.dtype)


def _centered(small: Float[Tensor, "row column"], side: int) -> Float[Tensor, "side side"]:
    """Put a picture into a larger one with its center of mass in the middle, as far as it fits."""
    height, width = small.shape
    ink = small.double()
    y = (ink.sum(1) * torch.arange(height)).sum() / ink.sum()
    x = (ink.sum(0) * torch.arange(width)).sum() / ink.sum()
    # The center of a symmetric digit may lie between two pixels: the last bits of a sum must not choose one of them.
    top = min(max(0, round(round((side - 1) / 2 - float(y), 4))), side - height)
    left = min(max(0, round(round((side - 1) / 2 - float(x), 4))), side - width)
    return torch.nn.functional.pad(small, (left, side - left - width, top, side - top - height))


def ink_of(gray: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """Find the ink in a picture of a character: dark on light or light on dark, by the color of the border.

    Args:
        gray: values from 0, black, to 1, white.

    Returns:
        Ink from 0 to 1; the paper, up to the noise of a camera, is 0.

    >>> ink_of(torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]))[1].tolist()
    [0.0, 1.0, 0.0]
    """
    border = torch.cat([gray[0], gray[-1], gray[:, 0], gray[:, -1]]).median()
    away = (gray - border).abs()
    most = away.max()
    if float(most) < _INK:
        return torch.zeros_like(gray)
    return ((away / most - 0.25) / 0.5).clamp(0, 1)
