"""What a recurrent network remembers: how states depend on inputs at other times, and what its gates let pass."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError
from lamina._tables import table
from lamina._types import Float, Num, Tensor
from lamina.functional.recurrent import State, Step, hidden, rnn_step, unroll
from lamina.inspection._example import evaluating, hooked
from lamina.layers.cells import Cell, GRUCell, LSTMCell, RNNCell
from lamina.layers.recurrent import Recurrent

GATES = {"gru": ("reset", "update"), "lstm": ("forget", "input", "output")}
"""The gates of a cell in the order of its rows."""

MEMORY = {"gru": ("update", True), "lstm": ("forget", False)}
"""The gate that decides how much of the old state is kept, and whether an open one forgets."""


DIRECTIONS = 2**24
"""Numbers of all directions that are differentiated at once."""


@dataclass(frozen=True)
class Sensitivity:
    r"""How strongly states depend on inputs, $\|\partial h^{<t>} / \partial u^{<s>}\|_F$, the mean over the sequences.

    Args:
        norms: one row per time t of the state, one column per time s of the input.
        times: the times t of the rows, counted from 1.
    """

    norms: Float[Tensor, "row time"]
    times: tuple[int, ...]

    def of(self, time: int) -> list[float]:
        """Return the sensitivity of the state at a time to the inputs at all times."""
        if time not in self.times:
            raise ArgumentError(
                f"`time` must be one of the times {_listed(self.times)} that were computed, got {time}."
            )
        return self.norms[self.times.index(time)].tolist()

    def relative(self, time: int) -> list[float]:
        """Return the same divided by the largest."""
        row = self.of(time)
        largest = max(row) or 1.0
        return [value / largest for value in row]

    def to(self, source: int) -> list[float]:
        """Return the sensitivity of the states at all times of the rows to the input at one time, counted from 1."""
        if not 1 <= source <= self.norms.shape[1]:
            raise ArgumentError(f"`source` must be in [1, {self.norms.shape[1]}], got {source}.")
        return self.norms[:, source - 1].tolist()

    @property
    def factor(self) -> float:
        """The factor by which the sensitivity to the first input changes in one step, on average."""
        first, last = self.norms[0, 0].item(), self.norms[-1, 0].item()
        steps = self.times[-1] - self.times[0]
        return (last / first) ** (1 / steps) if steps and first > 0 else math.nan

    def __str__(self) -> str:
        columns = ("t", *(f"u<{s + 1}>" for s in range(self.norms.shape[1])))
        rows = [(str(t), *row) for t, row in zip(self.times, self.norms.tolist(), strict=True)]
        return table(columns, rows)


@dataclass(frozen=True)
class CellGates:
    """The gates of one cell along the sequences.

    Args:
        name: such as "layer 1" or "layer 1 backward".
        cell: "gru" or "lstm".
        values: of each gate by name, [batch, time, hidden]; the order of times is that of the inputs.
        states: the states h, likewise.
    """

    name: str
    cell: str
    values: dict[str, Tensor]
    states: Tensor

    def mean(self, gate: str) -> Float[Tensor, "batch time"]:
        """Return how far a gate is open, the mean over the units."""
        return self.values[gate].mean(-1)

    @property
    def kept(self) -> Float[Tensor, "batch time"]:
        """How much of the old state is kept, the mean over the units: 1 - update for a GRU, forget for an LSTM."""
        gate, forgets = MEMORY[self.cell]
        return 1 - self.mean(gate) if forgets else self.mean(gate)


@dataclass(frozen=True)
class Gates:
    """What the gates of a recurrent layer let pass, cell by cell.

    Args:
        cells: in the order of the layer's cells.
        words: what is read at each time, for the table.
    """

    cells: tuple[CellGates, ...]
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = []
        for cell in self.cells:
            time = cell.states.shape[1]
            rows = [
                (self.words[t] if self.words else str(t + 1), *(cell.mean(gate)[0, t].item() for gate in cell.values),
                 cell.kept[0, t].item())
                for t in range(time)
            ]  # fmt: skip
            lines += [f"{cell.name}, first sequence, means over {cell.states.shape[2]} units"]
            lines += [table(("reads" if self.words else "t", *cell.values, "kept"), rows)]
        return "\n".join(lines)


def sensitivity(
    model: nn.Module, inputs: Num[Tensor, "batch time ..."], times: Sequence[int] | None = None, **options: Any
) -> Sensitivity:
    r"""Measure how the states of a recurrent network depend on its inputs at all times.

    $$\Bigl\lVert \frac{\partial h^{<t>}}{\partial u^{<s>}} \Bigr\rVert_F, \qquad s, t = 1, \dots, T$$
    with h the outputs of the recurrent layer (both directions joined, top layer) and u the vectors that it reads; words
    are looked up first. Derivatives are exact; the work grows with T^2 times the size of a state.

    Notes: N5.19, N5.26, N5.31 (§5.1, §5.2).

    Args:
        model: a cell, a `Recurrent` layer, or a network with one; the first layer of that kind counts.
        inputs: sequences as the network takes them.
        times: the times t, counted from 1; all when None.
        **options: further arguments of the network, such as `lengths`.

    >>> cell = RNNCell(1, 1, activation="identity", initialization="constant", scale=0.5)
    >>> print(sensitivity(cell, torch.zeros(1, 3, 1)))
    t   u<1>  u<2>  u<3>
    1    0.5     0     0
    2   0.25   0.5     0
    3  0.125  0.25   0.5
    """
    layer = _recurrent(model)
    if not isinstance(layer, Recurrent):
        return step_sensitivity(layer, inputs, layer.initial_state(inputs[:, 0]), times)
    with _followed(layer) as seen, torch.enable_grad():
        _run(model, inputs, options)
    return _state_sensitivity(seen["outputs"], seen["inputs"], times)


def step_sensitivity(
    step: Step, inputs: Float[Tensor, "batch time feature"], state: State, times: Sequence[int] | None = None
) -> Sensitivity:
    """Measure the same for one step of a cell, as a function of input and state, applied again and again.

    Args:
        step: (inputs, state) to the next state.
        inputs: sequences.
        state: before the first step, one row per sequence.
        times: the times t, counted from 1; all when None.

    >>> halve = lambda u, h: 0.5 * h + u
    >>> step_sensitivity(halve, torch.zeros(1, 3, 4, dtype=torch.float64), torch.zeros(1, 4, dtype=torch.float64)).to(1)
    [2.0, 1.0, 0.5]
    """
    u = inputs.detach().requires_grad_()
    with torch.enable_grad():
        outputs, _ = unroll(step, u, state)
    return _state_sensitivity(outputs, u, times)


def _state_sensitivity(
    outputs: Float[Tensor, "batch time hidden"],
    inputs: Float[Tensor, "batch time feature"],
    times: Sequence[int] | None = None,
) -> Sensitivity:
    """Differentiate states by the inputs that they were computed from, and take the norms."""
    steps, size = outputs.shape[1:]
    chosen = tuple(times) if times is not None else tuple(range(1, steps + 1))
    if not chosen or min(chosen) < 1 or max(chosen) > steps:
        raise ArgumentError(f"`times` must be in [1, {steps}], the steps of the sequence, got {_listed(chosen)}.")
    rows = []
    together = max(1, DIRECTIONS // (size * outputs.numel()))
    for part in torch.tensor(chosen).split(together):
        (slopes,) = torch.autograd.grad(
            outputs, inputs, _directions(outputs, part - 1), is_grads_batched=True, retain_graph=True
        )
        squares = slopes.double().square().sum(-1).unflatten(0, (len(part), size))  # [t, component, batch, s]
        rows.append(squares.sum(1).sqrt().mean(1))
    return Sensitivity(torch.cat(rows).detach(), chosen)


def _directions(outputs: Tensor, places: Tensor) -> Tensor:
    """Give one direction for each component of the state at each of these places, the same for all sequences."""
    batch, steps, size = outputs.shape
    time, one = torch.eye(steps)[places].to(outputs), torch.eye(size).to(outputs)
    both = torch.einsum("ps,jk->pjsk", time, one).flatten(0, 1)
    return both[:, None].expand(-1, batch, -1, -1)


@torch.no_grad()
def gates(model: nn.Module, inputs: Num[Tensor, "batch time ..."], words: Sequence[str] = (), **options: Any) -> Gates:
    r"""Read the gates of a GRU or an LSTM along sequences: 1 is open, 0 is closed.

    $$\Gamma = \sigma(W [h^{<t-1>}; u^{<t>}] + b)$$

    Notes: N5.30, N5.31, N5.33, N5.38 (§5.2, §5.2.1, §5.2.2).

    Args:
        model: a cell, a `Recurrent` layer, or a network with one; the first layer of that kind counts.
        inputs: sequences as the network takes them.
        words: what the first sequence says at each time, for the table.
        **options: further arguments of the network, such as `lengths`.

    >>> found = gates(GRUCell(2, 3, memory_bias=100.0), torch.ones(1, 4, 2))
    >>> found.cells[0].kept[0].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    layer = _recurrent(model)
    cells = _cells(layer)
    kind = "gru" if isinstance(cells[0], GRUCell) else "lstm"
    if isinstance(cells[0], RNNCell):
        raise ArgumentError("`model` must have a cell with gates, got the plain cell 'rnn': use cell='gru' or 'lstm'.")
    found: list[list[tuple[list[Tensor], Tensor]]] = [[] for _ in cells]

    def hook(place: int) -> Callable[..., None]:
        def look(cell: Any, arguments: tuple[Any, ...], after: State) -> None:
            found[place].append((_gates_now(cell, *arguments), hidden(after)))

        return look

    with hooked(cell.register_forward_hook(hook(place)) for place, cell in enumerate(cells)):
        _run(model, inputs, options)
    if words and len(words) != len(found[0]):
        raise ShapeError(f"`words` must name each of the {len(found[0])} steps, got {len(words)} names.")
    directions = layer.directions if isinstance(layer, Recurrent) else 1
    made = [_joined(place, kind, steps, directions) for place, steps in enumerate(found)]
    return Gates(tuple(made), tuple(words))


