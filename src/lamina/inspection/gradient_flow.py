"""Signals forward, gradients backward: what reaches each layer of a network, and what to do when too little does."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from lamina._errors import ArgumentError, above, choice
from lamina._tables import table
from lamina._types import Num, Tensor
from lamina.functional.losses import binary_cross_entropy, mse_half, negative_log_likelihood
from lamina.inspection._probe import BOUNDED, NUMBERS, Probe

VANISHED, EXPLODED = 1e-3, 1e3
"""Ratios of the first and the last state gradient from which on gradients vanish or explode."""

FADED, GROWN = 1e-6, 1e6
"""The same for the mean squares of the last and the first signal."""

MANY = 0.25
"""The share of dead or saturated units that is worth a warning."""

FEW = 16
"""With fewer examples, a unit that is zero for all of them need not be dead."""

DEEP = 10
"""The number of layers from which on skip connections are a remedy."""

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class LayerFlow:
    """What passes through one layer.

    Args:
        name: of the module.
        kind: its activation; "identity" if none is seen, "residual" for a block, or the name of a recurrent cell.
        state_gradient: the norm of the loss's gradient with respect to the layer's states of all examples; states are
            those of the first piece where a batch is computed in pieces (`Recipe.micro_batch`).
        weight_gradient: the norm of that with respect to the layer's weights, before clipping.
        mean_square: of the states.
        std: their standard deviation.
        weight: the norm of the weights.
        update: the norm of the change of the weights in this update.
        dead: the share of units that are zero for every example.
        saturated: the share of values at the end of the activation's range; NaN where it has none.
    """

    name: str
    kind: str
    state_gradient: float
    weight_gradient: float
    mean_square: float
    std: float
    weight: float
    update: float
    dead: float
    saturated: float

    @property
    def update_ratio(self) -> float:
        """The size of the update relative to the weights."""
        return self.update / self.weight if self.weight else math.nan


@dataclass(frozen=True)
class Flow:
    """What passes through a network in one update, first layer first.

    Args:
        layers: one record per layer.
        input_gradient: the norm of the gradient with respect to the inputs; NaN where it was not computed.
        loss: the value; NaN where it was not kept.
        step: after how many updates.
        examples: how many there were; 0 where that is not known.
    """

    layers: tuple[LayerFlow, ...]
    input_gradient: float = math.nan
    loss: float = math.nan
    step: int = 0
    examples: int = 0

    @property
    def state_ratio(self) -> float:
        r"""The first state gradient by the last, $\|\partial L/\partial y^{[0]}\| / \|\partial L/\partial y^{[L]}\|$.

        It starts at the inputs where their gradient is known, else at the first layer.
        """
        first = self.layers[0].state_gradient if math.isnan(self.input_gradient) else self.input_gradient
        last = self.layers[-1].state_gradient
        return first / last if last else math.nan

    @property
    def weight_ratio(self) -> float:
        """The first weight gradient relative to the last."""
        last = self.layers[-1].weight_gradient
        return self.layers[0].weight_gradient / last if last else math.nan

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about what goes wrong, each with the remedies of the notes that apply."""
        checks = (_not_finite, _vanishing, _exploding, _dead, _saturated)
        return tuple(sentence for check in checks for sentence in check(self))

    def __str__(self) -> str:
        columns = ("layer", "activation", "mean square", "std", "state gradient", "weight gradient", "update/weight",
                   "dead", "saturated")  # fmt: skip
        rows: list[tuple[str | float, ...]] = [
            (x.name, x.kind, x.mean_square, x.std, x.state_gradient, x.weight_gradient, x.update_ratio, x.dead,
             x.saturated)
            for x in self.layers
        ]  # fmt: skip
        if not math.isnan(self.input_gradient):
            nothing = math.nan
            rows.insert(0, ("inputs", "", nothing, nothing, self.input_gradient, *[nothing] * 4))
        return "\n".join([table(columns, rows, left=2), *(f"warning: {sentence}" for sentence in self.warnings)])


