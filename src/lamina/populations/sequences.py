"""Stacked rules of recurrent cells: K cells along a sequence, the products with the inputs before the loop.

Inside, values lie as [member, feature, batch], so that one step is one product of K small matrices.
"""

from collections.abc import Sequence
from typing import cast

import torch

from lamina._types import Tensor
from lamina.functional.recurrent import State, hidden
from lamina.layers import LSTMCell, Recurrent, RNNCell
from lamina.layers.cells import Cell
from lamina.populations.dense import stacked_affine
from lamina.populations.scan import can_scan, scan


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


def _inner(state: State, members: int) -> State:
    """Turn [batch, members or 1, feature] into [member, feature, batch]."""
    if not isinstance(state, Tensor):
        return _inner(state[0], members), _inner(state[1], members)  # type: ignore[return-value]
    return state.expand(-1, members, -1).permute(1, 2, 0)


def _outer(state: State) -> State:
    """Turn it back."""
    return (
        state.permute(2, 0, 1) if isinstance(state, Tensor) else (state[0].permute(2, 0, 1), state[1].permute(2, 0, 1))
    )


def cell(module: Cell, inputs: Tensor, state: State | None = None) -> State:
    """Advance K cells by one time step."""
    read = stacked_affine(inputs, module.weight[:, :, module.hidden_size :], module.bias)
    start = _inner(module.initial_state(inputs) if state is None else state, len(module.weight))
    return _outer(_step(module, read.permute(1, 2, 0), start))


def run_layer(
    module: Recurrent, cells: Sequence[Cell], inputs: Tensor, starts: Sequence[State], mask: Tensor | None
) -> tuple[Tensor, list[State]]:
    """Run K layers along sequences [batch, members, time, feature] in their directions."""
    found = [
        _unroll(cell, inputs, _inner(start, len(cell.weight)), mask, reverse=place == 1)
        for place, (cell, start) in enumerate(zip(cells, starts, strict=True))
    ]
    return torch.cat([outputs for outputs, _ in found], -1), [_outer(end) for _, end in found]


def _unroll(cell: Cell, inputs: Tensor, state: State, mask: Tensor | None, reverse: bool) -> tuple[Tensor, State]:
    """Apply one cell to every time; see `functional.recurrent.unroll` for the mask, [batch, members or 1, time]."""
    if mask is not None:
        inputs = torch.where(mask[..., None], inputs, 0.0)
    # Time before batch, so that the values of one time lie together.
    rows, n = inputs.transpose(0, 2), cell.hidden_size
    read = stacked_affine(rows, cell.weight[:, :, n:], cell.bias)
    kind, activation, reset = _kind(cell)
    if can_scan(read, kind, activation, reset):
        first = (state,) if isinstance(state, Tensor) else state
        hoisted = read.permute(1, 3, 0, 2)  # [member, row, time, batch], as it lies
        states, c = scan(hoisted, cell.weight[:, :, :n], first, mask, kind, activation, reverse)
        end = states[:, :, 0 if reverse else -1]
        outputs = states.permute(3, 0, 2, 1)
        return outputs if mask is None else torch.where(mask[..., None], outputs, 0.0), end if c is None else (end, c)
    return _loop(cell, read, state, mask, reverse)


def _kind(cell: Cell) -> tuple[str, str, str]:
    """Name a cell, its activation and its reset."""
    if isinstance(cell, RNNCell):
        return "rnn", cell.activation.name, ""
    return ("lstm", "", "") if isinstance(cell, LSTMCell) else ("gru", "", cell.reset)


def _loop(cell: Cell, read: Tensor, state: State, mask: Tensor | None, reverse: bool) -> tuple[Tensor, State]:
    """Make the steps one by one, from what the inputs contribute, [time, member, batch, row]."""
    values: list[Tensor] = []
    for t in range(len(read))[:: -1 if reverse else 1]:
        new = _step(cell, read[t].permute(0, 2, 1), state)
        if mask is None:
            state = new
            values.append(hidden(new))
        else:
            valid = mask[:, :, t, None].permute(1, 2, 0)
            state = _where(valid, new, state)
            values.append(torch.where(valid, hidden(new), 0.0))
    # [time, member, feature, batch] to [batch, member, time, feature]
    return torch.stack(values[:: -1 if reverse else 1]).permute(3, 1, 0, 2), state


def _where(valid: Tensor, new: State, old: State) -> State:
    if isinstance(new, Tensor):
        return torch.where(valid, new, hidden(old))
    return torch.where(valid, new[0], old[0]), torch.where(valid, new[1], old[1])
