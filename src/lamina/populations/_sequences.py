"""Stacked rules of recurrent cells: K cells along a sequence.

Inside, values lie as [member, feature, batch], so that one step is one product of K small matrices.
"""

from collections.abc import Sequence
from functools import partial
from typing import cast

import torch
from torch import nn

from lamina._types import Tensor
from lamina.functional.recurrent import State, hidden, unroll
from lamina.kernels.cells import can_scan, scan
from lamina.kernels.scan import run as scan_on_cpu
from lamina.layers import LSTMCell, Recurrent, RNNCell
from lamina.layers.cells import Cell
from lamina.populations._dense import stacked_affine


def _step(cell: Cell, read: Tensor, state: State) -> State:
    """Advance K cells by one time step, given what they make of the input: [member, gates, batch]."""
    n = cell.hidden_size
    w = cell.weight[:, :, :n]
    if isinstance(cell, RNNCell):
        return cell.activation(torch.baddbmm(read, w, hidden(state)))
    if isinstance(cell, LSTMCell):
        h, c = cast(tuple[Tensor, Tensor], state)
        z = torch.baddbmm(read, w, h)
        gate_f, gate_i, gate_o = torch.sigmoid(z[:, : 3 * n]).chunk(3, 1)
        c = gate_f * c + gate_i * torch.tanh(z[:, 3 * n :])
        return gate_o * torch.tanh(c), c
    h = hidden(state)
    gate_r, gate_u = torch.sigmoid(torch.baddbmm(read[:, : 2 * n], w[:, : 2 * n], h)).chunk(2, 1)
    if cell.reset == "before":
        candidate = torch.tanh(torch.baddbmm(read[:, 2 * n :], w[:, 2 * n :], gate_r * h))
    else:
        assert cell.hidden_bias is not None
        product = torch.baddbmm(cell.hidden_bias[:, :, None], w[:, 2 * n :], h)
        candidate = torch.tanh(read[:, 2 * n :] + gate_r * product)
    return gate_u * candidate + (1 - gate_u) * h


def _permuted(state: State, members: int, axes: tuple[int, int, int]) -> State:
    """Permute each part of a state, after all members have one."""
    parts = [part.expand(-1, members, -1).permute(axes) for part in ([state] if isinstance(state, Tensor) else state)]
    return parts[0] if isinstance(state, Tensor) else (parts[0], parts[1])


def _advance(cell: Cell, read: Tensor, state: State) -> State:
    """Advance K cells by one time step, given what they make of the input; all laid out [batch, member, ...]."""
    start = _permuted(state, len(cell.weight), (1, 2, 0))
    return _permuted(_step(cell, read.permute(1, 2, 0), start), -1, (2, 0, 1))


def cell(module: Cell, inputs: Tensor, state: State | None = None) -> State:
    """Advance K cells by one time step."""
    read = stacked_affine(inputs, module.weight[:, :, module.hidden_size :], module.bias)
    return _advance(module, read, module.initial_state(inputs) if state is None else state)


def _run_layer(
    module: Recurrent, cells: Sequence[nn.Module], inputs: Tensor, starts: Sequence[State], mask: Tensor | None
) -> tuple[Tensor, list[State]]:
    """Run K layers along sequences [batch, members, time, feature] in their directions."""
    found = [
        _unroll(cell, inputs, start, mask, reverse=place == 1)
        for place, (cell, start) in enumerate(zip(cells, starts, strict=True))
    ]
    outputs = [own for own, _ in found]
    return torch.cat(outputs, -1) if len(outputs) > 1 else outputs[0], [end for _, end in found]


def _unroll(cell: nn.Module, inputs: Tensor, start: State, mask: Tensor | None, reverse: bool) -> tuple[Tensor, State]:
    """Apply one cell to every time; see `functional.recurrent.unroll` for the mask, [batch, members or 1, time]."""
    if mask is not None:
        inputs = torch.where(mask[..., None], inputs, 0.0)
    if not isinstance(cell, Cell):  # one without a rule, which `vmap` computes
        members = len(next(cell.parameters()))
        return unroll(cell, inputs.expand(-1, members, -1, -1), start, mask, reverse)
    kind, activation, reset = _kind(cell)
    first = _permuted(start, len(cell.weight), (1, 2, 0))
    state = (first,) if isinstance(first, Tensor) else first
    fits, half = can_scan(inputs, kind, activation, reset), torch.is_autocast_enabled(inputs.device.type)
    h: Tensor
    same = {inputs.dtype, *(part.dtype for part in state)} == {cell.weight.dtype}
    if fits and same and not half and inputs.device.type == "cpu":
        rows = inputs.permute(1, 2, 3, 0)  # [member, time, feature, batch]
        states, h, c = scan_on_cpu(rows, cell.weight, cell.bias, state, mask, kind, activation, reverse)
    else:
        n = cell.hidden_size
        # Time before batch, so that the values of one time lie together: [time, member, batch, row].
        read = stacked_affine(inputs.transpose(0, 2), cell.weight[:, :, n:], cell.bias)
        if not (fits and same and inputs.is_cuda) or half:
            return unroll(partial(_advance, cell), read.transpose(0, 2), start, mask, reverse)
        hoisted = read.permute(1, 3, 0, 2)  # [member, row, time, batch], as it lies
        states, c = scan(hoisted, cell.weight[:, :, :n], state, mask, kind, activation, reverse)
        h = states[:, :, 0 if reverse else -1]
    outputs, h = states.permute(3, 0, 2, 1), h.permute(2, 0, 1)
    outputs = outputs if mask is None else torch.where(mask[..., None], outputs, 0.0)
    return outputs, h if c is None else (h, c.permute(2, 0, 1))


def _kind(cell: Cell) -> tuple[str, str, str]:
    """Name a cell, its activation and its reset."""
    if isinstance(cell, RNNCell):
        return "rnn", cell.activation.name, ""
    return ("lstm", "", "") if isinstance(cell, LSTMCell) else ("gru", "", cell.reset)