def _gates_now(cell: GRUCell | LSTMCell, inputs: Tensor, state: State | None = None) -> list[Tensor]:
    """Give the gates of a cell at one time; each has the form of the plain cell (N5.34)."""
    h = hidden(cell.initial_state(inputs) if state is None else state)
    count, n = 2 if isinstance(cell, GRUCell) else 3, cell.hidden_size
    parts = [slice(k * n, (k + 1) * n) for k in range(count)]
    return [rnn_step(inputs, h, cell.weight[rows], cell.bias[rows], torch.sigmoid) for rows in parts]


def _joined(place: int, kind: str, steps: list[tuple[list[Tensor], Tensor]], directions: int) -> CellGates:
    """Put the times of a cell one after the other; a backward cell has met them in the other order."""
    backward = directions == 2 and place % 2 == 1
    steps = steps[::-1] if backward else steps
    values = {name: torch.stack([now[k] for now, _ in steps], 1) for k, name in enumerate(GATES[kind])}
    name = f"layer {place // directions + 1}" + (" backward" if backward else "")
    return CellGates(name, kind, values, torch.stack([h for _, h in steps], 1))


def _recurrent(model: nn.Module) -> Recurrent | Cell:
    """Find the recurrent layer that counts."""
    for module in model.modules():
        if isinstance(module, (Recurrent, RNNCell, GRUCell, LSTMCell)):
            return module
    raise ArgumentError(
        f"`model` must be or have a recurrent layer of Lamina, got {type(model).__name__}: convert a layer of torch "
        "with `layers.from_torch`."
    )


