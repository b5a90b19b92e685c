r"""Random changes of training pictures that keep their class: a pure function of (seed, step, place in the batch).

All changes are one gather and one mask over the whole batch, on the device, on bytes or floats, without a question to
the host: they run under `vmap`, compiled and captured, and a resumed run sees the same pictures.
"""

from dataclasses import dataclass

import torch

from lamina._errors import DataError, at_least
from lamina._types import Num, Tensor
from lamina.functional.random import uniform

# Streams of the random hash, far from the numbers of dropout layers.
_FLIP, _DOWN, _ACROSS, _HOLE_DOWN, _HOLE_ACROSS = range(0x41554700, 0x41554705)


@dataclass(frozen=True)
class Augment:
    """Which changes to make; all are off by default.

    Args:
        flip: mirror left and right with probability 1/2.
        crop: cut out the picture's own size after padding it by so many reflected pixels on every side.
        translate: move by up to so many pixels, leaving 0 behind; not together with `crop`, which moves already.
        cutout: set a square of this side to 0, its center anywhere in the picture.

    >>> Augment(flip=True, crop=4)
    Augment(flip=True, crop=4, translate=0, cutout=0)
    """

    flip: bool = False
    crop: int = 0
    translate: int = 0
    cutout: int = 0

    def __post_init__(self) -> None:
        for name in ("crop", "translate", "cutout"):
            at_least(name, getattr(self, name), 0)
        if self.crop and self.translate:
            raise DataError(
                f"`crop` and `translate` both move a picture, got {self.crop} and {self.translate}: set one to 0."
            )


def augment(
    images: Num[Tensor, "batch channel height width"], changes: Augment, seed: int | Tensor, step: int | Tensor
) -> Num[Tensor, "batch channel height width"]:
    """Change each picture of a batch at random.

    Args:
        images: bytes or floats.
        changes: what may happen.
        seed: which experiment.
        step: which update; together with the place in the batch it decides all random numbers.

    >>> images = torch.tensor([1, 2, 3], dtype=torch.uint8).repeat(4, 1, 1, 1)
    >>> augment(images, Augment(flip=True), seed=0, step=0)[:, 0, 0].tolist()
    [[1, 2, 3], [3, 2, 1], [3, 2, 1], [1, 2, 3]]
    """
    (count, channels, height, width), device = images.shape, images.device
    _check(changes, height, width)
    reach = changes.crop or changes.translate
    if not (changes.flip or reach or changes.cutout):
        return images

    def chance(stream: int) -> Tensor:
        return uniform((count,), seed, stream, step, device)

    rows, columns = torch.arange(height, device=device), torch.arange(width, device=device)
    down, across = rows.expand(count, height), columns.expand(count, width)
    kept = None
    if reach:
        down = down + (chance(_DOWN) * (2 * reach + 1)).long()[:, None] - reach
        across = across + (chance(_ACROSS) * (2 * reach + 1)).long()[:, None] - reach
        if changes.translate:
            kept = ((down >= 0) & (down < height))[:, :, None] & ((across >= 0) & (across < width))[:, None, :]
        down, across = _reflect(down, height), _reflect(across, width)
    if changes.flip:
        across = torch.where((chance(_FLIP) < 0.5)[:, None], width - 1 - across, across)
    place = (
        torch.arange(count, device=device)[:, None, None, None],
        torch.arange(channels, device=device)[:, None, None],
    )
    changed = images[(*place, down[:, None, :, None], across[:, None, None, :])]
    if changes.cutout:
        top = (chance(_HOLE_DOWN) * height).long() - changes.cutout // 2
        left = (chance(_HOLE_ACROSS) * width).long() - changes.cutout // 2
        hole = _within(rows, top, changes.cutout)[:, :, None] & _within(columns, left, changes.cutout)[:, None, :]
        kept = ~hole if kept is None else kept & ~hole
    return changed if kept is None else torch.where(kept[:, None], changed, torch.zeros_like(changed))


def _check(changes: Augment, height: int, width: int) -> None:
    """Reflection and translation reach at most to the other border; a hole must leave something."""
    side = min(height, width)
    for name in ("crop", "translate", "cutout"):
        value = getattr(changes, name)
        if value >= side:
            raise DataError(f"`{name}` must be less than the smaller side of the pictures ({side}), got {value}.")


def _reflect(place: Tensor, size: int) -> Tensor:
    """Map places outside 0..size-1 back by mirrors in the first and the last pixel."""
    return (size - 1) - ((size - 1) - place.abs()).abs()


def _within(places: Tensor, start: Tensor, length: int) -> Tensor:
    return (places >= start[:, None]) & (places < start[:, None] + length)
