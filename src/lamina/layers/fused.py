"""One recurrent layer by a fused kernel, where one computes the same formula as the readable loop.

The notes' GRU runs in `kernels.gru_scan`. The plain cell with tanh or relu, the LSTM and the GRU with
`reset="after"` are torch's own formulas and run in its kernels (cuDNN on CUDA, oneDNN or C++ loops on the CPU): one
call for both directions of a layer. Nothing here reads a value of a tensor, so a step can be captured.
"""

import functools
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import _VF, nn

from lamina._types import Bool, Float, Tensor
from lamina.functional.recurrent import State, hidden
from lamina.kernels.gru_scan import follows_operations, gru_scan
from lamina.layers.cells import Cell, GRUCell, LSTMCell, RNNCell

CLOSED = 1e4
"""Far beyond where a sigmoid is exactly 0 or 1 in any precision, and a number in all of them."""


def fused_layer(
    cells: Sequence[nn.Module],
    inputs: Float[Tensor, "batch time feature"],
    starts: Sequence[State],
    mask: Bool[Tensor, "batch time"] | None = None,
) -> tuple[Float[Tensor, "batch time outputs"], list[State]] | None:
    """Run one layer along a sequence, forward by its first cell and backward by its second, if it has two.

    Args:
        cells: one cell, or two of a kind.
        inputs: the sequences, padded to a common number of steps.
        starts: the state of each cell before its first step.
        mask: which steps belong to a sequence, a first part of each row; all without it.

    Returns:
        The states at all times, both directions joined, and the last state of each cell, as `unroll` gives them; None
        where no kernel fits: another activation, a hook on a cell, `vmap`, `torch.compile`, forward-mode derivatives,
        a precision that the CPU lacks.

    >>> cell, u = LSTMCell(3, 4), torch.linspace(-1, 1, 30).reshape(2, 5, 3)
    >>> outputs, [(h, c)] = fused_layer([cell], u, [cell.initial_state(u[:, 0])])
    >>> outputs.shape, torch.equal(outputs[:, -1], h)
    (torch.Size([2, 5, 4]), True)
    """
    if follows_operations() or inputs.numel() == 0 or not all(_fits(cell) for cell in cells):
        return None
    if isinstance(cells[0], GRUCell) and cells[0].reset == "before":
        return _scans(cast(Sequence[GRUCell], cells), inputs, starts, mask)
    if isinstance(cells[0], LSTMCell) and inputs.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        if not _has_lstm(torch.get_autocast_dtype("cpu")):
            return None
    return _torch_layer(cast(Sequence[Cell], cells), inputs, starts, mask)


def _fits(cell: nn.Module) -> bool:
    """Say whether a kernel computes what a call of this cell would."""
    if cell._forward_hooks or cell._forward_pre_hooks or cell._backward_hooks or cell._backward_pre_hooks:
        return False
    return isinstance(cell, (GRUCell, LSTMCell)) or (
        isinstance(cell, RNNCell) and cell.activation.name in ("tanh", "relu")
    )


@functools.cache
def _has_lstm(dtype: torch.dtype) -> bool:
    """Say whether this CPU runs an LSTM under autocast: torch asks oneDNN, which has none without AVX-512."""
    cell = nn.LSTM(1, 1, device="meta").to_empty(device="cpu")
    try:
        with torch.no_grad(), torch.autocast("cpu", dtype):
            cell(torch.zeros(1, 1, 1))
    except RuntimeError:
        return False
    return True


def _scans(
    cells: Sequence[GRUCell], inputs: Tensor, starts: Sequence[State], mask: Tensor | None
) -> tuple[Tensor, list[State]]:
    """Run the notes' GRU in each direction, with time first from layer to layer."""
    steps = None if mask is None else mask.T
    found = [
        gru_scan(inputs.transpose(0, 1), hidden(start), cell.weight, cell.bias, steps, reverse=place == 1)
        for place, (cell, start) in enumerate(zip(cells, starts, strict=True))
    ]
    outputs = found[0][0] if len(found) == 1 else torch.cat([states for states, _ in found], -1)
    return outputs.transpose(0, 1), [end for _, end in found]


def _torch_layer(
    cells: Sequence[Cell], inputs: Tensor, starts: Sequence[State], mask: Tensor | None
) -> tuple[Tensor, list[State]]:
    """Run torch's kernel: once for both directions, or with a mask once a direction."""
    if torch.is_autocast_enabled(inputs.device.type):
        inputs = inputs.to(cells[0].weight.dtype)
    if mask is None:
        outputs, ends = _kernel(cells, inputs.transpose(0, 1), starts)
        return outputs.transpose(0, 1), ends
    inputs = torch.where(mask[..., None], inputs, 0.0)
    found = [
        _masked(cell, inputs, start, mask, reverse=place == 1)
        for place, (cell, start) in enumerate(zip(cells, starts, strict=True))
    ]
    return torch.cat([outputs for outputs, _ in found], -1), [end for _, end in found]