def _cells(layer: Recurrent | Cell) -> list[Cell]:
    return cast(list[Cell], list(layer.cells)) if isinstance(layer, Recurrent) else [layer]


def _run(model: nn.Module, inputs: Tensor, options: dict[str, Any]) -> Any:
    """Let a network read sequences, as in evaluation; a cell is unrolled."""
    if isinstance(model, (RNNCell, GRUCell, LSTMCell)):
        return unroll(model, inputs, model.initial_state(inputs[:, 0]))
    with evaluating(model):
        return model(inputs, **options)


@contextmanager
def _followed(layer: Recurrent) -> Iterator[dict[str, Tensor]]:
    """Make what a recurrent layer reads the leaf of its graph, and keep that and its outputs.

    A hook on a cell makes the layer run step by step: fused kernels have no derivatives in many directions at once.
    """
    seen: dict[str, Tensor] = {}

    def before(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        seen["inputs"] = arguments[0].detach().requires_grad_()
        return (seen["inputs"], *arguments[1:])

    def after(_: nn.Module, __: Any, outputs: tuple[Tensor, State]) -> None:
        seen["outputs"] = outputs[0]

    handles = [layer.register_forward_pre_hook(before), layer.register_forward_hook(after)]
    handles += [cell.register_forward_hook(lambda *_: None) for cell in layer.cells]
    with hooked(handles):
        yield seen


def _listed(times: Sequence[int]) -> str:
    return ", ".join(map(str, times)) if len(times) <= 8 else f"{min(times)} to {max(times)}"
