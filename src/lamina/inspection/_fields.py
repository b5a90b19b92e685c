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
    """The field of unit i away from borders.

    Args:
        start: the first input of unit 0; negative where padding is.
        jump: how far the field moves from one unit to the next.
        size: how many inputs it spans.
    """

    start: int
    jump: int
    size: int


class Axis(NamedTuple):
    """What the units of a tensor see along one axis of the input.

    Args:
        low: the first input that each position sees.
        high: the last one.
        dim: the axis of the tensor along which these positions lie; None when it has none, or more than one.
        line: the rule behind `low` and `high` away from borders, where there is one.

    >>> window(whole_axis(5, 2), 3, 1, 1, 1, 5).high.tolist()
    [1, 2, 3, 4, 4]
    """

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
    """Return the axis of the input itself: each place sees itself.

    >>> whole_axis(3, 2).line
    Line(start=0, jump=1, size=1)
    """
    places = np.arange(size)
    return Axis(places, places, dim, Line(0, 1, 1))


def hull(axis: Axis) -> Axis:
    """Return what a unit sees that reads all positions: one interval.

    >>> hull(whole_axis(7, 2)).high.tolist()
    [6]
    """
    return Axis(axis.low.min(keepdims=True), axis.high.max(keepdims=True), None)


def spread(axis: Axis) -> Axis:
    """Return the same positions, each of which now reads all of them.

    >>> spread(whole_axis(3, 2)).low.tolist()
    [0, 0, 0]
    """
    return Axis(np.full_like(axis.low, axis.low.min()), np.full_like(axis.high, axis.high.max()), axis.dim)


def gather(axis: Axis, taps: Places) -> Axis:
    """Return the positions that each read some positions of an axis; taps outside of it count for nothing.

    >>> gather(whole_axis(4, 2), np.array([[-1, 1], [2, 9]])).low.tolist()
    [1, 2]
    """
    inside = (taps >= 0) & (taps < len(axis.low))
    safe = np.where(inside, taps, 0)
    low = np.where(inside, axis.low[safe], NOTHING).min(1)
    return Axis(low, np.where(inside, axis.high[safe], -1).max(1), axis.dim)


def window(axis: Axis, size: int, stride: int, padding: int, dilation: int, outputs: int) -> Axis:
    """Slide a window of taps over the positions, as convolution and pooling do.

    >>> twice = window(window(whole_axis(9, 2), 3, 1, 0, 1, 7), 3, 1, 0, 1, 5)
    >>> twice.line
    Line(start=0, jump=1, size=5)
    """
    taps = np.arange(outputs)[:, None] * stride - padding + dilation * np.arange(size)
    line = axis.line and Line(
        axis.line.start - padding * axis.line.jump,
        axis.line.jump * stride,
        axis.line.size + (size - 1) * dilation * axis.line.jump,
    )
    return gather(axis, taps)._replace(line=line)


def transposed_window(axis: Axis, size: int, stride: int, padding: int, dilation: int, outputs: int) -> Axis:
    """Spread every position over a window, as transposed convolution does; output o reads i with o = s i - p + d k.

    >>> transposed_window(whole_axis(2, 2), 2, 2, 0, 1, 4).low.tolist()
    [0, 0, 1, 1]
    """
    scaled = np.arange(outputs)[:, None] + padding - dilation * np.arange(size)
    return gather(axis, np.where(scaled % stride == 0, scaled // stride, -1))


def bins(axis: Axis, outputs: int) -> Axis:
    """Cut the positions into bins as equal as can be, as adaptive pooling does.

    >>> bins(whole_axis(5, 2), 2).high.tolist()
    [2, 4]
    """
    n = len(axis.low)
    cuts = [(i * n // outputs, -(-(i + 1) * n // outputs)) for i in range(outputs)]
    low = np.array([axis.low[a:b].min() for a, b in cuts])
    return Axis(low, np.array([axis.high[a:b].max() for a, b in cuts]), axis.dim)


def cut(axis: Axis, start: int, stop: int, step: int) -> Axis:
    """Keep every `step`-th position.

    >>> cut(whole_axis(6, 2), 1, 6, 2).line
    Line(start=1, jump=2, size=1)
    """
    line = axis.line and Line(axis.line.start + start * axis.line.jump, axis.line.jump * step, axis.line.size)
    return Axis(axis.low[start:stop:step], axis.high[start:stop:step], axis.dim, line)


def pad(axis: Axis, before: int, after: int) -> Axis:
    """Add positions that see nothing; negative numbers take positions away.

    >>> pad(whole_axis(2, 2), 1, 0).high.tolist()
    [-1, 0, 1]
    """
    taps = np.arange(-before, len(axis.low) + after)
    line = axis.line and axis.line._replace(start=axis.line.start - before * axis.line.jump)
    return gather(axis, taps[:, None])._replace(line=line)


def union(axes: Sequence[Axis]) -> Axis:
    """Return what units see that add up units of several branches, as the sum of a residual block does.

    >>> long, short = window(whole_axis(9, 2), 5, 1, 2, 1, 9), window(whole_axis(9, 2), 3, 1, 1, 1, 9)
    >>> union([long, short]).line
    Line(start=-2, jump=1, size=5)
    """
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
    """Put the positions of several tensors one after the other along one axis.

    >>> joined([whole_axis(2, 1), pad(whole_axis(1, 1), 0, 1)], 1).high.tolist()
    [0, 1, 0, -1]
    """
    return Axis(np.concatenate([p.low for p in parts]), np.concatenate([p.high for p in parts]), dim)


def unseen(count: int, dim: int) -> Axis:
    """Return positions that see nothing.

    >>> unseen(2, 1).high.tolist()
    [-1, -1]
    """
    return Axis(np.full(count, NOTHING), np.full(count, -1), dim)


def moved(axis: Axis, dim: int | None) -> Axis:
    """Return the same positions along another axis of the tensor.

    >>> moved(whole_axis(2, 1), 3).dim
    3
    """
    return axis._replace(dim=dim)


def as_ints(value: Any, count: int) -> list[int]:
    """Write a number, or a list that may have one entry, as a list of `count` numbers.

    >>> as_ints(3, 2), as_ints([1], 2), as_ints([1, 2], 2)
    ([3, 3], [1, 1], [1, 2])
    """
    values = [int(value)] if isinstance(value, int) else [int(v) for v in value]
    return values * count if len(values) == 1 else values
