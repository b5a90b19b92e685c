"""Recurrent layers whose number of time steps stays free when they are traced.

A trace unrolls a Python loop, which fixes the number of steps. So a copy of the network gets other layers before it is
traced: torch's `scan`, or, for ONNX and the cells that it knows, one operator that becomes ONNX's own RNN, LSTM or GRU.
That operator has no kernel: it exists in the traced graph only.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch._higher_order_ops.scan import scan

from lamina._types import Bool, Float, Tensor
from lamina.functional.recurrent import State, hidden
from lamina.layers.cells import Cell, GRUCell, LSTMCell, RNNCell
from lamina.layers.recurrent import Recurrent

_LIBRARY = torch.library.Library("lamina", "DEF")
_LIBRARY.define(
    "onnx_recurrent(Tensor inputs, Tensor? h, Tensor? c, Tensor? lengths, Tensor weight, Tensor recurrence, "
    "Tensor bias, str kind, int reset_after) -> (Tensor, Tensor, Tensor)"
)
_ACTIVATIONS = {"tanh": "Tanh", "relu": "Relu", "sigmoid": "Sigmoid"}


def _shapes(
    inputs: Tensor,
    h: Any,
    c: Any,
    lengths: Any,
    weight: Any,
    recurrence: Tensor,
    bias: Any,
    kind: str,
    reset_after: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Say which shapes the operator returns: all states, and the last h and c."""
    (batch, time, _), (directions, _, size) = inputs.shape, recurrence.shape
    last = (directions, batch, size)
    return inputs.new_empty(batch, time, directions * size), inputs.new_empty(last), inputs.new_empty(last)


torch.library.register_fake("lamina::onnx_recurrent", _shapes, lib=_LIBRARY)


def with_free_time(network: nn.Module, onnx: bool = False) -> nn.Module:
    """Copy a network whose recurrent layers can be traced for any number of steps.

    Args:
        network: it stays as it is.
        onnx: whether the trace becomes ONNX, which has recurrent layers of its own.
    """
    network = copy.deepcopy(network)
    for part in list(network.modules()):
        if isinstance(part, Recurrent):
            known = onnx and all(_kind(cell) for cell in part.cells)
            part.run_layer = _onnx_layers(part) if known else _scanned  # type: ignore[method-assign]
    return network


def _scanned(
    cells: Sequence[nn.Module], inputs: Tensor, starts: Sequence[State], mask: Tensor | None
) -> tuple[Tensor, list[State]]:
    """Run one layer in its directions by torch's `scan`, as `Recurrent.run_layer` does."""
    found = [
        _scan(cell, inputs, start, mask, reverse=place == 1)
        for place, (cell, start) in enumerate(zip(cells, starts, strict=True))
    ]
    return torch.cat([outputs for outputs, _ in found], -1), [end for _, end in found]


def _scan(
    cell: nn.Module,
    inputs: Float[Tensor, "batch time feature"],
    start: State,
    mask: Bool[Tensor, "batch time"] | None,
    reverse: bool,
) -> tuple[Float[Tensor, "batch time hidden"], State]:
    rows = inputs.shape[0]  # AOTInductor knows only the sizes that a step names

    def advance(state: list[Tensor], read: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], Tensor]:
        new = cell(read[0], state[0] if len(state) == 1 else tuple(state))
        parts = (new,) if isinstance(new, Tensor) else new
        if mask is None:
            return tuple(parts), parts[0].reshape(rows, -1).clone()  # a step may not return a tensor twice
        valid = read[1][:, None]
        kept = tuple(torch.where(valid, part, old) for part, old in zip(parts, state, strict=True))
        return kept, torch.where(valid, parts[0], 0.0).reshape(rows, -1)

    steps = (inputs.transpose(0, 1),) if mask is None else (inputs.transpose(0, 1), mask.transpose(0, 1))
    first = (start,) if isinstance(start, Tensor) else tuple(start)
    end, outputs = scan(advance, first, steps, dim=0, reverse=reverse)
    return outputs.transpose(0, 1), end[0] if len(end) == 1 else tuple(end)