def _masked(cell: Cell, inputs: Tensor, start: State, mask: Tensor, reverse: bool) -> tuple[Tensor, State]:
    """Run one direction over the padded batch, each sequence turned around within its length for `reverse`.

    Steps beyond the end come last then, so they change nothing but the last state: h is read at the end of each
    sequence, and the LSTM's c is carried on by one more input feature that opens the forget gate and closes the input
    gate there.
    """
    lengths, time = mask.sum(1), torch.arange(mask.shape[1], device=mask.device)
    turned = torch.where(mask, lengths[:, None] - 1 - time, time)[..., None]
    if reverse:
        inputs = inputs.take_along_dim(turned, 1)
    over = (~mask).to(inputs.dtype)[..., None] if isinstance(cell, LSTMCell) else None
    outputs, [end] = _kernel([cell], inputs.transpose(0, 1), [start], None if over is None else over.transpose(0, 1))
    outputs = outputs.transpose(0, 1)
    last = outputs.take_along_dim((lengths - 1).clamp(min=0)[:, None, None], 1)[:, 0]
    h = torch.where((lengths > 0)[:, None], last, hidden(start))
    outputs = torch.where(mask[..., None], outputs.take_along_dim(turned, 1) if reverse else outputs, 0.0)
    return outputs, h if isinstance(end, Tensor) else (h, end[1])


def _kernel(
    cells: Sequence[Cell], inputs: Tensor, starts: Sequence[State], over: Tensor | None = None
) -> tuple[Tensor, list[State]]:
    """Call torch's kernel for a layer of one or two directions, time first; `over` marks steps beyond the end."""
    weights = _torch_weights(cells, over is not None)
    if over is not None:
        inputs = torch.cat([inputs, over], -1)
    # Flags: biases, one layer, no dropout, keep what a derivative needs, two directions, time first.
    flags = (True, 1, 0.0, torch.is_grad_enabled(), len(cells) == 2, False)
    dtype, h = weights[0].dtype, torch.stack([hidden(start) for start in starts])
    if isinstance(cells[0], LSTMCell):
        c = torch.stack([start[1] for start in starts])
        outputs, h_end, c_end = _VF.lstm(inputs, (h.to(dtype), c.to(dtype)), weights, *flags)
        return outputs.to(dtype), list(zip(h_end.to(dtype).unbind(), c_end.to(dtype).unbind(), strict=True))
    call: Any = _VF.gru if isinstance(cells[0], GRUCell) else getattr(_VF, f"rnn_{cells[0].activation.name}")
    outputs, h_end = call(inputs, h.to(dtype), weights, *flags)
    return outputs.to(dtype), list(h_end.to(dtype).unbind())


def _torch_weights(cells: Sequence[Cell], closing: bool) -> list[Tensor]:
    """Return W_ih, W_hh, b_ih, b_hh of each cell in torch's order of gates, as views of one vector.

    cuDNN wants all matrices, then all biases in one piece of memory, and otherwise copies them with a warning. With
    `closing` an LSTM gets a further input feature for `_masked`.
    """
    matrices: list[Tensor] = []
    biases: list[Tensor] = []
    for cell in cells:
        n, (W, b_ih, b_hh) = cell.hidden_size, torch_rows(cell)
        W_ih, W_hh = W[:, n:], W[:, :n]
        if closing:
            gate = torch.full_like(b_ih[:n], CLOSED)
            W_ih = torch.cat([W_ih, torch.cat([-gate, gate, 0 * gate, 0 * gate])[:, None]], 1)
        matrices += [W_ih, W_hh]
        biases += [b_ih, b_hh]
    parts = matrices + biases
    flat = torch.cat([part.reshape(-1) for part in parts]).split([part.numel() for part in parts])
    views = [piece.view(part.shape) for piece, part in zip(flat, parts, strict=True)]
    half = len(matrices)
    return [views[k + j] for k in range(0, half, 2) for j in (0, 1, half, half + 1)]


def torch_rows(cell: Cell) -> tuple[Tensor, Tensor, Tensor]:
    """Reorder our rows into torch's, the inverse of `layers.torch_weights`; our one bias becomes (bias, 0)."""
    W, b = cell.weight, cell.bias
    if isinstance(cell, LSTMCell):
        order = (1, 0, 3, 2)  # f, i, o, c to i, f, c, o
        Ws, bs = W.chunk(4), b.chunk(4)
        return torch.cat([Ws[k] for k in order]), torch.cat([bs[k] for k in order]), torch.zeros_like(b)
    if isinstance(cell, GRUCell):
        # 1 - sigmoid(x) = sigmoid(-x): torch's gate keeps where the notes' gate writes.
        (W_r, W_u, W_c), (b_r, b_u, b_c) = W.chunk(3), b.chunk(3)
        b_h = torch.zeros_like(b_c) if cell.hidden_bias is None else cell.hidden_bias
        zero = torch.zeros_like(b_c)
        return torch.cat([W_r, -W_u, W_c]), torch.cat([b_r, -b_u, b_c]), torch.cat([zero, zero, b_h])
    return W, b, torch.zeros_like(b)
