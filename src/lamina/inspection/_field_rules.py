"""What each operation of torch does to receptive fields: one small rule an operation.

Operations without a rule are taken to mix everything; their names are kept, so that nobody takes that for knowledge.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from lamina._types import Tensor
from lamina.inspection._fields import (
    Axis,
    Field,
    as_ints,
    bins,
    cut,
    hull,
    joined,
    moved,
    pad,
    spread,
    transposed_window,
    union,
    unseen,
    whole_axis,
    window,
)

Look = Callable[[Tensor], Field | None]
Rule = Callable[[Look, list[Any], Any], Any]
"""From the fields of tensors, the arguments of an operation and its result to the field (or fields) of the result."""


def positions(shape: Sequence[int], dims: Sequence[int]) -> Field:
    """Return the field of the input itself, followed along the given axes."""
    return tuple(whole_axis(shape[dim], dim) for dim in dims)


def propagate(operation: Any, arguments: list[Any], result: Any, look: Look) -> tuple[Any, bool]:
    """Return the field of a result (a list of them for a list of results), and whether a rule was known."""
    if not any(look(tensor) is not None for tensor in tensors_in(arguments)):
        return None, True
    name = operation._schema.name.split("::")[1].rstrip("_")
    if name in CONSTANT:
        return None, True
    if name in RULES:
        return RULES[name](look, arguments, result), True
    if torch.Tag.pointwise in operation.tags or name in SAME:
        return _pointwise(look, arguments, result), True
    fields = [field for tensor in tensors_in(arguments) if (field := look(tensor)) is not None]
    field = tuple(hull(union([hull(axis) for axis in axes])) for axes in zip(*fields, strict=True))
    return ([field] * len(result) if isinstance(result, list | tuple) else field), False


def tensors_in(values: Any) -> list[Tensor]:
    """List the tensors among values, also those in lists and tuples."""
    if isinstance(values, Tensor):
        return [values]
    return [t for value in values for t in tensors_in(value)] if isinstance(values, list | tuple) else []


SAME = ("clone", "detach", "alias", "contiguous", "_to_copy", "lift_fresh", "native_dropout", "bernoulli",
        "_thnn_fused_lstm_cell", "_thnn_fused_gru_cell")  # fmt: skip
"""Operations that work place by place although torch does not mark them so."""

CONSTANT = ("new_zeros", "new_ones", "new_full", "new_empty", "zeros_like", "ones_like", "full_like", "empty_like")
"""Operations that read the shape of a tensor only."""


def _first(result: Any) -> Tensor:
    return result if isinstance(result, Tensor) else result[0]


def _field(look: Look, tensor: Any) -> Field:
    field = look(tensor)
    assert field is not None
    return field


def _pointwise(look: Look, arguments: list[Any], result: Any) -> Field:
    out = _first(result)
    aligned = []
    for tensor in tensors_in(arguments):
        field = look(tensor)
        if field is not None:
            shift = out.ndim - tensor.ndim
            aligned.append(tuple(_broadcast(axis, shift, out.shape) for axis in field))
    return tuple(union(axes) for axes in zip(*aligned, strict=True))


def _broadcast(axis: Axis, shift: int, shape: Sequence[int]) -> Axis:
    if axis.dim is None:
        return axis
    dim = axis.dim + shift
    if len(axis.low) == shape[dim]:
        return moved(axis, dim)
    return Axis(np.repeat(axis.low, shape[dim]), np.repeat(axis.high, shape[dim]), dim)


def _by_axis(prepare: Callable[[list[Any], Any], Callable[[Axis], Axis]]) -> Rule:
    """Make a rule of a function that reads the arguments and the result, and says what becomes of each axis."""

    def rule(look: Look, arguments: list[Any], result: Any) -> Field:
        change = prepare(arguments, result)
        return tuple(change(axis) for axis in _field(look, arguments[0]))

    return rule


def _moving(places: Callable[[int], int | None]) -> Callable[[Axis], Axis]:
    """Move axes that have a place; the others stay without one."""
    return lambda axis: axis if axis.dim is None else moved(axis, places(axis.dim))


def _windows(result: Any, sizes: list[int], options: list[list[int]], slide: Any = window) -> Any:
    """Slide windows along the last axes of a picture; an axis before them, or folded into them, stays as it is."""
    out = _first(result)

    def change(axis: Axis) -> Any:
        if axis.dim is None or axis.dim < out.ndim - len(sizes):
            return axis
        k = axis.dim - (out.ndim - len(sizes))
        return slide(axis, sizes[k], *(option[k] for option in options), out.shape[axis.dim])

    return change


def _convolution(look: Look, arguments: list[Any], result: Any) -> Field:
    weight, count = arguments[1], arguments[1].ndim - 2
    if look(arguments[0]) is None:
        return tuple(hull(axis) for axis in _field(look, weight))
    options = [as_ints(value, count) for value in arguments[3:6]]
    slide = transposed_window if arguments[6] else window
    change = _windows(result, list(weight.shape[2:]), options, slide)
    field = [change(axis) for axis in _field(look, arguments[0])]
    return tuple(hull(axis) if axis.dim in (None, result.ndim - count - 1) else axis for axis in field)  # channels


def _pool(count: int, dilated: bool) -> Rule:
    @_by_axis
    def rule(arguments: list[Any], result: Any) -> Any:
        sizes = as_ints(arguments[1], count)
        stride = as_ints(arguments[2], count) if arguments[2] else sizes
        padding, dilation = as_ints(arguments[3], count), as_ints(arguments[4], count) if dilated else [1] * count
        return _windows(result, sizes, [stride, padding, dilation])

    return rule


def _adaptive(count: int) -> Rule:
    @_by_axis
    def rule(arguments: list[Any], result: Any) -> Any:
        shape = _first(result).shape
        first = len(shape) - count
        return lambda axis: bins(axis, shape[axis.dim]) if axis.dim is not None and axis.dim >= first else axis

    return rule


@_by_axis
def _reduce(arguments: list[Any], result: Any) -> Any:
    """Sum, mean and the like along some axes, or all."""
    tensor, dims = arguments[0], arguments[1] if len(arguments) > 1 else None
    keep = len(arguments) > 2 and arguments[2] is True
    if not isinstance(dims, int | list | tuple) or isinstance(dims, bool) or dims == []:
        gone = set(range(tensor.ndim))
    else:
        gone = {dim % tensor.ndim for dim in as_ints(dims, 1)}
    others: Callable[[Axis], Axis] = (lambda axis: axis) if keep else _without(gone)
    return lambda axis: hull(axis) if axis.dim is None or axis.dim in gone else others(axis)


def _without(gone: set[int]) -> Callable[[Axis], Axis]:
    """Take axes of a tensor away; the followed one may be among them if it had one place."""
    return _moving(lambda dim: None if dim in gone else dim - sum(other < dim for other in gone))


def _mix(which: Callable[[list[Any]], set[int]]) -> Rule:
    """Let each position along some axes read all positions along them, as softmax and layer norm do."""

    @_by_axis
    def rule(arguments: list[Any], result: Any) -> Any:
        mixed = which(arguments)
        return lambda axis: spread(axis) if axis.dim is None or axis.dim in mixed else axis

    return rule


def _product(places: tuple[int, ...]) -> Rule:
    """Multiply the matrices at two places of the arguments; what stands before is added."""

    def rule(look: Look, arguments: list[Any], result: Any) -> Field:
        left, right = (arguments[place] for place in places)
        fields = []
        if (field := look(left)) is not None:
            fields.append(tuple(hull(a) if a.dim in (None, left.ndim - 1) else a for a in field))
        if (field := look(right)) is not None:
            summed, last = (right.ndim - 2, result.ndim - 1) if right.ndim > 1 else (0, None)
            move = _moving(lambda dim: last if dim == right.ndim - 1 else dim)
            fields.append(tuple(hull(a) if a.dim in (None, summed) else move(a) for a in field))
        if places[0] == 1 and look(arguments[0]) is not None:
            fields.append(_pointwise(look, arguments[:1], result))
        return tuple(union(axes) for axes in zip(*fields, strict=True))

    return rule


@_by_axis
def _view(arguments: list[Any], result: Any) -> Any:
    return _moving(_view_places(tuple(arguments[0].shape), tuple(result.shape)).get)


def _view_places(before: tuple[int, ...], after: tuple[int, ...]) -> dict[int, int]:
    """Say which axes survive a change of shape as they are, and where they are then."""
    if before == after:
        return {dim: dim for dim in range(len(before))}
    found: dict[int, int] = {}
    i = j = 0
    if before and after and before[0] == after[0]:
        found[0], i, j = 0, 1, 1
    while i < len(before) and j < len(after):
        if before[i] == 1 and after[j] != 1:
            i += 1
            continue
        if after[j] == 1 and before[i] != 1:
            j += 1
            continue
        stop_i, stop_j = i + 1, j + 1
        while math.prod(before[i:stop_i]) != math.prod(after[j:stop_j]):
            if math.prod(before[i:stop_i]) < math.prod(after[j:stop_j]):
                stop_i += 1
            else:
                stop_j += 1
        if stop_i == i + 1 and stop_j == j + 1:
            found[i] = j
        i, j = stop_i, stop_j
    return found


@_by_axis
def _permute(arguments: list[Any], result: Any) -> Any:
    return _moving([dim % result.ndim for dim in arguments[1]].index)


@_by_axis
def _transpose(arguments: list[Any], result: Any) -> Any:
    a, b = (dim % result.ndim for dim in arguments[1:3]) if len(arguments) > 2 else (0, result.ndim - 1)
    return _moving(lambda dim: {a: b, b: a}.get(dim, dim))


@_by_axis
def _unsqueeze(arguments: list[Any], result: Any) -> Any:
    return _shifted(arguments[1] % result.ndim)


def _shifted(place: int) -> Callable[[Axis], Axis]:
    """Make room for a new axis."""
    return _moving(lambda dim: dim + (dim >= place))


@_by_axis
def _squeeze(arguments: list[Any], result: Any) -> Any:
    tensor = arguments[0]
    chosen = range(tensor.ndim) if len(arguments) < 2 else as_ints(arguments[1], 1)
    return _without({dim % tensor.ndim for dim in chosen if tensor.shape[dim] == 1})


@_by_axis
def _slice(arguments: list[Any], result: Any) -> Any:
    tensor, dim, *ends = arguments
    dim %= tensor.ndim
    start, stop, step = slice(*ends).indices(tensor.shape[dim])
    return lambda axis: cut(axis, start, stop, step) if axis.dim == dim else axis


def _at(dim: int, index: int) -> Callable[[Axis], Axis]:
    """Take one position along an axis of the tensor, which is then gone."""
    others = _without({dim})
    return lambda axis: moved(cut(axis, index, index + 1, 1), None) if axis.dim == dim else others(axis)


@_by_axis
def _select(arguments: list[Any], result: Any) -> Any:
    tensor, dim, index = arguments
    return _at(dim % tensor.ndim, index % tensor.shape[dim])


def _unbind(look: Look, arguments: list[Any], result: Any) -> list[Field]:
    dim, field = arguments[1] % arguments[0].ndim, _field(look, arguments[0])
    return [tuple(map(_at(dim, index), field)) for index in range(len(result))]


def _split(look: Look, arguments: list[Any], result: Any) -> list[Field]:
    dim, field, fields, start = arguments[2] % arguments[0].ndim, _field(look, arguments[0]), [], 0
    for part in result:
        stop = start + part.shape[dim]
        fields.append(tuple(cut(axis, start, stop, 1) if axis.dim == dim else axis for axis in field))
        start = stop
    return fields


def _cat(look: Look, arguments: list[Any], result: Any) -> Field:
    tensors, dim = arguments[0], arguments[1] % result.ndim
    fields = [look(tensor) for tensor in tensors]
    found = []
    for place, axes in enumerate(zip(*filter(None, fields), strict=True)):
        if all(axis.dim == dim for axis in axes):
            parts = [f[place] if f else unseen(t.shape[dim], dim) for f, t in zip(fields, tensors, strict=True)]
            found.append(joined(parts, dim) if len(parts) > 1 else parts[0])
        else:
            found.append(union(axes))
    return tuple(found)


def _stack(look: Look, arguments: list[Any], result: Any) -> Field:
    dim, fields, found = arguments[1] % result.ndim, [look(tensor) for tensor in arguments[0]], []
    for place, axes in enumerate(zip(*filter(None, fields), strict=True)):
        if all(axis.dim is None and len(axis.low) == 1 for axis in axes):
            found.append(joined([f[place] if f else unseen(1, dim) for f in fields], dim))
        else:
            found.append(_shifted(dim)(union(axes)))
    return tuple(found)


@_by_axis
def _pad(arguments: list[Any], result: Any) -> Any:
    """Pad by a constant; the numbers start from the last axis."""
    sides = {result.ndim - 1 - k: arguments[1][2 * k : 2 * k + 2] for k in range(len(arguments[1]) // 2)}
    return lambda axis: pad(axis, *sides[axis.dim]) if axis.dim in sides else axis


@_by_axis
def _flip(arguments: list[Any], result: Any) -> Any:
    dims = {dim % result.ndim for dim in arguments[1]}
    return lambda axis: Axis(axis.low[::-1], axis.high[::-1], axis.dim) if axis.dim in dims else axis


@_by_axis
def _cumulative(arguments: list[Any], result: Any) -> Any:
    dim, lowest, highest = arguments[1] % result.ndim, np.minimum.accumulate, np.maximum.accumulate
    return lambda axis: Axis(lowest(axis.low), highest(axis.high), dim) if axis.dim == dim else axis


def _embedding(look: Look, arguments: list[Any], result: Any) -> Field:
    return _field(look, arguments[1]) if look(arguments[1]) is not None else _field(look, arguments[0])


def _expand(look: Look, arguments: list[Any], result: Any) -> Field:
    return _pointwise(look, arguments[:1], result)


def _batch_norm(look: Look, arguments: list[Any], result: Any) -> Field:
    """Work place by place with stored statistics; statistics of the input itself (instance norm) mix all places."""
    own = any(value is True for value in arguments[3:])
    return tuple(spread(axis) if own else axis for axis in _pointwise(look, arguments[:1], result))


_softmax = _mix(lambda arguments: {arguments[1] % arguments[0].ndim})
_layer_norm = _mix(lambda arguments: set(range(arguments[0].ndim - len(arguments[1]), arguments[0].ndim)))
_REDUCTIONS = ("sum", "mean", "amax", "amin", "prod", "var", "std", "logsumexp", "all", "any", "argmax", "max", "min")
RULES: dict[str, Rule] = {
    "convolution": _convolution,
    **{f"avg_pool{n}d": _pool(n, False) for n in (1, 2, 3)},
    **{f"max_pool{n}d": _pool(n, True) for n in (1, 2, 3)},
    **{f"max_pool{n}d_with_indices": _pool(n, True) for n in (1, 2, 3)},
    **{f"{start}adaptive_{kind}_pool{n}d": _adaptive(n)
       for n in (1, 2, 3) for start in ("", "_") for kind in ("avg", "max")},
    **dict.fromkeys(_REDUCTIONS, _reduce),
    **dict.fromkeys(("mm", "bmm", "mv", "dot"), _product((0, 1))),
    **dict.fromkeys(("addmm", "baddbmm", "addmv", "addbmm"), _product((1, 2))),
    **dict.fromkeys(("view", "_unsafe_view", "reshape", "_reshape_alias"), _view),
    "permute": _permute,
    **dict.fromkeys(("t", "transpose"), _transpose),
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "slice": _slice,
    "select": _select,
    "unbind": _unbind,
    **dict.fromkeys(("split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes"), _split),
    "cat": _cat,
    "stack": _stack,
    "constant_pad_nd": _pad,
    "flip": _flip,
    "cumsum": _cumulative,
    "embedding": _embedding,
    "expand": _expand,
    **dict.fromkeys(("_softmax", "_log_softmax"), _softmax),
    "native_layer_norm": _layer_norm,
    "native_group_norm": _mix(lambda arguments: set(range(1, arguments[0].ndim))),
    **dict.fromkeys(("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training",
                     "cudnn_batch_norm", "miopen_batch_norm"), _batch_norm),
}  # fmt: skip
