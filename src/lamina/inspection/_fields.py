r"""Which inputs a unit sees, as arithmetic on intervals: one `Axis` for each axis of a picture or sequence.

A layer of units along an axis is two arrays, the first and the last input that each unit depends on. Borders are exact:
a tap that falls on padding counts for nothing. Away from borders the unit i of a stack of windows sees
$$\mathrm{start} + i\,\mathrm{jump}, \ldots, \mathrm{start} + i\,\mathrm{jump} + \mathrm{size} - 1,$$
which `Line` keeps as long as the layers are windows.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
NOTHING = 2**62
"""The first input of a unit that sees none; its last one is -1."""


class Line(NamedTuple):
    """The field of unit i away from borders."""

    start: int
    jump: int
    size: int


class Axis(NamedTuple):
    """What the units of a tensor see along one axis of the input."""

    low: Places
    high: Places
    dim: int | None
    line: Line | None = None

    @property
    def span(self) -> int:
        """How many inputs a unit sees: away from borders where that is one number, else the most of any unit."""
        return self.line.size if self.line else max(0, int((self.high - self.low).max()) + 1)


Field = tuple[Axis, ...]
"""What a tensor depends on: one `Axis` for each followed axis of the input."""


def whole_axis(size: int, dim: int) -> Axis:
    """Return the axis of the input itself: each place sees itself."""
    places = np.arange(size)
    return Axis(places, places, dim, Line(0, 1, 1))


def hull(axis: Axis) -> Axis:
    """Return what a unit sees that reads all positions: one interval."""
    return Axis(axis.low.min(keepdims=True), axis.high.max(keepdims=True), None)


def spread(axis: Axis) -> Axis:
    """Return the same positions, each of which now reads all of them."""
    return Axis(np.full_like(axis.low, axis.low.min()), np.full_like(axis.high, axis.high.max()), axis.dim)


def _gather(axis: Axis, taps: Places) -> Axis:
    """Return the positions that each read some positions of an axis; taps outside of it count for nothing."""
    inside = (taps >= 0) & (taps < len(axis.low))
    safe = np.where(inside, taps, 0)
    low = np.where(inside, axis.low[safe], NOTHING).min(1)
    return Axis(low, np.where(inside, axis.high[safe], -1).max(1), axis.dim)


def window(axis: Axis, size: int, stride: int, padding: int, dilation: int, outputs: int) -> Axis:
    """Slide a window of taps over the positions, as convolution and pooling do."""
    taps = np.arange(outputs)[:, None] * stride - padding + dilation * np.arange(size)
    line = axis.line and Line(
        axis.line.start - padding * axis.line.jump,
        axis.line.jump * stride,
        axis.line.size + (size - 1) * dilation * axis.line.jump,
    )
    return _gather(axis, taps)._replace(line=line)


def transposed_window(axis: Axis, size: int, stride: int, padding: int, dilation: int, outputs: int) -> Axis:
    """Spread every position over a window, as transposed convolution does; output o reads i with o = s i - p + d k."""
    scaled = np.arange(outputs)[:, None] + padding - dilation * np.arange(size)
    return _gather(axis, np.where(scaled % stride == 0, scaled // stride, -1))


def bins(axis: Axis, outputs: int) -> Axis:
    """Cut the positions into bins as equal as can be, as adaptive pooling does."""
    n = len(axis.low)
    cuts = [(i * n // outputs, -(-(i + 1) * n // outputs)) for i in range(outputs)]
    low = np.array([axis.low[a:b].min() for a, b in cuts])
    return Axis(low, np.array([axis.high[a:b].max() for a, b in cuts]), axis.dim)


def cut(axis: Axis, start: int, stop: int, step: int) -> Axis:
    """Keep every `step`-th position."""
    line = axis.line and Line(axis.line.start + start * axis.line.jump, axis.line.jump * step, axis.line.size)
    return Axis(axis.low[start:stop:step], axis.high[start:stop:step], axis.dim, line)


def pad(axis: Axis, before: int, after: int) -> Axis:
    """Add positions that see nothing; negative numbers take positions away."""
    taps = np.arange(-before, len(axis.low) + after)
    line = axis.line and axis.line._replace(start=axis.line.start - before * axis.line.jump)
    return _gather(axis, taps[:, None])._replace(line=line)


def union(axes: Sequence[Axis]) -> Axis:
    """Return what units see that add up units of several branches, as the sum of a residual block does."""
    return reduce(_union, axes)


def _union(a: Axis, b: Axis) -> Axis:
    sizes = len(a.low), len(b.low)
    if min(sizes) > 1 and (sizes[0] != sizes[1] or a.dim != b.dim):
        a, b = hull(a), hull(b)
    longer = a if len(a.low) > len(b.low) or (len(a.low) == len(b.low) and a.dim is not None) else b
    line = _joined(a.line, b.line) if len(a.low) == len(b.low) else None
    return Axis(np.minimum(a.low, b.low), np.maximum(a.high, b.high), longer.dim, line)


def _joined(a: Line | None, b: Line | None) -> Line | None:
    if a is None or b is None or a.jump != b.jump:
        return None
    start, stop = min(a.start, b.start), max(a.start + a.size, b.start + b.size)
    return Line(start, a.jump, stop - start)


def joined(parts: Sequence[Axis], dim: int) -> Axis:
    """Put the positions of several tensors one after the other along one axis."""
    return Axis(np.concatenate([p.low for p in parts]), np.concatenate([p.high for p in parts]), dim)


def unseen(count: int, dim: int) -> Axis:
    """Return positions that see nothing."""
    return Axis(np.full(count, NOTHING), np.full(count, -1), dim)


def moved(axis: Axis, dim: int | None) -> Axis:
    """Return the same positions along another axis of the tensor."""
    return axis._replace(dim=dim)


def as_ints(value: Any, count: int) -> list[int]:
    """Write a number, or a list that may have one entry, as a list of `count` numbers."""
    values = [int(value)] if isinstance(value, int) else [int(v) for v in value]
    return values * count if len(values) == 1 else values
