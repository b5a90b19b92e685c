"""What a stack of layers is made of: kinds with their colors, shapes, and stages of layers that belong together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamina._errors import ArgumentError, at_least, choice

ROLES = {
    "input": "input",
    "convolution": "weights",
    "detector": "activation",
    "normalization": "norm",
    "pooling": "pooling",
    "dense": "dense",
    "block": "stage",
    "recurrent": "hidden",
    "encoding": "input",
    "dropout": "muted",
    "flatten": "muted",
    "other": "muted",
}
"""The kinds of layers and the roles of their colors."""
NAMES = {"dense": "fully connected", "block": "residual block"}
THIN = ("detector", "normalization", "dropout")
"""Kinds that keep the shape: drawn as a thin slice behind the layer that they follow."""


@dataclass(frozen=True)
class Layer:
    """One layer of a stack.

    Args:
        kind: one of `ROLES`.
        shape: what leaves it, without the batch: (channels, height, width), (features,), or (time, features).
        note: a few words about it, such as "5×5".
        name: what it is called; empty for the name of its kind.

    >>> str(Layer("dense", (10,)))
    'fully connected 10'
    """

    kind: str
    shape: tuple[int, ...]
    note: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        choice("kind", self.kind, ROLES)
        if not self.shape:
            raise ArgumentError("`shape` must have at least 1 axis, got (): leave the batch out, not the features.")
        for size in self.shape:
            at_least("shape", size, 1)

    def __str__(self) -> str:
        return f"{self.called} {_as_words(self.shape)}"

    @property
    def called(self) -> str:
        """The name of the layer."""
        return self.name or NAMES.get(self.kind, self.kind)

    @property
    def role(self) -> str:
        """The role of its color."""
        return ROLES[self.kind]


@dataclass(frozen=True)
class Stage:
    """Layers that belong together, with a name above them.

    Args:
        name: what stands above them.
        layers: those that are drawn.
        skips: pairs of places: a skip connection leads from before the first of them to behind the second.
        count: how many equal layers the drawn one stands for; 0 where all of them are drawn.
        projected: which of the skip connections change the shape, by a 1 x 1 convolution.

    >>> str(Stage("6 blocks", (Layer("block", (32, 4, 4)),), count=6))
    '6 residual blocks 32×4×4'
    """

    name: str
    layers: tuple[Layer, ...]
    skips: tuple[tuple[int, int], ...] = ()
    count: int = 0
    projected: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.layers:
            raise ArgumentError(f"`layers` of the stage {self.name!r} must be at least 1, got 0.")
        for start, end in self.skips:
            if not 0 <= start <= end < len(self.layers):
                last = len(self.layers) - 1
                raise ArgumentError(f"`skips` must be pairs of places from 0 to {last}, got {(start, end)}.")
        if wrong := [place for place in self.projected if not 0 <= place < len(self.skips)]:
            raise ArgumentError(
                f"`projected` must be numbers of the {len(self.skips)} skips from 0 on, got {wrong[0]}."
            )

    def __str__(self) -> str:
        if self.count:
            return f"{self.count} {self.layers[0].called}s {_as_words(self.layers[0].shape)}"
        return ", ".join(str(layer) for layer in self.layers if layer.kind not in THIN)


Item = Layer | Stage


def flat(items: Sequence[Item]) -> Iterator[Layer]:
    """Go through the layers of a stack, those inside stages too."""
    for item in items:
        yield from item.layers if isinstance(item, Stage) else (item,)


def _as_words(shape: Sequence[int]) -> str:
    """Write a shape."""
    return "×".join(map(str, shape))


def in_lines(shape: Sequence[int]) -> tuple[str, ...]:
    """Write a shape in two short lines: how many maps, and how large they are."""
    return (str(shape[0]), _as_words(shape[1:])) if len(shape) == 3 else (_as_words(shape),)
