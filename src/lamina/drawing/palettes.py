"""The three palettes of drawings: one for signed numbers, one for amounts, one for classes. Nobody else makes colors.

Signed numbers are red above zero and blue below, and zero is the paper: their pixels have an opacity, so that the same
picture stands on light and dark pages. What is no finite number is gray, which no number is.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

from lamina.drawing.colors import channels, resolve

AMOUNTS = ("#f6f4ec", "#cfe3d4", "#93c5bd", "#559fae", "#2f739c", "#2c4a80", "#2a2456")
"""From low to high: lightness falls evenly, so that the order survives print without color."""
_CHANNELS = [channels(color) for color in AMOUNTS]
CLASSES = ("negative", "positive", "#2c9c5a", "#9a4fc0", "#c8a415", "#e0701a", "#2aa5ad", "#6b7280")
"""The colors of classes; those of two classes are the two ends of the signed numbers, lighter on dark paper."""
UNKNOWN = (128, 128, 128)
"""The pixel of what is no finite number."""
Pixel = tuple[int, int, int, int]
"""Red, green, blue and opacity, 0 to 255."""


def amount(share: float) -> tuple[int, int, int]:
    """Give the color of a share from 0 (low) to 1 (high).

    >>> amount(0.0), amount(1.0)
    ((246, 244, 236), (42, 36, 86))
    """
    if not math.isfinite(share):
        return UNKNOWN
    place = min(max(share, 0.0), 1.0) * (len(AMOUNTS) - 1)
    at = min(int(place), len(AMOUNTS) - 2)
    (r, g, b), (r_end, g_end, b_end) = _CHANNELS[at], _CHANNELS[at + 1]
    part = place - at
    return round(r + part * (r_end - r)), round(g + part * (g_end - g)), round(b + part * (b_end - b))


@lru_cache(maxsize=1024)
def signed(value: float, strength: float = 1.0) -> Pixel:
    """Give the pixel of a number from -1 (blue) through 0 (the paper) to 1 (red).

    Args:
        value: the number; what is larger counts as 1.
        strength: how opaque 1 is.

    >>> signed(0.0), signed(-2.0)
    ((211, 34, 42, 0), (26, 102, 214, 255))
    """
    if not math.isfinite(value):
        return *UNKNOWN, 255
    opacity = round(255 * strength * min(1.0, abs(value)))
    return *channels(resolve("above" if value >= 0 else "below")), opacity


def signed_pixels(values: Sequence[Sequence[float]], most: float = 1.0) -> list[list[Pixel]]:
    """Color rows of signed numbers.

    Args:
        values: the numbers.
        most: the size that has the full color.

    >>> signed_pixels([[0.0, 4.0]], 4.0)
    [[(211, 34, 42, 0), (211, 34, 42, 255)]]
    """
    return [[signed(round(value / most, 2)) for value in row] for row in values]


def signed_fill(value: float) -> str:
    """Give the color of a number from -1 to 1 for a shape, a mixture with the paper.

    >>> signed_fill(-0.5), signed_fill(0.0)
    ('below!50', 'above!0')
    """
    if not math.isfinite(value):
        return "#{:02x}{:02x}{:02x}".format(*UNKNOWN)
    return f"{'above' if value >= 0 else 'below'}!{round(100 * min(1.0, abs(value)))}"


def readable(value: float) -> str:
    """Give the color of words on a `signed_fill`.

    >>> readable(0.2), readable(-0.9)
    ('ink', '#ffffff')
    """
    return "#ffffff" if abs(value) > 0.8 else "ink"


def classed(place: int) -> str:
    """Give the color of a class, counted from 0.

    >>> classed(1), classed(8)
    ('positive', 'negative')
    """
    return CLASSES[place % len(CLASSES)]


def mixed_classes(shares: Sequence[float], strength: float = 0.5) -> Pixel:
    """Give the pixel of a place of the plane where classes have these probabilities.

    With two classes it is `signed` by how much the second is more likely; with more, their colors are mixed.

    Args:
        shares: the probability of each class.
        strength: the opacity of a class that is certain.

    >>> mixed_classes([0.5, 0.5]), mixed_classes([1.0, 0.0])
    ((211, 34, 42, 0), (26, 102, 214, 128))
    """
    if not all(map(math.isfinite, shares)):
        return *UNKNOWN, 255
    if len(shares) == 2:
        return signed(round(shares[1] - shares[0], 2), strength)
    parts = [channels(resolve(classed(place))) for place in range(len(shares))]
    red, green, blue = (round(sum(s * part[i] for s, part in zip(shares, parts, strict=True))) for i in range(3))
    return red, green, blue, round(255 * strength)
