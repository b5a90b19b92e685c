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
    """Return the field of the input itself, followed along the given axes.

    >>> [len(axis.low) for axis in positions((1, 3, 8, 9), (2, 3))]
    [8, 9]
    """
    return tuple(whole_axis(shape[dim], dim) for dim in dims)


def propagate(operation: Any, arguments: list[Any], result: Any, look: Look) -> tuple[Any, bool]:
    """Return the field of a result (a list of them for a list of results), and whether a rule was known.

    Args:
        operation: the operation of torch, an `OpOverload`.
        arguments: all its arguments in the order of its schema, defaults filled in.
        result: what it returned.
        look: gives the field of a tensor, None for one that does not depend on the input.
    """
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
    """List the tensors among arguments, also those in lists.

    >>> len(tensors_in([torch.zeros(1), 2, [torch.zeros(1)]]))
    2
    """
    if isinstance(values, Tensor):
        return [values]
    if isinstance(values, list | tuple):
        return [tensor for value in values for tensor in tensors_in(value)]
    return []


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


def _each(look: Look, arguments: list[Any], result: Any, change: Callable[[Axis], Axis]) -> Field:
    return tuple(change(axis) for axis in _field(look, arguments[0]))


def _windows(
    look: Look, arguments: list[Any], result: Any, sizes: list[int], options: list[list[int]], slide: Any = window
) -> Field:
    """Slide windows along the last axes of a picture; an axis before them, or folded into them, stays as it is."""
    out, found = _first(result), []
    for axis in _field(look, arguments[0]):
        k = -1 if axis.dim is None else axis.dim - (out.ndim - len(sizes))
        if k < 0:
            found.append(axis)
        else:
            found.append(slide(axis, sizes[k], *(option[k] for option in options), out.shape[axis.dim or 0]))
    return tuple(found)


def _convolution(look: Look, arguments: list[Any], result: Any) -> Field:
    weight, count = arguments[1], arguments[1].ndim - 2
    if look(arguments[0]) is None:
        return tuple(hull(axis) for axis in _field(look, weight))
    options = [as_ints(value, count) for value in arguments[3:6]]
    slide = transposed_window if arguments[6] else window
    field = _windows(look, arguments, result, list(weight.shape[2:]), options, slide)
    return tuple(hull(axis) if axis.dim in (None, result.ndim - count - 1) else axis for axis in field)  # channels


def _pool(count: int, dilated: bool) -> Rule:
    def rule(look: Look, arguments: list[Any], result: Any) -> Field:
        sizes = as_ints(arguments[1], count)
        stride = as_ints(arguments[2], count) if arguments[2] else sizes
        padding, dilation = as_ints(arguments[3], count), as_ints(arguments[4], count) if dilated else [1] * count
        return _windows(look, arguments, result, sizes, [stride, padding, dilation])

    return rule


def _adaptive(count: int) -> Rule:
    def rule(look: Look, arguments: list[Any], result: Any) -> Field:
        out = _first(result)
        return _each(
            look,
            arguments,
            result,
            lambda axis: (
                bins(axis, out.shape[axis.dim]) if axis.dim is not None and axis.dim >= out.ndim - count else axis
            ),
        )

    return rule


def _reduce(look: Look, arguments: list[Any], result: Any) -> Field:
    """Sum, mean and the like along some axes, or all."""
    tensor, dims = arguments[0], arguments[1] if len(arguments) > 1 else None
    keep = bool(arguments[2]) if len(arguments) > 2 and isinstance(arguments[2], bool) else False
    if not isinstance(dims, int | list | tuple) or isinstance(dims, bool) or dims == []:
        gone = set(range(tensor.ndim))
    else:
        gone = {dim % tensor.ndim for dim in as_ints(dims, 1)}

    return tuple(
        hull(axis) if axis.dim is None or axis.dim in gone else axis if keep else _without(axis, gone)
        for axis in _field(look, arguments[0])
    )


def _without(axis: Axis, gone: set[int]) -> Axis:
    """Return an axis after other axes of the tensor have gone; its own may be among them if it had one place."""
    if axis.dim is None or axis.dim in gone:
        return moved(axis, None)
    return moved(axis, axis.dim - sum(dim < axis.dim for dim in gone))


def _mix(which: Callable[[list[Any]], set[int]]) -> Rule:
    """Each position along some axes reads all positions along them, as softmax and layer norm do."""

    def rule(look: Look, arguments: list[Any], result: Any) -> Field:
        mixed = which(arguments)
        return _each(
            look, arguments, result, lambda axis: spread(axis) if axis.dim is None or axis.dim in mixed else axis
        )

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
            fields.append(
                tuple(
                    hull(a) if a.dim in (None, summed) else moved(a, last if a.dim == right.ndim - 1 else a.dim)
                    for a in field
                )
            )
        if places[0] == 1 and look(arguments[0]) is not None:
            fields.append(_pointwise(look, arguments[:1], result))
        return tuple(union(axes) for axes in zip(*fields, strict=True))

    return rule


