"""K recurrent cells along a sequence, with the backward pass written out.

On a CPU that is one call (`scan.py`). On CUDA the products with the inputs are made before, for all times at once; then
a step is one product of K small matrices and one call of what is not a product (`cells.cu`); the gradient of the
recurrent weights is one product over all times at the end.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import torch

from lamina._types import Tensor
from lamina.kernels import _nvrtc as nvrtc
from lamina.kernels import native

THREADS = 64
ACTIVATIONS = ("tanh", "relu", "sigmoid")
"""The activations of plain cells that have a compiled step."""

_NAMES = ("lstm_forward_all", "lstm_backward_all", "gru_gates_all", "gru_forward_all", "gru_backward_all",
          "gru_gates_backward_all", "rnn_forward_all", "rnn_backward_all")  # fmt: skip


class _View(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("member", ctypes.c_longlong), ("row", ctypes.c_longlong)]


class _Step(ctypes.Structure):
    _fields_ = [
        ("view", _View * 7),
        ("valid", ctypes.c_void_p),
        *((name, ctypes.c_longlong) for name in ("valid_member", "members", "hidden", "batch", "activation")),
    ]


class _Calls:
    """The compiled steps for K cells of one size.

    Args:
        like: a state [member, hidden, batch].
        mask: which steps belong to a sequence, [time, members or 1, batch], or None.
        activation: of a plain cell.
    """

    def __init__(self, like: Tensor, mask: Tensor | None, activation: str) -> None:
        self._shape, self._mask = tuple(like.shape), mask
        self._activation = ACTIVATIONS.index(activation) if activation in ACTIVATIONS else 0
        definitions = (("DOUBLE", int(like.dtype == torch.float64)),)
        self._kernels = nvrtc.library("cells.cu", _NAMES, like.device, definitions)

    def __call__(self, name: str, time: int, *tensors: Tensor) -> None:
        members, hidden, batch = self._shape
        views = [_View(t.data_ptr(), t.stride(0), t.stride(1)) for t in tensors]
        step = _Step((_View * 7)(*views), None, 0, members, hidden, batch, self._activation)
        if self._mask is not None:
            step.valid = self._mask[time].data_ptr()
            step.valid_member = 0 if self._mask.shape[1] == 1 else batch
        blocks = -(-batch // THREADS), members * hidden
        self._kernels[f"{name}_all"].launch(blocks, THREADS, (step,))


def _slots(time: int, reverse: bool) -> list[tuple[int, int, int]]:
    """List (time, slot before, slot after) in the order of the steps; there is one slot more than times."""
    return [(t, t + 1, t) for t in reversed(range(time))] if reverse else [(t, t, t + 1) for t in range(time)]


class _Steps(torch.autograd.Function):
    """A cell along a sequence on CUDA, step by step.

    Takes what the inputs contribute [member, row, time, batch], the recurrent weight [member, row, hidden], the first
    states [member, hidden, batch] (c is None but for an LSTM), the mask, and (cell, activation, reverse). Returns the
    states at all times [member, hidden, time, batch] and, for an LSTM, the last c.
    """

    @staticmethod
    def forward(
        ctx: Any,
        read: Tensor,
        weight: Tensor,
        h: Tensor,
        c: Tensor | None,
        mask: Tensor | None,
        kind: tuple[str, str, bool],
    ) -> Any:
        cell, activation, reverse = kind
        members, hidden, batch = h.shape
        time = read.shape[2]
        states = h.new_empty(members, hidden, time + 1, batch)
        states[:, :, time if reverse else 0].copy_(h)
        c = None if c is None else c.contiguous()
        calls = _Calls(h, mask, activation)
        kept: list[tuple[Tensor, ...]] = []
        for t, before, after in _slots(time, reverse):
            old, new = states[:, :, before], states[:, :, after]
            if cell == "gru":
                z = torch.baddbmm(read[:, : 2 * hidden, t], weight[:, : 2 * hidden], old)
                turned = torch.empty_like(h, memory_format=torch.contiguous_format)
                calls("gru_gates", t, z, old, turned)
                candidate = torch.baddbmm(read[:, 2 * hidden :, t], weight[:, 2 * hidden :], turned)
                calls("gru_forward", t, z, old, new, candidate)
                kept.append((z, turned, candidate))
                continue
            z = torch.baddbmm(read[:, :, t], weight, old)
            if cell == "lstm":
                assert c is not None
                c_new = torch.empty_like(c, memory_format=torch.contiguous_format)
                calls("lstm_forward", t, z, old, new, c, c_new)
                kept.append((z, c, c_new))
                c = c_new
            else:
                calls("rnn_forward", t, z, old, new)
                kept.append(())
        ctx.save_for_backward(weight, states, *([] if mask is None else [mask]), *[t for part in kept for t in part])
        ctx.kind, ctx.masked, ctx.each = kind, mask is not None, len(kept[0])
        outputs = states[:, :, :time] if reverse else states[:, :, 1:]
        return outputs if cell != "lstm" else (outputs, c)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        cell, activation, reverse = ctx.kind
        weight, states, *rest = ctx.saved_tensors
        mask = rest.pop(0) if ctx.masked else None
        members, hidden, _, batch = states.shape
        time, rows = states.shape[2] - 1, weight.shape[1]
        slopes = grads[0].contiguous()
        dz = states.new_empty(members, rows, time, batch)
        dh = states.new_zeros(members, hidden, batch)
        dc = grads[1].contiguous().clone() if cell == "lstm" else dh
        calls, turned = _Calls(dh, mask, activation), states.new_empty(0)
        if cell == "gru":
            turned = states.new_empty(members, hidden, time, batch)
        for number, (t, before, after) in reversed(list(enumerate(_slots(time, reverse)))):
            kept = rest[number * ctx.each : (number + 1) * ctx.each]
            old, here, slope = states[:, :, before], dz[:, :, t], slopes[:, :, t]
            if cell == "gru":
                z, r_h, candidate = kept
                gates, inner = here[:, : 2 * hidden], here[:, 2 * hidden :]
                calls("gru_backward", t, z, old, dh, slope, candidate, gates, inner)
                calls("gru_gates_backward", t, z, old, dh, torch.bmm(weight[:, 2 * hidden :].mT, inner), gates)
                turned[:, :, t].copy_(r_h)
                dh = torch.baddbmm(dh, weight[:, : 2 * hidden].mT, gates)
            elif cell == "lstm":
                z, c, c_new = kept
                calls("lstm_backward", t, z, here, dh, slope, dc, c, c_new)
                dh = torch.baddbmm(dh, weight.mT, here)
            else:
                calls("rnn_backward", t, states[:, :, after], here, dh, slope)
                dh = torch.baddbmm(dh, weight.mT, here)
        before = states[:, :, 1:] if reverse else states[:, :, :time]
        d_weight = (
            _outer(dz[:, : 2 * hidden], before, dz[:, 2 * hidden :], turned) if cell == "gru" else _product(dz, before)
        )
        return dz, d_weight, dh, dc if cell == "lstm" else None, None, None


def _product(dz: Tensor, values: Tensor) -> Tensor:
    """Sum over times and batch: [member, row, time, batch] and [member, hidden, time, batch]."""
    return torch.bmm(dz.flatten(2), values.flatten(2).mT)


def _outer(gates: Tensor, before: Tensor, inner: Tensor, turned: Tensor) -> Tensor:
    return torch.cat([_product(gates, before), _product(inner, turned)], 1)


def can_scan(like: Tensor, cell: str, activation: str, reset: str) -> bool:
    """Say whether a cell has a compiled step here."""
    known = cell == "lstm" or (cell == "gru" and reset == "before") or (cell == "rnn" and activation in ACTIVATIONS)
    return known and like.dtype in (torch.float32, torch.float64) and (like.is_cuda or native.works())


def scan(
    read: Tensor,
    weight: Tensor,
    state: Sequence[Tensor],
    mask: Tensor | None,
    cell: str,
    activation: str = "tanh",
    reverse: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Run K cells along a sequence on CUDA.

    Args:
        read: what the inputs and the bias contribute, [member, row, time, batch].
        weight: the recurrent part of the weight, [member, row, hidden].
        state: h, or h and c, each [member, hidden, batch].
        mask: which steps belong to a sequence, [batch, members or 1, time]; all without it.
        cell: "rnn", "gru" or "lstm".
        activation: of a plain cell.
        reverse: run from the last step to the first.

    Returns:
        The states at all times, [member, hidden, time, batch], and the last c of an LSTM.
    """
    if mask is not None:
        mask = mask.permute(2, 1, 0).contiguous()
    h, c = (*state, None)[:2]
    result = _Steps.apply(read, weight, h, c, mask, (cell, activation, reverse))
    return result if cell == "lstm" else (result, None)
