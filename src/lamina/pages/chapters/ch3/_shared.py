"""Numbers as colors, for the pages on convolutional networks."""

import torch

from lamina._types import Float, Tensor

CELL = 32.0


def pixels(picture: Float[Tensor, "..."]) -> list[list[int]] | list[list[list[int]]]:
    """Turn a gray picture (rows, columns) or a color one (3, rows, columns) from [0, 1] into bytes for a drawing.

    >>> pixels(torch.tensor([[0.0, 1.0]]))
    [[0, 255]]
    """
    shown = picture.movedim(0, -1) if picture.ndim == 3 else picture
    found: list[list[int]] = (shown.clamp(0, 1) * 255).round().int().tolist()
    return found


def shades(values: Float[Tensor, "rows columns"], most: float | None = None) -> list[list[list[int]]]:
    """Color numbers: red above zero, blue below, the stronger the larger; white is zero.

    >>> shades(torch.tensor([[0.0, 2.0, -2.0]]))
    [[[255, 255, 255], [204, 16, 22], [11, 83, 196]]]
    """
    share = (values / (most or values.abs().max().clamp(min=1e-12))).clamp(-1, 1)[..., None]
    red, blue = torch.tensor([204.0, 16.0, 22.0]), torch.tensor([11.0, 83.0, 196.0])
    full = torch.where(share >= 0, red.to(values), blue.to(values))
    found: list[list[list[int]]] = (255 + (full - 255) * share.abs()).round().int().tolist()
    return found
