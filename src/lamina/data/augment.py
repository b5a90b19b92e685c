r"""Random changes of training examples: a pure function of (seed, step, place in the batch).

All changes are computed for the whole batch at once, on the device, on bytes or floats, without a question to the
host: they run under `vmap`, compiled and captured, and a resumed run sees the same pictures. Moving, mirroring and
cutting out are one gather and one mask. `augment` makes the changes that keep the target; `data.mixing` the others.
"""

from dataclasses import dataclass, fields

import torch

from lamina._errors import DataError, at_least, between
from lamina._types import Int, Num, Tensor
from lamina.functional.random import uniform
from lamina.functional.recoloring import adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation, rotate

# Streams of the random hash, far from the numbers of dropout layers.
_FLIP, _DOWN, _ACROSS, _HOLE_DOWN, _HOLE_ACROSS, _TURN = range(0x41554700, 0x41554706)

_COLORS = {
    "brightness": (0x41554706, adjust_brightness),
    "contrast": (0x41554707, adjust_contrast),
    "saturation": (0x41554708, adjust_saturation),
    "hue": (0x41554709, adjust_hue),
}
"""The stream of random numbers of each change of colors, and what it does, in this order."""


@dataclass(frozen=True)
class Augment:
    """Which changes to make; all are off by default.

    Args:
        flip: mirror left and right with probability 1/2.
        crop: cut out the picture's own size after padding it by so many reflected pixels on every side.
        translate: move by up to so many pixels, leaving 0 behind; not together with `crop`, which moves already.
        cutout: set a square of this side to 0, its center anywhere in the picture.
        rotation: turn by an angle of up to so many degrees to either side, leaving 0 in the corners.
        brightness: multiply by a factor from 1 - b (at least 0) to 1 + b.
        contrast: scale the distance to the picture's mean gray by such a factor.
        saturation: scale the distance to gray by such a factor; only for pictures with three channels.
        hue: turn the circle of colors by up to so much of it, at most 1/2; only for pictures with three channels.
        mixup: mix each example with its neighbor in the batch, and their losses alike, one share being drawn for the
            batch from Beta(mixup, mixup); 0.2 is usual. For tables, vectors and series too.
        cutmix: put a patch of the neighbor's picture into each; the shares of the areas weigh the losses. The patch is
            drawn for the batch, its area from Beta(cutmix, cutmix); 1 is usual. With `mixup` too, each batch gets one
            of the two by the throw of a coin.

    >>> Augment(flip=True, crop=4).only("flip", "crop")
    True
    """

    flip: bool = False
    crop: int = 0
    translate: int = 0
    cutout: int = 0
    rotation: float = 0.0
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    hue: float = 0.0
    mixup: float = 0.0
    cutmix: float = 0.0

    def __post_init__(self) -> None:
        for name in ("crop", "translate", "cutout", "brightness", "contrast", "saturation", "mixup", "cutmix"):
            at_least(name, getattr(self, name), 0)
        between("rotation", self.rotation, 0, 180)
        between("hue", self.hue, 0, 0.5)
        if self.crop and self.translate:
            raise DataError(
                f"`crop` and `translate` both move a picture, got {self.crop} and {self.translate}: set one to 0."
            )

    @property
    def mixes(self) -> bool:
        """Whether examples are mixed with others, and their targets too."""
        return self.mixup > 0 or self.cutmix > 0

    @property
    def alone(self) -> bool:
        """Whether single pictures are changed, and their targets are not."""
        return not self.only("mixup", "cutmix")

    @property
    def made(self) -> tuple[str, ...]:
        """The names of the changes that are made."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name))

    def only(self, *names: str) -> bool:
        """Say whether no other changes than these are made."""
        return set(self.made) <= set(names)

    def check(self, kind: str, shape: tuple[int, ...], whole: bool) -> None:
        """Refuse changes that have no meaning for examples.

        Args:
            kind: of the data.
            shape: of an example.
            whole: whether its numbers are whole ones, such as words.
        """
        for name in self.made:
            if kind != "image" and (name != "mixup" or whole):
                what = "mixes numbers" if name == "mixup" else "changes pictures"
                raise DataError(f"`{name}` {what}, got data of kind {kind!r}: leave it out.")
            if name in ("saturation", "hue") and shape[0] != 3:
                raise DataError(
                    f"`{name}` changes colors, but the pictures have {shape[0]} channel{'s' * (shape[0] != 1)}: leave "
                    "it out, or use `brightness` and `contrast`."
                )


def augment(
    images: Num[Tensor, "batch channel height width"],
    changes: Augment,
    seed: int | Tensor,
    step: int | Tensor,
    places: Int[Tensor, " batch"] | None = None,
) -> Num[Tensor, "batch channel height width"]:
    """Change each picture of a batch at random.

    Args:
        images: bytes or floats.
        changes: what may happen.
        seed: which experiment.
        step: which update; together with the place in the batch it decides all random numbers.
        places: those of the pictures in the whole batch, if this is a part of it.

    >>> images = torch.tensor([1, 2, 3], dtype=torch.uint8).repeat(4, 1, 1, 1)
    >>> augment(images, Augment(flip=True), seed=0, step=0)[:, 0, 0].tolist()
    [[1, 2, 3], [3, 2, 1], [3, 2, 1], [1, 2, 3]]
    """
    (count, channels, height, width), device = images.shape, images.device
    _check(changes, height, width)
    reach = changes.crop or changes.translate

    def chance(stream: int) -> Tensor:
        return uniform((count,), seed, stream, step, device, 0 if places is None else places)

    colors = [name for name in _COLORS if getattr(changes, name)]
    if colors or changes.rotation:
        values = images.float() / 255 if images.dtype == torch.uint8 else images
        for name in colors:
            stream, change = _COLORS[name]
            values = change(values, _drawn(chance(stream), getattr(changes, name), 0.0 if name == "hue" else 1.0))
        if changes.rotation:
            values = rotate(values, _drawn(chance(_TURN), changes.rotation, 0.0))
        images = (values * 255).round().to(torch.uint8) if images.dtype == torch.uint8 else values
    if not (changes.flip or reach or changes.cutout):
        return images
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


def _drawn(chance: Tensor, reach: float, middle: float) -> Tensor:
    """Give numbers around a middle; factors around 1 begin at 0 at the lowest."""
    low, high = max(0.0, middle - reach) if middle else -reach, middle + reach
    return low + (high - low) * chance


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
