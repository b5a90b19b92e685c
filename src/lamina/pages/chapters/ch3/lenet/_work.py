"""Ten digits as strokes of a pen, for readers who do not draw one, and for tests."""

from collections.abc import Sequence
from itertools import pairwise

import torch

from lamina._errors import ArgumentError
from lamina._types import Float, Tensor

Stroke = Sequence[tuple[float, float]]
"""Places that a pen goes through, right and down, from 0 to 1."""


def _arc(
    x: float, y: float, wide: float, high: float, start: float, end: float, count: int = 14
) -> list[tuple[float, float]]:
    """Go along an ellipse from one angle to another; angles are turns, 0 at the right, clockwise."""
    angles = torch.linspace(start, end, count) * 2 * torch.pi
    return [(x + wide * float(torch.cos(a)), y + high * float(torch.sin(a))) for a in angles]


STROKES: tuple[tuple[Stroke, ...], ...] = (
    (_arc(0.5, 0.5, 0.21, 0.3, -0.25, 0.75, 20),),
    (((0.46, 0.28), (0.53, 0.2), (0.51, 0.8)),),
    ((*_arc(0.48, 0.36, 0.18, 0.16, 0.5, 1.08), (0.5, 0.6), (0.3, 0.79), (0.72, 0.78)),),
    ((*_arc(0.47, 0.35, 0.17, 0.15, 0.6, 1.25), *_arc(0.47, 0.65, 0.2, 0.17, 0.75, 1.42)),),
    (((0.4, 0.2), (0.3, 0.52), (0.7, 0.5)), ((0.62, 0.22), (0.58, 0.82))),
    (((0.36, 0.2), (0.34, 0.47), *_arc(0.46, 0.62, 0.2, 0.18, -0.35, 0.4)), ((0.36, 0.2), (0.68, 0.2))),
    (((0.58, 0.18), (0.4, 0.38), *_arc(0.49, 0.64, 0.16, 0.16, 0.55, 1.6, 18)),),
    (((0.28, 0.24), (0.7, 0.22), (0.56, 0.5), (0.46, 0.82)),),
    ((*_arc(0.5, 0.34, 0.14, 0.14, 0.25, -0.75, 18), *_arc(0.5, 0.65, 0.17, 0.17, -0.25, 0.75, 18)),),
    ((*_arc(0.48, 0.36, 0.16, 0.15, 0.0, 1.0, 18), (0.63, 0.5), (0.58, 0.82)),),
)
"""The strokes of 0 to 9."""


def inked(strokes: Sequence[Stroke], side: int = 140, pen: float = 0.055) -> Float[Tensor, "side side"]:
    """Draw strokes with a round pen, as the square of a page does.

    Returns:
        Ink from 0 to 1.

    >>> inked([[(0.5, 0.1), (0.5, 0.9)]], side=9, pen=0.1)[4].gt(0.3).int().tolist()
    [0, 0, 0, 1, 1, 1, 0, 0, 0]
    """
    if not any(len(stroke) > 1 for stroke in strokes):
        raise ArgumentError(f"`strokes` must hold a line of at least 2 places, got {len(strokes)} without one.")
    ends = torch.tensor([(*a, *b) for stroke in strokes for a, b in pairwise(stroke)])
    start, step = ends[:, None, :2], ends[:, None, 2:] - ends[:, None, :2]
    places = (torch.arange(side) + 0.5) / side
    at = torch.cartesian_prod(places, places).flip(-1)
    along = ((at - start) * step).sum(-1, keepdim=True) / step.square().sum(-1, keepdim=True).clamp(min=1e-12)
    nearest = (at - start - along.clamp(0, 1) * step).square().sum(-1).amin(0).sqrt().reshape(side, side)
    return ((pen - nearest) * side + 0.5).clamp(0, 1)
