"""The three recurrent cells of the notes (§5) as modules: one weight on [h; u], one bias.

torch's recurrent modules have no batching rule for `vmap`, keep two biases and compute another GRU; these are plain
tensor operations. A cell advances one time step; `layers.recurrent.Recurrent` runs it along a sequence.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any, TypedDict

import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError, at_least, choice
from lamina._types import Float, Seed, Tensor
from lamina.functional.activations import get_activation
from lamina.functional.initialization import draw
from lamina.functional.initialization import memory_bias as open_memory
from lamina.functional.recurrent import gru_step, lstm_step, rnn_step


class CellOptions(TypedDict, total=False):
    """What a cell can be given beside its sizes and seed; which of these it has depends on the cell."""

    activation: str
    reset: str
    memory_bias: float | None
    initialization: str
    scale: float


class _Cell(nn.Module):
    """What the cells share: one weight on [h; u] with a block of rows for each gate, and the state zero."""

    def __init__(
        self, blocks: int, input_size: int, hidden_size: int, initialization: str, scale: float, seed: Seed
    ) -> None:
        super().__init__()
        at_least("input_size", input_size, 1)
        at_least("hidden_size", hidden_size, 1)
        self.input_size, self.hidden_size = input_size, hidden_size
        shape = (blocks * hidden_size, hidden_size + input_size)
        self.weight = nn.Parameter(draw(initialization, shape, seed, scale))

    def initial_state(self, inputs: Float[Tensor, "*batch feature"]) -> Any:
        """Return the state before the first step, zeros, for inputs of this batch shape."""
        return inputs.new_zeros((*inputs.shape[:-1], self.hidden_size))

    def _start(self, inputs: Tensor, state: Any) -> Any:
        """Return the state that a step starts from; raise unless the shapes fit."""
        if inputs.shape[-1] != self.input_size:
            raise ShapeError(
                f"`inputs` must have {self.input_size} features on the last axis, as the cell was made for, got shape "
                f"{tuple(inputs.shape)}: make the cell with input_size={inputs.shape[-1]} or change the inputs."
            )
        if state is None:
            return self.initial_state(inputs)
        expected = (*inputs.shape[:-1], self.hidden_size)
        for part in (state,) if isinstance(state, Tensor) else state:
            if tuple(part.shape) != expected:
                raise ShapeError(
                    f"`state` must have the shape {expected} for inputs of shape {tuple(inputs.shape)}, got "
                    f"{tuple(part.shape)}: give what an earlier step returned, or None for zeros."
                )
        return state

    def extra_repr(self) -> str:
        """Show the sizes."""
        return f"{self.input_size}, {self.hidden_size}"


class RNNCell(_Cell):
    r"""Advance the plain recurrent cell, $h' = \tanh(W [h; u] + b)$, with its own weight and bias.

    Notes: N5.05, N5.07, N5.15 (§5, eq. (11)).
    Differs: torch.nn.RNNCell has two weights and two biases, drawn uniformly.

    Args:
        input_size: the number n_u of features of an input.
        hidden_size: the number n_h of components of the state.
        activation: the name of a component-wise activation.
        initialization: the rule for the weight, with fan-in n_h + n_u; the bias starts at zero.
        scale: the factor of that rule.
        seed: an integer or a generator.

    >>> cell = RNNCell(64, 128)
    >>> cell(torch.zeros(2, 64)).shape, sum(p.numel() for p in cell.parameters())
    (torch.Size([2, 128]), 24704)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        activation: str = "tanh",
        initialization: str = "xavier",
        scale: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        super().__init__(1, input_size, hidden_size, initialization, scale, seed)
        self.activation = get_activation(activation)
        self.bias = nn.Parameter(torch.zeros(hidden_size))

    def forward(
        self, inputs: Float[Tensor, "*batch feature"], state: Float[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch hidden"]:
        """Return the state after one more step; `state` is zero when it is not given."""
        return rnn_step(inputs, self._start(inputs, state), self.weight, self.bias, self.activation.function)

    def extra_repr(self) -> str:
        """Show the sizes and the activation."""
        return f"{super().extra_repr()}, activation={self.activation.name!r}"


class GRUCell(_Cell):
    r"""Advance the gated recurrent unit of the notes, which resets the state before the product.

    The rows of `weight` and `bias` are the reset gate, the update gate and the candidate. With `reset="after"` a
    further parameter `hidden_bias` makes it the cell of torch and cuDNN.

    Notes: N5.32, N5.35 (§5.2.1).
    Differs: torch.nn.GRUCell resets after the product, negates the update gate and has two biases (E69).

    Args:
        input_size: the number n_u of features of an input.
        hidden_size: the number n_h of components of the state.
        reset: "before" the recurrent product or "after" it.
        memory_bias: start with the state kept: the update gate's bias is minus this number.
        initialization: the rule for the weight, with fan-in n_h + n_u; other biases start at zero.
        scale: the factor of that rule.
        seed: an integer or a generator.

    >>> sum(p.numel() for p in GRUCell(64, 128).parameters())
    74112
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        reset: str = "before",
        memory_bias: float | None = None,
        initialization: str = "xavier",
        scale: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        choice("reset", reset, ("before", "after"))
        super().__init__(3, input_size, hidden_size, initialization, scale, seed)
        self.reset = reset
        self.bias = nn.Parameter(open_memory("gru", hidden_size, memory_bias or 0.0))
        self.hidden_bias = nn.Parameter(torch.zeros(hidden_size)) if reset == "after" else None

    def forward(
        self, inputs: Float[Tensor, "*batch feature"], state: Float[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch hidden"]:
        """Return the state after one more step; `state` is zero when it is not given."""
        return gru_step(inputs, self._start(inputs, state), self.weight, self.bias, self.reset, self.hidden_bias)

    def extra_repr(self) -> str:
        """Show the sizes and the place of the reset."""
        return f"{super().extra_repr()}, reset={self.reset!r}"


class LSTMCell(_Cell):
    r"""Advance the long short-term memory cell, whose state is the pair (h, c).

    The rows of `weight` and `bias` are the forget, input and output gate and the candidate.

    Notes: N5.37, N5.39 (§5.2.2).
    Corrects: E70, the cell state carries c, not the old candidate.
    Differs: torch.nn.LSTMCell stacks i, f, g, o and has two biases.

    The arguments are those of `GRUCell` without `reset`; `memory_bias` opens the memory: it is the forget gate's bias.

    >>> sum(p.numel() for p in LSTMCell(64, 128).parameters())
    98816
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        memory_bias: float | None = None,
        initialization: str = "xavier",
        scale: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        super().__init__(4, input_size, hidden_size, initialization, scale, seed)
        self.bias = nn.Parameter(open_memory("lstm", hidden_size, memory_bias or 0.0))

    def initial_state(
        self, inputs: Float[Tensor, "*batch feature"]
    ) -> tuple[Float[Tensor, "*batch hidden"], Float[Tensor, "*batch hidden"]]:
        """Return the states h and c before the first step, zeros, for inputs of this batch shape."""
        shape = (*inputs.shape[:-1], self.hidden_size)
        return inputs.new_zeros(shape), inputs.new_zeros(shape)

    def forward(
        self,
        inputs: Float[Tensor, "*batch feature"],
        state: tuple[Float[Tensor, "..."], Float[Tensor, "..."]] | None = None,
    ) -> tuple[Float[Tensor, "*batch hidden"], Float[Tensor, "*batch hidden"]]:
        """Return the states h and c after one more step; both are zero when they are not given."""
        return lstm_step(inputs, self._start(inputs, state), self.weight, self.bias)


Cell = RNNCell | GRUCell | LSTMCell
CELLS: dict[str, Callable[..., nn.Module]] = {"rnn": RNNCell, "gru": GRUCell, "lstm": LSTMCell}
"""The cells by the names that `cell` options accept."""

_COMMON = ("input_size", "hidden_size", "seed", "initialization", "scale")


def _own(cell: str) -> list[str]:
    """Name the options that a cell has and not every cell does."""
    return [name for name in signature(CELLS[cell]).parameters if name not in _COMMON]


def _check_cell_options(cell: str, names: tuple[str, ...]) -> None:
    """Raise unless `cell` is a known name and every option belongs to it."""
    choice("cell", cell, CELLS)
    for name in names:
        if name not in (*_own(cell), "initialization", "scale"):
            owners = " and ".join(repr(other) for other in CELLS if name in _own(other))
            way_out = f"only {owners} {'have' if ' and ' in owners else 'has'} it" if owners else "no cell has it"
            raise ArgumentError(f"`{name}` is not an option of the cell {cell!r}: {way_out}.")
