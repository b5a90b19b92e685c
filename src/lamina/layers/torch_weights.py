"""Weights of `torch.nn.RNN`, `GRU` and `LSTM` brought into our cells, and back.

torch keeps two matrices and two biases for each cell and stacks the gates in its own order. Here each cell gets one
matrix on [h; u], the notes' order of gates, and the sum of the biases; on the way back the second bias is zero.
"""

from typing import Any, cast

import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina._types import Seed, Tensor
from lamina.layers._fused import torch_rows
from lamina.layers.cells import Cell, CellOptions, GRUCell, RNNCell
from lamina.layers.dropout import Dropout
from lamina.layers.recurrent import Recurrent

_CELLS = {nn.RNN: "rnn", nn.GRU: "gru", nn.LSTM: "lstm"}


def from_torch(module: nn.RNNBase, *, seed: Seed = 0) -> Recurrent:
    """Make a `Recurrent` that computes what a torch module computes, in its precision and on its device.

    An `nn.GRU` gives the cell with `reset="after"`. Ours always takes [batch, time, feature], whatever `batch_first`
    says, and its dropout draws other masks with the same rate.

    Notes: N5.05, N5.22, N5.37 (§5, §5.1, §5.2.2).
    Corrects: E61, E69, the mappings between the notes' and torch's parameters.

    Args:
        module: an `nn.RNN`, `nn.GRU` or `nn.LSTM` with any number of layers and directions.
        seed: of the dropout masks.

    >>> theirs = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)
    >>> inputs = torch.linspace(-1, 1, 30).reshape(2, 5, 3)
    >>> torch.allclose(from_torch(theirs)(inputs)[0], theirs(inputs)[0], atol=1e-6)
    True
    """
    kind = _kind(module)
    options: CellOptions = {}
    if isinstance(module, nn.GRU):
        options["reset"] = "after"
    if isinstance(module, nn.RNN):
        options["activation"] = module.nonlinearity
    ours = Recurrent(
        kind,
        module.input_size,
        module.hidden_size,
        layers=module.num_layers,
        bidirectional=module.bidirectional,
        dropout=module.dropout if module.num_layers > 1 else 0.0,
        seed=seed,
        **options,
    )
    return load_torch_weights_(ours.to(cast(Tensor, module.weight_ih_l0)), module).train(module.training)


@torch.no_grad()
def to_torch(recurrent: Recurrent) -> nn.RNNBase:
    """Make a torch module that computes what a `Recurrent` computes, in its precision and on its device.

    It takes [batch, time, feature] (`batch_first=True`), and its dropout draws other masks with the same rate. torch
    has the plain cell with "tanh" or "relu", the GRU with `reset="after"`, and the LSTM; any other formula is refused.

    Notes: N5.05, N5.22, N5.37 (§5, §5.1, §5.2.2).
    Corrects: E61, E69, the mappings between the notes' and torch's parameters.

    Args:
        recurrent: a network with any number of layers and directions.

    Returns:
        An `nn.RNN`, `nn.GRU` or `nn.LSTM` with copies of the weights; `from_torch` brings it back.

    >>> ours = Recurrent("gru", 3, 4, layers=2, bidirectional=True, reset="after")
    >>> inputs = torch.linspace(-1, 1, 30).reshape(2, 5, 3)
    >>> torch.allclose(to_torch(ours)(inputs)[0], ours(inputs)[0], atol=1e-6)
    True
    """
    first = cast(Cell, recurrent.cells[0])
    if isinstance(first, GRUCell) and first.reset != "after":
        raise ArgumentError(
            f"`recurrent` must have reset='after', got {first.reset!r}: torch's GRU resets the state after the "
            "recurrent product, so no weights make it compute the notes' GRU."
        )
    kind = next(kind for kind, name in _CELLS.items() if name == recurrent.cell)
    options: dict[str, Any] = {}
    if isinstance(first, RNNCell):
        options["nonlinearity"] = first.activation.name
        if first.activation.name not in ("tanh", "relu"):
            raise ArgumentError(
                f"`recurrent` must have activation='tanh' or 'relu', got {first.activation.name!r}: torch's RNN has no "
                "other."
            )
    theirs = kind(
        recurrent.input_size,
        recurrent.hidden_size,
        num_layers=recurrent.layers,
        batch_first=True,
        dropout=cast(Dropout, recurrent.dropouts[0]).rate.item() if recurrent.dropouts else 0.0,
        bidirectional=recurrent.directions == 2,
        device="meta",  # no random start
        dtype=first.weight.dtype,
        **options,
    ).to_empty(device=first.weight.device)
    for place, cell in enumerate(recurrent.cells):
        suffix = _suffix(recurrent, place)
        W, b_ih, b_hh = torch_rows(cast(Cell, cell))
        W_hh, W_ih = W.tensor_split([recurrent.hidden_size], 1)
        values = {"weight_ih": W_ih, "weight_hh": W_hh, "bias_ih": b_ih, "bias_hh": b_hh}
        for name, value in values.items():
            getattr(theirs, name + suffix).copy_(value)
    return theirs.train(recurrent.training)


