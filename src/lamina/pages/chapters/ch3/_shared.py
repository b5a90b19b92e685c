"""Numbers as colors, for the pages on convolutional networks."""

from lamina._types import Float, Tensor
from lamina.drawing.palettes import UNKNOWN, Pixel, signed_pixels

CELL = 32.0


def pixels(picture: Float[Tensor, "..."]) -> list[list[int]] | list[list[list[int]]]:
    """Turn a gray picture (rows, columns) or a color one (3, rows, columns) from [0, 1] into bytes for a drawing.

    >>> import torch
    >>> pixels(torch.tensor([[0.0, 1.0]]))
    [[0, 255]]
    """
    shown = picture.movedim(0, -1) if picture.ndim == 3 else picture
    found: list[list[int]] = (shown.nan_to_num(*[UNKNOWN[0] / 255] * 3).clamp(0, 1) * 255).round().int().tolist()
    return found


def shades(values: Float[Tensor, "rows columns"], most: float | None = None) -> list[list[Pixel]]:
    """Color numbers: red above zero, blue below, the stronger the larger; zero is the paper.

    >>> import torch
    >>> shades(torch.tensor([[0.0, 2.0, -1.0]]))
    [[(211, 34, 42, 0), (211, 34, 42, 255), (26, 102, 214, 128)]]
    """
    return signed_pixels(values.tolist(), most or values.nan_to_num(0, 0, 0).abs().max().clamp(min=1e-12).item())
