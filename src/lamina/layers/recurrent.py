"""Cells unrolled along a sequence: one or several layers, one or two directions (§5.1 of the notes)."""

from collections.abc import Sequence
from typing import Unpack, cast

import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError, at_least, between
from lamina._types import Float, Int, Seed, Tensor
from lamina.functional.random import as_generator
from lamina.functional.recurrent import State, hidden, unroll, valid_steps
from lamina.layers._fused import recurrent_layer, served_by
from lamina.layers.cells import CELLS, Cell, CellOptions, _check_cell_options
from lamina.layers.dropout import Dropout


class Recurrent(nn.Module):
    r"""Run a recurrent cell along a sequence, layer upon layer, forward or in both directions.

    Layer l reads the states of layer l - 1; with two directions the states h (forward) and g (backward) of a layer are
    joined as [h; g]. The same weights serve all times, so sequences of any length.

    Notes: N5.02, N5.14, N5.18, N5.19, N5.21, N5.22 (§5, §5.1).
    Corrects: E66, the notes leave open how h and g are combined.
    Differs: torch.nn.RNN, GRU and LSTM put time first by default, keep two biases (116 against 104 numbers for three
        layers with n_u = 3, n_h = 4) and have no batching rule for `vmap`; `layers.from_torch` and
        `layers.to_torch` change over.

    Args:
        cell: "rnn", "gru" or "lstm".
        input_size: the number of features of an input.
        hidden_size: the number of components of each state.
        layers: how many cells are stacked.
        bidirectional: whether each layer also runs backward in time.
        dropout: the probability of dropping a state on its way to the next layer.
        seed: an integer or a generator; weights come first, so they do not depend on `dropout`.
        **options: what the cell has: `activation` for "rnn", `reset` for "gru", `memory_bias` for "gru" and "lstm",
            `initialization` and `scale` for all.

    >>> deep = Recurrent("rnn", 3, 4, layers=3)
    >>> outputs, state = deep(torch.zeros(2, 7, 3), lengths=[7, 5])
    >>> outputs.shape, state.shape, sum(p.numel() for p in deep.parameters())
    (torch.Size([2, 7, 4]), torch.Size([3, 2, 4]), 104)
    """

    stackable, leading = True, ("batch",)
    fast = True
    """Whether a kernel may take the place of the loop over time, where it gives the same; see `layers._fused`."""

    def __init__(
        self,
        cell: str,
        input_size: int,
        hidden_size: int,
        *,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        seed: Seed = 0,
        **options: Unpack[CellOptions],
    ) -> None:
        super().__init__()
        check_stack(cell, layers, dropout, tuple(options))
        g = as_generator(seed)
        self.cell, self.input_size, self.hidden_size = cell, input_size, hidden_size
        self.layers, self.directions = layers, 2 if bidirectional else 1
        sizes = [input_size, *[hidden_size * self.directions] * (layers - 1)]
        self.cells = nn.ModuleList(
            CELLS[cell](size, hidden_size, seed=g, **options) for size in sizes for _ in range(self.directions)
        )
        masks = int(torch.randint(2**31, (), generator=g, device="cpu"))
        self.dropouts = nn.ModuleList(
            Dropout(dropout, seed=masks, place=place) for place in range(layers - 1 if dropout > 0 else 0)
        )

    def forward(
        self,
        inputs: Float[Tensor, "..."],
        state: State | None = None,
        lengths: Sequence[int] | Int[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "*batch time outputs"], State]:
        """Return the top layer's states at all times and the last state of every cell.

        The values of `lengths` are checked when it is a list; a tensor is trusted, since reading it would stop a
        compiled, vectorized or captured step: a number above `time` then counts as `time`, one below 1 as no step.

        Args:
            inputs: sequences of shape [batch, time, feature].
            state: where to start, of the shape of the returned state; zeros when not given.
            lengths: how many steps each sequence has. Past its end a state stays as it is and the output is zero;
                the backward direction starts there.

        Returns:
            Outputs of shape [batch, time, directions * hidden], and the state h of shape [layers * directions, batch,
            hidden], ordered as in torch (first layer forward, first layer backward, ...); the pair (h, c) for "lstm".
        """
        _check_inputs(inputs, self.input_size, self.leading)
        mask = None if lengths is None else valid_steps(_as_lengths(lengths, inputs), inputs.shape[-2])
        starts = self._starts(inputs, state)
        ends: list[State] = []
        cells = list(self.cells)
        for layer in range(self.layers):
            places = slice(layer * self.directions, (layer + 1) * self.directions)
            inputs, last = self.run_layer(cells[places], inputs, starts[places], mask)
            ends += last
            if self.dropouts and layer < self.layers - 1:
                inputs = self.dropouts[layer](inputs)
        return inputs, _stack(ends)

    @served_by(recurrent_layer)
    def run_layer(
        self, cells: list[nn.Module], inputs: Tensor, starts: list[State], mask: Tensor | None
    ) -> tuple[Tensor, list[State]]:
        """Run one layer in its directions, cell by cell, step by step."""
        found = [
            unroll(cell, inputs, start, mask, reverse=place == 1)
            for place, (cell, start) in enumerate(zip(cells, starts, strict=True))
        ]
        return torch.cat([outputs for outputs, _ in found], -1), [end for _, end in found]

    def _starts(self, inputs: Tensor, state: State | None) -> list[State]:
        """Split a state into those of the cells, after a check of its shape; zeros without one."""
        if state is None:
            return [cast(Cell, cell).initial_state(inputs[..., 0, :]) for cell in self.cells]
        parts = [state] if isinstance(state, Tensor) else list(state)
        shape = (len(self.cells), inputs.shape[0], self.hidden_size)
        number = 2 if self.cell == "lstm" else 1
        fits = (p.ndim == inputs.ndim and (*p.shape[:2], p.shape[-1]) == shape for p in parts)
        if len(parts) != number or not all(fits):
            expected = f"two tensors (h, c) of shape {shape}" if number == 2 else f"one tensor h of shape {shape}"
            got = " and ".join(str(tuple(part.shape)) for part in parts)
            raise ShapeError(
                f"`state` must be {expected}, that is [layers * directions, batch, hidden], got {got}: give the state "
                "that an earlier call returned, or None for zeros."
            )
        if number == 1:
            return list(parts[0].unbind(0))
        return list(zip(parts[0].unbind(0), parts[1].unbind(0), strict=True))

    def extra_repr(self) -> str:
        """Show the sizes."""
        return (
            f"{self.cell!r}, {self.input_size}, {self.hidden_size}, layers={self.layers}, directions={self.directions}"
        )


