"""One recurrent layer by torch's own kernels: cuDNN on CUDA, oneDNN or C++ loops on the CPU; two directions, one call.

They compute the plain cell with tanh or relu, the LSTM, and the GRU that resets after the recurrent product. Nothing
here reads a value of a tensor, so a step can be captured.
"""

import functools
from collections.abc import Sequence

import torch
from torch import _VF, nn

from lamina._types import Bool, Float, Tensor

CLOSED = 1e4
"""Far beyond where a sigmoid is exactly 0 or 1 in any precision, and a number in all of them."""

Cell = tuple[Tensor, Tensor, Tensor]
"""The weight for [h; u] and two biases, which torch adds, with the gates in torch's order."""
State = Tensor | tuple[Tensor, Tensor]
"""h, or h and c of an LSTM."""


@functools.cache
def has_lstm(dtype: torch.dtype) -> bool:
    """Say whether this CPU runs an LSTM under autocast: torch asks oneDNN, which has none without AVX-512."""
    cell = nn.LSTM(1, 1, device="meta").to_empty(device="cpu")
    try:
        with torch.no_grad(), torch.autocast("cpu", dtype):
            cell(torch.zeros(1, 1, 1))
    except RuntimeError:
        return False
    return True


def run_layer(
    kind: str,
    cells: Sequence[Cell],
    inputs: Float[Tensor, "batch time feature"],
    starts: Sequence[State],
    mask: Bool[Tensor, "batch time"] | None = None,
) -> tuple[Float[Tensor, "batch time outputs"], list[State]]:
    """Run a layer along a sequence, forward by its first cell and backward by its second, if it has two.

    Args:
        kind: "lstm", "gru", "rnn_tanh" or "rnn_relu".
        cells: one cell, or two.
        inputs: the sequences, padded to a common number of steps.
        starts: the state of each cell before its first step.
        mask: which steps belong to a sequence, a first part of each row; all without it.

    Returns:
        The states at all times, both directions joined, and the last state of each cell.

    >>> W, b, h = torch.eye(1, 2), torch.zeros(1), torch.ones(1, 1)
    >>> run_layer("rnn_relu", [(W, b + 1, b)], torch.zeros(1, 3, 1), [h])
    (tensor([[[2.],
             [3.],
             [4.]]]), [tensor([[4.]])])
    """
    if torch.is_autocast_enabled(inputs.device.type):
        inputs = inputs.to(cells[0][0].dtype)
    if mask is None:  # once for both directions
        outputs, ends = _kernel(kind, cells, inputs.transpose(0, 1), starts)
        return outputs.transpose(0, 1), ends
    inputs = torch.where(mask[..., None], inputs, 0.0)
    found = [
        _masked(kind, cell, inputs, start, mask, reverse=place == 1)
        for place, (cell, start) in enumerate(zip(cells, starts, strict=True))
    ]
    return torch.cat([outputs for outputs, _ in found], -1), [end for _, end in found]


def _hidden(state: State) -> Tensor:
    return state if isinstance(state, Tensor) else state[0]


def _masked(kind: str, cell: Cell, inputs: Tensor, start: State, mask: Tensor, reverse: bool) -> tuple[Tensor, State]:
    """Run one direction over the padded batch, each sequence turned around within its length for `reverse`.

    Steps beyond the end come last then, so they change nothing but the last state: h is read at the end of each
    sequence, and the LSTM's c is carried on by one more input feature that opens the forget gate and closes the input
    gate there.
    """
    lengths, time = mask.sum(1), torch.arange(mask.shape[1], device=mask.device)
    turned = torch.where(mask, lengths[:, None] - 1 - time, time)[..., None]
    if reverse:
        inputs = inputs.take_along_dim(turned, 1)
    over = (~mask).to(inputs.dtype)[..., None] if kind == "lstm" else None
    parts = None if over is None else over.transpose(0, 1)
    outputs, [end] = _kernel(kind, [cell], inputs.transpose(0, 1), [start], parts)
    outputs = outputs.transpose(0, 1)
    last = outputs.take_along_dim((lengths - 1).clamp(min=0)[:, None, None], 1)[:, 0]
    h = torch.where((lengths > 0)[:, None], last, _hidden(start))
    outputs = torch.where(mask[..., None], outputs.take_along_dim(turned, 1) if reverse else outputs, 0.0)
    return outputs, h if isinstance(end, Tensor) else (h, end[1])


def _kernel(
    kind: str, cells: Sequence[Cell], inputs: Tensor, starts: Sequence[State], over: Tensor | None = None
) -> tuple[Tensor, list[State]]:
    """Call torch's kernel for a layer of one or two directions, time first; `over` marks steps beyond the end."""
    weights = _weights(cells, _hidden(starts[0]).shape[-1], over is not None)
    if over is not None:
        inputs = torch.cat([inputs, over], -1)
    # Flags: biases, one layer, no dropout, keep what a derivative needs, two directions, time first.
    flags = (True, 1, 0.0, torch.is_grad_enabled(), len(cells) == 2, False)
    dtype, h = weights[0].dtype, torch.stack([_hidden(start) for start in starts])
    if kind == "lstm":
        c = torch.stack([start[1] for start in starts])
        outputs, h_end, c_end = _VF.lstm(inputs, (h.to(dtype), c.to(dtype)), weights, *flags)
        return outputs.to(dtype), list(zip(h_end.to(dtype).unbind(), c_end.to(dtype).unbind(), strict=True))
    outputs, h_end = getattr(_VF, kind)(inputs, h.to(dtype), weights, *flags)
    return outputs.to(dtype), list(h_end.to(dtype).unbind())


def _weights(cells: Sequence[Cell], n: int, closing: bool) -> list[Tensor]:
    """Return W_ih, W_hh, b_ih, b_hh of each cell as views of one vector.

    cuDNN wants all matrices, then all biases in one piece of memory, and otherwise copies them with a warning. With
    `closing` an LSTM of n components gets a further input feature for `_masked`.
    """
    matrices: list[Tensor] = []
    biases: list[Tensor] = []
    for W, b_ih, b_hh in cells:
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
