"""K recurrent cells along a sequence on the CPU, as one call of compiled code each way; see `scan.cpp`.

Step by step, threads meet at every time, and what the inputs contribute and the gates go through memory. Here a thread
takes a member through all times, inputs and all.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import torch

from lamina._types import Tensor
from lamina.kernels import native

CELLS = ("rnn", "gru", "lstm")
ACTIVATIONS = {"relu": 1, "sigmoid": 2, "tanh": 3}
"""The activations of plain cells, by their numbers in `panels.cpp`."""
_ROWS = {"rnn": 1, "gru": 3, "lstm": 4}
_WHOLE = 16
"""The numbers in the longest vector of any processor: lines of values are padded to a multiple of it."""


class _Call(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_longlong) for name in ("members", "hidden", "features", "time", "batch", "line")),
        *((name, ctypes.c_longlong) for name in ("cell", "act", "reverse")),
        ("inputs", ctypes.c_void_p),
        *((name, ctypes.c_longlong) for name in ("inputs_member", "inputs_time", "inputs_feature")),
        ("weight", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("valid", ctypes.c_void_p),
        ("valid_time", ctypes.c_longlong),
        ("valid_member", ctypes.c_longlong),
        *((name, ctypes.c_void_p) for name in ("h0", "c0", "states", "kept", "memory", "slopes")),
        *((name, ctypes.c_void_p) for name in ("d_inputs", "d_weight", "d_bias", "d_h0", "d_c0")),
    ]


def _call(
    kind: tuple[str, str, bool],
    inputs: Tensor,
    weight: Tensor,
    mask: Tensor | None,
    states: Tensor,
    backward: bool,
    **places: Any,
) -> None:
    """Run all members; `places` are the tensors that `_Call` names."""
    cell, activation, reverse = kind
    (members, hidden, slots, batch), line = states.shape, _line(states.shape[3])
    sizes = members, hidden, inputs.shape[2], slots - 1, batch, line
    found = _Call(*sizes, CELLS.index(cell), ACTIVATIONS.get(activation, 0), reverse)
    found.inputs_member = 0 if len(inputs) == 1 else inputs.stride(0)
    found.inputs_time, found.inputs_feature = inputs.stride(1), inputs.stride(2)
    if mask is not None:
        found.valid, found.valid_time = mask.data_ptr(), mask.stride(0)
        found.valid_member = 0 if mask.shape[1] == 1 else mask.stride(1)
    for name, tensor in {"inputs": inputs, "weight": weight, "states": states, **places}.items():
        setattr(found, name, None if tensor is None else tensor.data_ptr())
    run = native.library("scan.cpp", (("DOUBLE", int(states.dtype == torch.float64)),)).scan
    run.restype = None
    run(ctypes.byref(found), ctypes.c_longlong(backward), ctypes.c_longlong(torch.get_num_threads()))


def _line(batch: int) -> int:
    return -(-batch // _WHOLE) * _WHOLE


class _Scan(torch.autograd.Function):
    """A cell along a sequence; see `run`."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        weight: Tensor,
        bias: Tensor,
        h: Tensor,
        c: Tensor | None,
        mask: Tensor | None,
        kind: tuple[str, str, bool],
    ) -> Any:
        (members, hidden, batch), time, line = h.shape, inputs.shape[1], _line(h.shape[2])
        inputs = inputs if inputs.stride(3) == 1 else inputs.contiguous()
        weight, bias = weight.contiguous(), bias.contiguous()
        states = h.new_empty(members, hidden, time + 1, batch)
        kept = None if kind[0] == "rnn" else h.new_empty(members, time, _ROWS[kind[0]] * hidden, line)
        memory = None if c is None else h.new_empty(members, time + 1, hidden, line)
        starts = {"h0": h.contiguous(), "c0": None if c is None else c.contiguous()}
        _call(kind, inputs, weight, mask, states, False, bias=bias, kept=kept, memory=memory, **starts)
        ctx.save_for_backward(inputs, weight, states, mask, kept, memory)
        ctx.kind = kind
        ctx.set_materialize_grads(False)  # who reads the last state alone has no slopes at other times
        first, last = (0, 0) if kind[2] else (1, time)
        ends = states[:, :, last].clone(), None if memory is None else memory[:, last, :, :batch].clone()
        return states[:, :, first : first + time], *ends

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        inputs, weight, states, mask, kept, memory = ctx.saved_tensors
        members, hidden, slots, batch = states.shape
        features, rows = inputs.shape[2], weight.shape[1]
        shape = members, hidden, batch

        def start(slope: Tensor | None) -> Tensor:
            return states.new_zeros(shape) if slope is None else slope.clone(memory_format=torch.contiguous_format)

        found = {
            "d_inputs": states.new_empty(members, slots - 1, features, batch) if ctx.needs_input_grad[0] else None,
            "d_weight": states.new_empty(members, rows, hidden + features),
            "d_bias": states.new_empty(members, rows),
            "d_h0": start(grads[1]),
            "d_c0": None if memory is None else start(grads[2]),
        }
        slopes = None if grads[0] is None else grads[0].contiguous()
        _call(ctx.kind, inputs, weight, mask, states, True, kept=kept, memory=memory, slopes=slopes, **found)
        if found["d_inputs"] is not None and len(inputs) < members:  # shared by all
            found["d_inputs"] = found["d_inputs"].sum(0, keepdim=True)
        return *found.values(), None, None


def run(
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor,
    state: Sequence[Tensor],
    mask: Tensor | None,
    cell: str,
    activation: str = "tanh",
    reverse: bool = False,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Run K cells along a sequence.

    Args:
        inputs: [member or 1, time, feature, batch].
        weight: on state and inputs, [member, row, hidden + feature].
        bias: [member, row].
        state: h, or h and c, each [member, hidden, batch].
        mask: which steps belong to a sequence, [batch, members or 1, time]; all without it.
        cell: one of `CELLS`.
        activation: of a plain cell.
        reverse: run from the last step to the first.

    Returns:
        The states at all times, [member, hidden, time, batch], the last h, and the last c of an LSTM.
    """
    if mask is not None:
        mask = mask.permute(2, 1, 0).contiguous()
    h, c = (*state, None)[:2]
    found: tuple[Tensor, Tensor, Tensor | None] = _Scan.apply(
        inputs, weight, bias, h, c, mask, (cell, activation, reverse)
    )
    return found