class _RecurrentOptions(CellOptions, total=False):
    """The options of `Recurrent` by name, for the three builders below."""

    layers: int
    bidirectional: bool
    dropout: float
    seed: Seed


def rnn(input_size: int, hidden_size: int, **options: Unpack[_RecurrentOptions]) -> Recurrent:
    """Make a plain recurrent network, `Recurrent("rnn", ...)`.

    Notes: N5.05 (§5).

    >>> rnn(3, 4, bidirectional=True)(torch.zeros(1, 6, 3))[0].shape
    torch.Size([1, 6, 8])
    """
    return Recurrent("rnn", input_size, hidden_size, **options)


def gru(input_size: int, hidden_size: int, **options: Unpack[_RecurrentOptions]) -> Recurrent:
    """Make a network of gated recurrent units, `Recurrent("gru", ...)`.

    Notes: N5.32 (§5.2.1).

    >>> gru(3, 2, memory_bias=3.0).cells[0].bias.tolist()
    [0.0, 0.0, -3.0, -3.0, 0.0, 0.0]
    """
    return Recurrent("gru", input_size, hidden_size, **options)


def lstm(input_size: int, hidden_size: int, **options: Unpack[_RecurrentOptions]) -> Recurrent:
    """Make a long short-term memory network, `Recurrent("lstm", ...)`.

    Notes: N5.37 (§5.2.2).

    >>> outputs, (h, c) = lstm(3, 4)(torch.zeros(1, 6, 3))
    >>> outputs.shape, h.shape, c.shape
    (torch.Size([1, 6, 4]), torch.Size([1, 1, 4]), torch.Size([1, 1, 4]))
    """
    return Recurrent("lstm", input_size, hidden_size, **options)


def check_stack(cell: str, layers: int, dropout: float, options: tuple[str, ...] = ()) -> None:
    """Raise unless these arguments of `Recurrent` fit together; configurations ask it before anything is built.

    >>> check_stack("gru", layers=1, dropout=0.5)
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `dropout` must be 0 with layers=1, got 0.5: it acts between layers, so add one.
    """
    _check_cell_options(cell, options)
    at_least("layers", layers, 1)
    between("dropout", dropout, 0, 1, open_high=True)
    if dropout > 0 and layers == 1:
        raise ArgumentError(f"`dropout` must be 0 with layers=1, got {dropout}: it acts between layers, so add one.")


def _stack(states: list[State]) -> State:
    """Join the states of the cells along a new first axis."""
    h = torch.stack([hidden(state) for state in states])
    if isinstance(states[0], Tensor):
        return h
    return h, torch.stack([state[1] for state in states])


def _check_inputs(inputs: Tensor, input_size: int, leading: tuple[str, ...]) -> None:
    if inputs.ndim != len(leading) + 2 or inputs.shape[-2] < 1 or inputs.shape[-1] != input_size:
        raise ShapeError(
            f"`inputs` must have the shape [{', '.join(leading)}, time, {input_size}] with time at least 1, got "
            f"{list(inputs.shape)}: a single sequence needs a batch axis of size 1."
        )


def _as_lengths(lengths: Sequence[int] | Tensor, inputs: Tensor) -> Tensor:
    """Check lengths against the batch, and against the number of steps where that needs no look into a tensor.

    The members of a population share lengths [batch]; lengths [batch, members] are their own.
    """
    batch, time, axes = inputs.shape[0], inputs.shape[-2], inputs.ndim - 2
    shape = tuple(lengths.shape) if isinstance(lengths, Tensor) else (len(lengths),)
    if shape[:1] != (batch,) or len(shape) > axes:
        raise ShapeError(f"`lengths` must hold one number for each of the {batch} sequences, got shape {shape}.")
    if isinstance(lengths, Tensor):
        return lengths.to(inputs.device).reshape(*shape, *(1,) * (axes - len(shape)))
    for length in lengths:
        if not 1 <= length <= time:
            raise ArgumentError(
                f"`lengths` must be between 1 and the {time} steps of `inputs`, got {length}: pad the inputs or drop "
                "empty sequences."
            )
    return torch.tensor(list(lengths), device=inputs.device).reshape(batch, *(1,) * (axes - 1))