def gradient_flow(
    model: nn.Module,
    inputs: Num[Tensor, "batch ..."],
    targets: Num[Tensor, "batch ..."],
    loss: str | Loss | None = None,
    learning_rate: float = 0.01,
) -> Flow:
    r"""Measure what passes through each layer of a network for one batch; the network is left as it was.

    For every layer l: the signal $y^{[l]}$ (mean square and standard deviation), $\|\partial L/\partial y^{[l]}\|$,
    $\|\partial L/\partial W\|$, the size of a step of gradient descent relative to the weights, and the shares of dead
    and of saturated units. The network computes as in training.

    Notes: N2.22, N4.02, N4.03, N4.12 (§2.1, §4).
    Corrects: E28, the state gradients show whether gradients vanish; weight gradients can be alike in all layers.

    Args:
        model: any network.
        inputs: a batch, as the network takes it.
        targets: its supervision.
        loss: "nll", "bce", "mse", or a function of outputs and targets; None chooses by the targets.
        learning_rate: for the update that is compared with the weights.

    Returns:
        A record with one entry per layer; `print` shows it as a table with its warnings.

    >>> from lamina.architectures.build import build
    >>> net = build("fnn", inputs=8, outputs=8, hidden=(8,) * 9, activation="sigmoid")
    >>> u = torch.randn(16, 8, generator=torch.Generator().manual_seed(0))
    >>> flow = gradient_flow(net, u, torch.zeros(16, 8))
    >>> flow.state_ratio < 1e-4
    True
    >>> flow.warnings[0].split(":")[0]
    'gradients vanish'
    """
    above("learning_rate", learning_rate, 0)
    probe = Probe(model)
    kept, was_training = [(b, b.detach().clone()) for b in model.buffers()], model.training
    with_input = inputs.is_floating_point()
    u = inputs.detach().clone().requires_grad_(with_input)
    params = [p for p in model.parameters() if p.requires_grad]
    if not params:
        raise ArgumentError("the network has no parameter that requires a gradient: unfreeze a layer.")
    try:
        with torch.enable_grad(), probe.looking():
            outputs = model.train()(u)
            value = choose_loss(loss, outputs, targets)(outputs, targets)
            gradients = torch.autograd.grad(value, [*([u] if with_input else []), *params], allow_unused=True)
    finally:
        model.train(was_training)
        with torch.no_grad():
            for buffer, before in kept:
                buffer.copy_(before)
    if probe.numbers is None:
        raise ArgumentError("the network has no layer with a weight of two or more axes: there is nothing to measure.")
    numbers = probe.numbers.clone()
    numbers[:, NUMBERS.index("update")] = learning_rate * numbers[:, NUMBERS.index("weight_gradient")]
    first = gradients[0] if with_input else None
    norm = math.nan if first is None else first.double().norm().item()
    layers = _layers(probe.names, probe.kinds, numbers.tolist())
    return Flow(layers, norm, float(value.detach()), examples=len(inputs))


def choose_loss(loss: str | Loss | None, outputs: Tensor, targets: Tensor) -> Loss:
    """Give the loss that is named, or the usual one for these outputs and targets."""
    if callable(loss):
        return loss
    choice("loss", loss, (None, "nll", "bce", "mse"))
    if loss is None:
        whole = not targets.is_floating_point()
        loss = (
            "nll" if whole and outputs.ndim == targets.ndim + 1 and outputs.shape[-1] > 1 else "bce" if whole else "mse"
        )
    if loss == "bce":
        return lambda y, s: binary_cross_entropy(y.reshape(s.shape), s)
    return negative_log_likelihood if loss == "nll" else mse_half


def _flow_from_row(row: dict[str, Any]) -> Flow:
    """Make the record of a row of `gradients.jsonl`."""
    columns = [[math.nan if x is None else x for x in row[name]] for name in NUMBERS]
    return Flow(_layers(row["layers"], row["kinds"], list(map(list, zip(*columns, strict=True)))), step=row["step"])


def _layers(names: Sequence[str], kinds: Sequence[str], numbers: list[list[float]]) -> tuple[LayerFlow, ...]:
    return tuple(LayerFlow(n, k, *row) for n, k, row in zip(names, kinds, numbers, strict=True))


