"""Stacked rules of recurrent cells: K cells along a sequence, the products with the inputs before the loop.

Inside, values lie as [member, feature, batch], so that one step is one product of K small matrices.
"""

from collections.abc import Sequence
from typing import cast

import torch

from lamina._types import Tensor
from lamina.functional.recurrent import State, hidden, valid_steps
from lamina.layers import LSTMCell, Recurrent, RNNCell
from lamina.layers.cells import Cell
from lamina.layers.recurrent import _as_lengths as as_lengths
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


def _inner(state: State) -> State:
    """Turn [batch, member, feature] into [member, feature, batch]."""
    return (
        state.permute(1, 2, 0) if isinstance(state, Tensor) else (state[0].permute(1, 2, 0), state[1].permute(1, 2, 0))
    )


def _outer(state: State) -> State:
    """Turn it back."""
    return (
        state.permute(2, 0, 1) if isinstance(state, Tensor) else (state[0].permute(2, 0, 1), state[1].permute(2, 0, 1))
    )


def _zeros(cell: Cell, inputs: Tensor) -> State:
    """Return the state before the first step, [member, feature, batch]."""
    h = inputs.new_zeros(len(cell.weight), cell.hidden_size, inputs.shape[0])
    return (h, torch.zeros_like(h)) if isinstance(cell, LSTMCell) else h


def cell(module: Cell, inputs: Tensor, state: State | None = None) -> State:
    """Advance K cells by one time step."""
    read = stacked_affine(inputs, module.weight[:, :, module.hidden_size :], module.bias)
    start = _zeros(module, inputs) if state is None else _inner(state)
    return _outer(_step(module, read.permute(1, 2, 0), start))


def recurrent(
    module: Recurrent, inputs: Tensor, state: State | None = None, lengths: Sequence[int] | Tensor | None = None
) -> tuple[Tensor, State]:
    """Run K stacks of cells along a sequence [batch, members, time, feature].

    Returns:
        The top layer's states at all times, and the last states [layers * directions, batch, members, hidden].
    """
    mask = None if lengths is None else _mask(lengths, inputs)
    ends: list[State] = []
    for layer in range(module.layers):
        outputs: list[Tensor] = []
        for place in range(layer * module.directions, (layer + 1) * module.directions):
            each = cast(Cell, module.cells[place])
            start = _zeros(each, inputs) if state is None else _inner(_of(state, place))
            states, end = _unroll(each, inputs, start, mask, reverse=place % module.directions == 1)
            outputs.append(states)
            ends.append(_outer(end))
        inputs = torch.cat(outputs, -1)
        if module.dropouts and layer < module.layers - 1:
            inputs = module.dropouts[layer](inputs)
    h = torch.stack([hidden(end) for end in ends])
    if isinstance(ends[0], Tensor):
        return inputs, h
    return inputs, (h, torch.stack([end[1] for end in ends]))


def _of(state: State, place: int) -> State:
    return state[place] if isinstance(state, Tensor) else (state[0][place], state[1][place])


def _mask(lengths: Sequence[int] | Tensor, inputs: Tensor) -> Tensor:
    """Mark the steps that belong to each sequence: [batch, members or 1, time]."""
    if isinstance(lengths, Tensor) and lengths.ndim == 2:  # each member its own sequences
        return torch.arange(inputs.shape[2], device=inputs.device) < lengths[..., None]
    return valid_steps(as_lengths(lengths, inputs[:, 0]), inputs.shape[2])[:, None]


def _unroll(cell: Cell, inputs: Tensor, state: State, mask: Tensor | None, reverse: bool) -> tuple[Tensor, State]:
    """Apply one cell to every time; see `functional.recurrent.unroll` for the mask."""
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