@torch.no_grad()
def load_torch_weights_(recurrent: Recurrent, module: nn.RNNBase) -> Recurrent:
    """Overwrite the weights of a `Recurrent` by those of a torch module of the same sizes.

    Notes: N5.05, N5.22, N5.37 (§5, §5.1, §5.2.2).

    Args:
        recurrent: what to fill; a "gru" must have `reset="after"`.
        module: where the weights come from.

    >>> ours, theirs = Recurrent("rnn", 3, 4), nn.RNN(3, 4)
    >>> torch.equal(load_torch_weights_(ours, theirs).cells[0].weight[:, 4:], theirs.weight_ih_l0)
    True
    """
    _check_same(recurrent, module)
    for place, cell in enumerate(recurrent.cells):
        suffix = _suffix(recurrent, place)
        W_ih, W_hh = getattr(module, f"weight_ih{suffix}"), getattr(module, f"weight_hh{suffix}")
        zero = torch.zeros_like(W_ih[:, 0])
        b_ih, b_hh = (getattr(module, f"bias_{part}{suffix}") if module.bias else zero for part in ("ih", "hh"))
        for name, value in _ours(recurrent.cell, torch.cat([W_hh, W_ih], 1), b_ih, b_hh).items():
            getattr(cast(Cell, cell), name).copy_(value)
    return recurrent


def _suffix(recurrent: Recurrent, place: int) -> str:
    """Return how torch's names end for a cell."""
    layer, backward = divmod(place, recurrent.directions)
    return f"_l{layer}" + ("_reverse" if backward else "")


def _ours(kind: str, weight: Tensor, b_ih: Tensor, b_hh: Tensor) -> dict[str, Tensor]:
    """Reorder torch's rows into ours: GRU r, z, n to r, u = 1 - z, c; LSTM i, f, g, o to f, i, o, c."""
    if kind == "rnn":
        return {"weight": weight, "bias": b_ih + b_hh}
    if kind == "lstm":
        order = (1, 0, 3, 2)
        W, b = weight.chunk(4), (b_ih + b_hh).chunk(4)
        return {"weight": torch.cat([W[k] for k in order]), "bias": torch.cat([b[k] for k in order])}
    W_r, W_z, W_n = weight.chunk(3)
    b_r, b_z, _ = (b_ih + b_hh).chunk(3)
    # sigmoid(-x) = 1 - sigmoid(x): torch's gate keeps where the notes' gate writes.
    return {
        "weight": torch.cat([W_r, -W_z, W_n]),
        "bias": torch.cat([b_r, -b_z, b_ih.chunk(3)[2]]),
        "hidden_bias": b_hh.chunk(3)[2],
    }


def _kind(module: nn.Module) -> str:
    if type(module) not in _CELLS:
        raise ArgumentError(f"`module` must be a torch.nn.RNN, GRU or LSTM, got {type(module).__name__}.")
    if getattr(module, "proj_size", 0):
        raise ArgumentError(f"`module` must have proj_size=0, got {module.proj_size}: our LSTM has no projection.")
    return _CELLS[type(module)]


def _check_same(recurrent: Recurrent, module: nn.RNNBase) -> None:
    """Raise unless both have the same kind of cell, sizes, layers, directions and formula."""
    cell = cast(Cell, recurrent.cells[0])
    ours: dict[str, object] = {
        "cell": recurrent.cell,
        "input_size": recurrent.input_size,
        "hidden_size": recurrent.hidden_size,
        "layers": recurrent.layers,
        "directions": recurrent.directions,
    }
    theirs: dict[str, object] = {
        "cell": _kind(module),
        "input_size": module.input_size,
        "hidden_size": module.hidden_size,
        "layers": module.num_layers,
        "directions": 2 if module.bidirectional else 1,
    }
    if isinstance(cell, GRUCell):
        ours["reset"], theirs["reset"] = cell.reset, "after"
    if isinstance(cell, RNNCell) and isinstance(module, nn.RNN):
        ours["activation"], theirs["activation"] = cell.activation.name, module.nonlinearity
    for name, value in ours.items():
        if value != theirs[name]:
            raise ArgumentError(
                f"`module` must have {name} = {value!r} as `recurrent` has, got {theirs[name]!r}: `from_torch(module)` "
                "makes a network that fits."
            )