def _not_finite(flow: Flow) -> list[str]:
    bad = [
        x.name for x in flow.layers if not all(map(math.isfinite, (x.mean_square, x.state_gradient, x.weight_gradient)))
    ]
    if not bad:
        return []
    return [f"numbers are not finite: first in {bad[0]}. Clip the gradients (N5.27) and take a smaller learning rate."]


def _vanishing(flow: Flow) -> list[str]:
    if not flow.state_ratio < VANISHED:
        return []
    kinds, remedies = {x.kind for x in flow.layers}, []
    if kinds & {"sigmoid", "tanh", "scaled_tanh"}:
        remedies.append("ReLU, whose slope is 1 on the positive side (N1.16), with He's initialization (N2.36)")
    signal = flow.layers[-1].mean_square / flow.layers[0].mean_square if flow.layers[0].mean_square else math.nan
    if signal < FADED or "sigmoid" not in kinds:
        remedies.append(_initialization(kinds))
    remedies.append("batch normalization (N2.43)")
    if len(flow.layers) >= DEEP and "residual" not in kinds:
        remedies.append("skip connections (N4.11)")
    if kinds & {"rnn"}:
        remedies.append("the gates of a GRU or an LSTM (N5.31)")
    return [f"gradients vanish: the first state gets {flow.state_ratio:.1e} of the last one's gradient. "
            f"{_try(remedies)}"]  # fmt: skip


def _exploding(flow: Flow) -> list[str]:
    first, last = flow.layers[0].mean_square, flow.layers[-1].mean_square
    grown = last / first if first else math.nan
    if not (flow.state_ratio > EXPLODED or grown > GROWN):
        return []
    kinds = {x.kind for x in flow.layers}
    remedies = [_initialization(kinds), "batch normalization (N2.43)", "gradient clipping (N5.27)"]
    if "residual" in kinds:
        remedies.insert(0, "a step size of 1/L on the branches (N4.14)")
    if flow.state_ratio > EXPLODED:
        what = f"gradients explode: the first state gets {flow.state_ratio:.1e} times the last one's gradient."
    else:
        what = f"signals explode: the last mean square is {grown:.1e} times the first."
    return [f"{what} {_try(remedies)}"]


def _dead(flow: Flow) -> list[str]:
    dead = [x for x in flow.layers if x.dead > MANY]
    if not dead or 0 < flow.examples < FEW:
        return []
    remedies = ["leaky ReLU, whose slope is never zero (N1.17)", _initialization({"relu"}), "a smaller learning rate"]
    what = f"{_worst([(x.name, x.dead) for x in dead])} for every example, and learn nothing"
    return [f"units are dead: {what}. {_try(remedies)}"]


def _saturated(flow: Flow) -> list[str]:
    found = [x for x in flow.layers if x.kind in BOUNDED and x.saturated > MANY]
    if not found:
        return []
    worst = max(found, key=lambda x: x.saturated)
    start = f"{_initialization({worst.kind})}, since large weights saturate (N2.32)"
    what = f"{worst.saturated:.0%} of the values of {worst.name} are at the ends of {worst.kind}"
    remedies = _try([start, "batch normalization (N2.43)", "ReLU (N1.16)"])
    return [f"units are saturated: {what}, where its slope is almost zero (N1.15). {remedies}"]


def _worst(shares: list[tuple[str, float]]) -> str:
    name, share = max(shares, key=lambda pair: pair[1])
    more = f" (and more than {MANY:.0%} in {len(shares) - 1} other layers)" if len(shares) > 1 else ""
    return f"{share:.0%} of {name}{more} are zero"


def _initialization(kinds: set[str]) -> str:
    rectified = kinds & {"relu", "leaky_relu", "gelu", "gelu_tanh", "residual"} and not kinds & {
        "sigmoid",
        "tanh",
        "scaled_tanh",
    }
    return "He's initialization (N2.36)" if rectified else "Xavier's initialization (N2.33)"


def _try(remedies: list[str]) -> str:
    *others, last = remedies
    return f"Try {', '.join(others)} or {last}." if others else f"Try {last}."
