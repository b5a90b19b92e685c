r"""Which inputs each unit of a network can see: computed from its operations, border by border.

One call of the network is followed operation by operation (`trace`), so that branches, sums and strides are known for
any network, not only for lists of layers. For a stack of windows the size is $r = 1 + \sum_l (m_l - 1)\prod_{k<l} s_k$;
at a sum of branches the fields are united; a dense layer sees everything.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from lamina._errors import ArgumentError, between, choice
from lamina._tables import table
from lamina.inspection._example import Inputs, example_inputs, followed_axes, time_first
from lamina.inspection._fields import NOTHING, Axis, Field
from lamina.inspection._trace import Trace, trace

Window = tuple[tuple[int, int], ...]
"""The first and the last input that a unit sees, for each axis; (0, -1) where it sees none."""


@dataclass(frozen=True)
class ReceptiveField:
    """What the units of one layer see.

    Args:
        name: the name of the layer in the network.
        kind: its class.
        axes: what each position sees along each axis of the input.
        extent: the sizes of the input along these axes.
    """

    name: str
    kind: str
    axes: Field
    extent: tuple[int, ...]

    @property
    def size(self) -> tuple[int, ...]:
        """How many inputs a unit spans along each axis, away from borders; it can exceed the input."""
        return tuple(axis.span for axis in self.axes)

    @property
    def jump(self) -> tuple[int | None, ...]:
        """How far apart the fields of neighboring units are; None where there are no neighbors or no one number."""
        return tuple(axis.line.jump if axis.line and axis.dim is not None else None for axis in self.axes)

    @property
    def start(self) -> tuple[int | None, ...]:
        """Where the field of the first unit starts; negative in the padding, None where `jump` is."""
        return tuple(axis.line.start if axis.line and axis.dim is not None else None for axis in self.axes)

    @property
    def units(self) -> tuple[int | None, ...]:
        """How many positions the layer has along each axis; None where units have no position."""
        return tuple(len(axis.low) if axis.dim is not None else None for axis in self.axes)

    @property
    def whole(self) -> bool:
        """Whether every unit sees the whole input."""
        return all(
            bool((axis.low == 0).all()) and bool((axis.high == size - 1).all())
            for axis, size in zip(self.axes, self.extent, strict=True)
        )

    def window(self, at: int | Sequence[int] | None = None) -> Window:
        """Return the first and the last input that one unit sees, cut at the borders.

        Args:
            at: the position of the unit along each axis; the middle when not given. One number stands for all axes.
        """
        places = [at] * len(self.axes) if at is None or isinstance(at, int) else list(at)
        if len(places) != len(self.axes):
            raise ArgumentError(
                f"`at` must hold one position for each of the {len(self.axes)} axes, got {len(places)}."
            )
        return tuple(_ends(axis, place) for axis, place in zip(self.axes, places, strict=True))


def _ends(axis: Axis, place: int | None) -> tuple[int, int]:
    if axis.dim is None:  # no position along this axis: all units together
        low, high = int(axis.low.min()), int(axis.high.max())
    else:
        index = len(axis.low) // 2 if place is None else place
        between("at", index, 0, len(axis.low) - 1)
        low, high = int(axis.low[index]), int(axis.high[index])
    return (0, -1) if low == NOTHING else (low, high)


@dataclass(frozen=True)
class ReceptiveFields:
    """The receptive fields of all layers of a network, in the order in which they run.

    Args:
        layers: one field per layer.
        guessed: operations that no rule describes; what passed them is taken to see everything.
        at: the position at which the table shows windows; None for the middle of each layer.
    """

    layers: tuple[ReceptiveField, ...]
    guessed: tuple[str, ...] = ()
    at: int | tuple[int, ...] | None = None

    def __getitem__(self, name: str) -> ReceptiveField:
        """Return the field of the layer with this name."""
        found = {layer.name: layer for layer in self.layers}
        choice("name", name, found)
        return found[name]

    def __iter__(self) -> Iterator[ReceptiveField]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    @property
    def last(self) -> ReceptiveField:
        """The field of the outputs of the network."""
        return next(layer for layer in self.layers if layer.name == "")

    def rows(self, names: Collection[str] | None = None) -> list[tuple[str, ...]]:
        """Return the table, see `HEAD`; the last column is what the unit `at` (or in the middle) sees.

        Args:
            names: of the layers to show; all but identities when not given.
        """
        return [
            (
                layer.name or "(output)",
                layer.kind,
                "all" if layer.whole else by(layer.size),
                by(layer.jump),
                by(layer.start, ", "),
                " × ".join(f"{low}–{high}" for low, high in layer.window(_clip(self.at, layer))),
            )
            for layer in self.layers
            if (layer.kind != "Identity" if names is None else layer.name in names)
        ]

    def __str__(self) -> str:
        return table(HEAD, self.rows(), left=2) + (f"\nguessed: {', '.join(self.guessed)}" if self.guessed else "")


HEAD = ("layer", "kind", "sees", "jump", "start", "one unit")


def by(values: Sequence[int | None], sign: str = "×") -> str:
    """Write sizes along axes as one word."""
    return "–" if all(value is None for value in values) else sign.join("–" if v is None else str(v) for v in values)


def _clip(at: int | tuple[int, ...] | None, layer: ReceptiveField) -> Any:
    """Take the position of the table, moved inside a layer that is smaller."""
    if at is None:
        return None
    places = (at,) * len(layer.axes) if isinstance(at, int) else at
    return tuple(min(place, (count or 1) - 1) for place, count in zip(places, layer.units, strict=True))


def receptive_field(
    model: nn.Module, inputs: Inputs = None, at: int | tuple[int, ...] | None = None
) -> ReceptiveFields:
    r"""Compute which inputs the units of every layer can see.

    $$r = 1 + \sum_l (m_l - 1) \prod_{k<l} s_k$$
    for a stack of windows of size m and stride s; with dilation d a window is $d(m - 1) + 1$ wide. Followed are height
    and width of pictures, the axis of a 1-d convolution, the time of sequences, the features of vectors.

    Notes: N3.36, N3.37 (§3.2, Remark 3.7, Fig. 22).
    Corrects: E49, this is the field of possible influence; `effective_field` shows the noticeable one.

    Args:
        model: any network; it is called once, without values.
        inputs: the shape of one example, or an example with its batch axis; what the network was built for if absent.
        at: the unit whose window the printed table shows; the middle one when not given.

    Returns:
        The field of every layer, by name; `last` is that of the outputs. Batch norm counts as in evaluation mode.

    >>> from lamina.architectures.build import build
    >>> fields = receptive_field(build("lenet5"))
    >>> fields["features"].size, fields["features"].jump, fields["features"].window((0, 2)), fields.last.whole
    ((16, 16), (4, 4), ((0, 13), (6, 21)), True)
    """
    found = _field_trace(model, inputs)
    layers = tuple(
        ReceptiveField(visit.name, type(visit.module).__name__, visit.seen, found.extent)
        for visit in found.visits.values()
        if visit.seen is not None
    )
    return ReceptiveFields((*layers[1:], *layers[:1]) if layers and not layers[0].name else layers, found.guessed, at)


def _field_trace(model: nn.Module, inputs: Inputs = None) -> Trace:
    """Follow one example through a network; more than one would hide the axes of a sequence."""
    example = example_inputs(model, inputs)
    batch = 1 if time_first(model) else 0
    return trace(
        model, [part[:1] if batch == 0 else part[:, :1] for part in example], followed_axes(model, example[0]), False
    )