def _onnx_layers(network: Recurrent) -> Callable[..., tuple[Tensor, list[State]]]:
    """Give what runs a layer by the operator that becomes ONNX's own; the rows of weights are put in order here."""
    for place in range(network.layers):
        cells: Any = network.cells[place * network.directions : (place + 1) * network.directions]
        for name, part in zip(("weight", "recurrence", "bias"), map(torch.stack, _rows(cells)), strict=True):
            network.register_buffer(f"onnx_{name}_{place}", part.detach())
    first: Any = network.cells[0]
    places = {first_cell: place for place, first_cell in enumerate(list(network.cells)[:: network.directions])}

    def layer(
        cells: Sequence[nn.Module], inputs: Tensor, starts: Sequence[State], mask: Tensor | None
    ) -> tuple[Tensor, list[State]]:
        place = places[cells[0]]
        values = (getattr(network, f"onnx_{name}_{place}") for name in ("weight", "recurrence", "bias"))
        h = torch.stack([hidden(start) for start in starts])
        c = None if isinstance(starts[0], Tensor) else torch.stack([start[1] for start in starts])
        lengths = None if mask is None else mask.sum(-1).to(torch.int32)
        after = int(getattr(first, "reset", "") == "after")
        outputs, h, c = torch.ops.lamina.onnx_recurrent(inputs, h, c, lengths, *values, _kind(first), after)
        ends = h.unbind(0) if isinstance(starts[0], Tensor) else list(zip(h.unbind(0), c.unbind(0), strict=True))
        return outputs, list(ends)

    return layer


def _kind(cell: nn.Module) -> str:
    """Say what ONNX calls a cell; "" for one that it does not know."""
    if isinstance(cell, RNNCell):
        return _ACTIVATIONS.get(cell.activation.name, "")
    return {GRUCell: "GRU", LSTMCell: "LSTM"}.get(type(cell), "")


def _rows(cells: Sequence[Cell]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Order the rows of cells as ONNX does: of inputs, of states, and both biases."""
    found: tuple[list[Tensor], list[Tensor], list[Tensor]] = [], [], []
    for cell in cells:
        W: Tensor = cell.weight
        b: Tensor = cell.bias
        n = cell.hidden_size
        after = torch.zeros_like(b)
        if isinstance(cell, LSTMCell):
            order = (1, 2, 0, 3)  # f, i, o, c to i, o, f, c
            W, b = torch.cat([W.chunk(4)[k] for k in order]), torch.cat([b.chunk(4)[k] for k in order])
        if isinstance(cell, GRUCell):
            # ONNX stacks z, r, h, and its z keeps where the notes' gate writes: z = 1 - Gamma_u = sigmoid(-x).
            (W_r, W_u, W_c), (b_r, b_u, b_c) = W.chunk(3), b.chunk(3)
            W, b = torch.cat([-W_u, W_r, W_c]), torch.cat([-b_u, b_r, b_c])
            if cell.hidden_bias is not None:
                after = torch.cat([after[: 2 * n], cell.hidden_bias])
        for part, rows in zip(found, (W[:, n:], W[:, :n], torch.cat([b, after])), strict=True):
            part.append(rows)
    return found


def translations() -> dict[Any, Callable[..., Any]]:
    """Give how operators become ONNX that torch does not translate, or translates wrongly."""
    from onnxscript import opset18

    op: Any = opset18

    def recurrent(
        inputs: Any, h: Any, c: Any, lengths: Any, weight: Any, recurrence: Any, bias: Any, kind: str, reset_after: int
    ) -> Any:
        directions, _, size = recurrence.shape
        options = {"hidden_size": size, "direction": "bidirectional" if directions == 2 else "forward"}
        given = op.Transpose(inputs, perm=[1, 0, 2]), weight, recurrence, bias, lengths, h
        if kind == "LSTM":
            states, h, c = op.LSTM(*given, c, **options)
        elif kind == "GRU":
            states, h = op.GRU(*given, **options, linear_before_reset=reset_after)
        else:
            states, h = op.RNN(*given, **options, activations=[kind] * directions)
        outputs = op.Reshape(op.Transpose(states, perm=[2, 0, 1, 3]), op.Constant(value_ints=[0, 0, directions * size]))
        return outputs, h, h if kind != "LSTM" else c

    def pooled(
        inputs: Any,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0, 0),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        sizes = [list(each) * (3 - len(each)) for each in (kernel_size, stride or kernel_size, padding)]
        options = {"ceil_mode": int(ceil_mode), "count_include_pad": int(count_include_pad or bool(divisor_override))}
        means = op.AveragePool(inputs, kernel_shape=sizes[0], strides=sizes[1], pads=sizes[2] * 2, **options)
        if divisor_override is None:  # torch's translation passes over it
            return means
        factor = op.Constant(value_float=sizes[0][0] * sizes[0][1] / divisor_override)
        return op.Mul(means, factor)

    return {torch.ops.lamina.onnx_recurrent.default: recurrent, torch.ops.aten.avg_pool2d.default: pooled}