def _view(look: Look, arguments: list[Any], result: Any) -> Field:
    before, after = arguments[0].shape, result.shape
    places = view_places(tuple(before), tuple(after))
    return _each(look, arguments, result, lambda axis: axis if axis.dim is None else moved(axis, places.get(axis.dim)))


def view_places(before: tuple[int, ...], after: tuple[int, ...]) -> dict[int, int]:
    """Say which axes survive a change of shape as they are, and where they are then.

    >>> view_places((1, 16, 5, 5), (1, 400)), view_places((1, 7, 3), (7, 3))
    ({0: 0}, {1: 0, 2: 1})
    """
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


def _permute(look: Look, arguments: list[Any], result: Any) -> Field:
    order = [dim % arguments[0].ndim for dim in arguments[1]]
    return _each(look, arguments, result, lambda axis: moved(axis, None if axis.dim is None else order.index(axis.dim)))


def _transpose(look: Look, arguments: list[Any], result: Any) -> Field:
    count = arguments[0].ndim
    a, b = (dim % count for dim in arguments[1:3]) if len(arguments) > 2 else (0, count - 1)
    swap = {a: b, b: a}
    return _each(
        look, arguments, result, lambda axis: moved(axis, None if axis.dim is None else swap.get(axis.dim, axis.dim))
    )


def _unsqueeze(look: Look, arguments: list[Any], result: Any) -> Field:
    place = arguments[1] % result.ndim
    return _each(look, arguments, result, lambda axis: _shifted(axis, place))


def _shifted(axis: Axis, place: int) -> Axis:
    return moved(axis, axis.dim + 1) if axis.dim is not None and axis.dim >= place else axis


def _squeeze(look: Look, arguments: list[Any], result: Any) -> Field:
    tensor = arguments[0]
    chosen = range(tensor.ndim) if len(arguments) < 2 else as_ints(arguments[1], 1)
    gone = {dim % tensor.ndim for dim in chosen if tensor.shape[dim] == 1}
    return _each(look, arguments, result, lambda axis: _without(axis, gone))


def _slice(look: Look, arguments: list[Any], result: Any) -> Field:
    tensor, dim, start, stop, step = arguments
    dim %= tensor.ndim
    start, stop, step = slice(start, stop, step).indices(tensor.shape[dim])
    return _each(look, arguments, result, lambda axis: cut(axis, start, stop, step) if axis.dim == dim else axis)


def _at(axis: Axis, dim: int, index: int) -> Axis:
    """Take one position along an axis of the tensor, which is then gone."""
    if axis.dim == dim:
        return moved(cut(axis, index, index + 1, 1), None)
    return moved(axis, axis.dim - 1) if axis.dim is not None and axis.dim > dim else axis


def _select(look: Look, arguments: list[Any], result: Any) -> Field:
    tensor, dim, index = arguments
    dim %= tensor.ndim
    return _each(look, arguments, result, lambda axis: _at(axis, dim, index % tensor.shape[dim]))


def _unbind(look: Look, arguments: list[Any], result: Any) -> list[Field]:
    dim = arguments[1] % arguments[0].ndim
    field = _field(look, arguments[0])
    return [tuple(_at(axis, dim, index) for axis in field) for index in range(len(result))]


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
    known = [field for field in fields if field is not None]
    found = []
    for place, axes in enumerate(zip(*known, strict=True)):
        if all(axis.dim == dim for axis in axes):
            parts = [f[place] if f else unseen(t.shape[dim], dim) for f, t in zip(fields, tensors, strict=True)]
            found.append(joined(parts, dim) if len(parts) > 1 else parts[0])
        else:
            found.append(union(axes))
    return tuple(found)


def _stack(look: Look, arguments: list[Any], result: Any) -> Field:
    tensors, dim = arguments[0], arguments[1] % result.ndim
    fields = [look(tensor) for tensor in tensors]
    found = []
    for place, axes in enumerate(zip(*(field for field in fields if field is not None), strict=True)):
        if all(axis.dim is None and len(axis.low) == 1 for axis in axes):
            found.append(joined([f[place] if f else unseen(1, dim) for f in fields], dim))
        else:
            found.append(_shifted(union(axes), dim))
    return tuple(found)


def _pad(look: Look, arguments: list[Any], result: Any) -> Field:
    """Pad by a constant; the numbers start from the last axis."""
    sides = {result.ndim - 1 - k: arguments[1][2 * k : 2 * k + 2] for k in range(len(arguments[1]) // 2)}
    return tuple(pad(a, *sides[a.dim]) if a.dim in sides else a for a in _field(look, arguments[0]))


def _flip(look: Look, arguments: list[Any], result: Any) -> Field:
    dims = {dim % result.ndim for dim in arguments[1]}
    return _each(
        look,
        arguments,
        result,
        lambda axis: Axis(axis.low[::-1], axis.high[::-1], axis.dim) if axis.dim in dims else axis,
    )


def _cumulative(look: Look, arguments: list[Any], result: Any) -> Field:
    dim = arguments[1] % result.ndim
    return tuple(
        Axis(np.minimum.accumulate(axis.low), np.maximum.accumulate(axis.high), dim) if axis.dim == dim else axis
        for axis in _field(look, arguments[0])
    )


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
