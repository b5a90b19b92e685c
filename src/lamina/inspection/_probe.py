"""Hooks that follow one update through the layers of a network and measure it where it happens, on the device.

Nothing here changes a value or asks the host: an update under a probe gives the same parameters, and it can be recorded
as a CUDA graph. A layer is the innermost module that is called and has a weight of its own; residual blocks and
recurrent layers are one layer each. Its state y is the output of the activation that follows, if that is a module.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from lamina._types import Float, Tensor
from lamina.inspection._example import hooked
from lamina.layers.bottleneck import OriginalBottleneck, PreActBottleneck
from lamina.layers.dense_blocks import DenseOriginalBlock, DensePreActBlock
from lamina.layers.detector import Detector
from lamina.layers.recurrent import Recurrent
from lamina.layers.residual import SimpleResNetLayer
from lamina.layers.residual_blocks import OriginalBlock, PreActBlock

BLOCKS = (
    SimpleResNetLayer,
    OriginalBlock,
    PreActBlock,
    OriginalBottleneck,
    PreActBottleneck,
    DenseOriginalBlock,
    DensePreActBlock,
)
NUMBERS = ("state_gradient", "weight_gradient", "mean_square", "std", "weight", "update", "dead", "saturated")
"""What is measured of a layer, in this order."""

BOUNDED = {"tanh": (0.0, 1.0), "rnn": (0.0, 1.0), "scaled_tanh": (0.0, 1.7159), "sigmoid": (0.5, 0.5)}
"""Middle and half of the range of activations that saturate."""

SATURATED = 0.99
"""The share of that half from which on a unit counts as saturated; its slope is then below 0.02 of the largest."""


def activation_of(module: nn.Module) -> str | None:
    """Name the activation that a module is; None if it is something else."""
    if isinstance(module, Detector):
        return module.activation
    if type(module).__module__ != nn.ReLU.__module__ or isinstance(module, nn.MultiheadAttention):
        return None
    name = type(module).__name__
    return "leaky_relu" if name == "LeakyReLU" else name.lower()


def kind_of(module: nn.Module) -> str:
    """Say what the states of a layer with weights are, before an activation follows."""
    if isinstance(module, Recurrent):
        cell: Any = module.cells[0]
        return module.cell if module.cell != "rnn" or cell.activation.name == "tanh" else cell.activation.name
    if isinstance(module, nn.RNNBase):
        return "rnn" if module.mode == "RNN_TANH" else module.mode.removeprefix("RNN_").lower()
    return "residual" if isinstance(module, BLOCKS) else "identity"


def tensors_of(outputs: Any) -> list[Tensor]:
    """List the real tensors of what a module gave; a recurrent layer gives its states at all times, then the last."""
    if isinstance(outputs, tuple | list):
        return [tensor for part in outputs for tensor in tensors_of(part)]
    return [outputs] if isinstance(outputs, Tensor) and outputs.is_floating_point() else []


def shares(state: Float[Tensor, "..."], kind: str, axis: int) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Measure which share of the units is zero for all examples, and which share of all values is saturated.

    Args:
        state: the states of a layer, one per row.
        kind: the name of the activation; only bounded ones saturate, for others the second share is NaN.
        axis: which axis counts the units.

    >>> dead, saturated = shares(torch.tensor([[0.0, 1.0], [0.0, 0.5]]), "tanh", 1)
    >>> dead.item(), saturated.item()
    (0.5, 0.25)
    """
    others = [a for a in range(state.ndim) if a != axis % state.ndim]
    dead = state.new_full((), math.nan, dtype=torch.float64)
    saturated = dead
    if others:
        dead = (torch.linalg.vector_norm(state, math.inf, dim=others) == 0).double().mean()
    if kind in BOUNDED:
        middle, half = BOUNDED[kind]
        saturated = ((state - middle).abs() > SATURATED * half).double().mean()
    return dead, saturated


@dataclass
class _Layer:
    """A layer in the course of one pass."""

    name: str
    kind: str
    weights: list[nn.Parameter]
    axis: int
    active: bool = False
    state: Tensor | None = None
    token: int = -1
    gradient: Tensor | None = None
    slopes: dict[int, Tensor] = field(default_factory=dict)


class Probe:
    """Measures the layers of a network in the updates that run while it is looking."""

    names: tuple[str, ...] = ()
    """The layers in the order of the first pass."""

    kinds: tuple[str, ...] = ()
    """Their activations."""

    numbers: Tensor | None = None
    """The last measurement, [layer, number]; always the same tensor."""

    def __init__(self, model: nn.Module) -> None:
        inside = {id(m) for atom in model.modules() if _atom(atom) for m in atom.modules() if m is not atom}
        self._modules = [(name, m) for name, m in model.named_modules() if id(m) not in inside and _seen(m)]
        self._owned = {id(m): [p for p in m.parameters() if p.ndim > 1] for _, m in self._modules}
        self._weights = list({id(p): p for p in model.parameters() if p.ndim > 1}.values())
        self._layers: list[_Layer] = []
        self._claimed: dict[int, _Layer] = {}
        self._token, self._backward = 0, False

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Measure the update that is made inside: forward, backward, change of the parameters."""
        self._layers, self._claimed, self._token, self._backward = [], {}, 0, False
        before = [p.detach().clone() for p in self._weights]
        handles: list[RemovableHandle] = [
            module.register_forward_hook(partial(self._after, name)) for name, module in self._modules
        ]
        handles += [p.register_hook(partial(self._weight_gradient, p)) for p in self._weights if p.requires_grad]
        with hooked(handles):
            yield
        with torch.no_grad():
            self._measure({id(p): value for p, value in zip(self._weights, before, strict=True)})
        self._layers = []

    def _after(self, name: str, module: nn.Module, _: Any, outputs: Any) -> None:
        """Look at what a module gave in the forward pass."""
        states = tensors_of(outputs)
        if not states or self._backward or not torch.is_grad_enabled():
            return
        state = states[0]
        own = [p for p in self._owned[id(module)] if id(p) not in self._claimed]
        kind = activation_of(module)
        if own:
            axis = 1 if state.ndim == 4 or isinstance(module, nn.Conv1d) else -1
            self._layers.append(_Layer(name or "network", kind_of(module), own, axis))
            self._claimed |= {id(p): self._layers[-1] for p in own}
        elif kind is None or not self._layers or self._layers[-1].active or self._layers[-1].kind != "identity":
            return
        else:
            self._layers[-1].kind, self._layers[-1].active = kind, True
        layer = self._layers[-1]
        layer.state, layer.token = state.detach(), self._token
        for tensor in states:
            if tensor.requires_grad:
                tensor.register_hook(partial(self._state_gradient, layer, self._token))
        self._token += 1

    def _state_gradient(self, layer: _Layer, token: int, gradient: Tensor) -> None:
        self._backward = True
        if token == layer.token:  # what came after an activation is not its state any more
            norm = _norm(gradient)
            layer.gradient = norm if layer.gradient is None else torch.hypot(layer.gradient, norm)

    def _weight_gradient(self, weight: nn.Parameter, gradient: Tensor) -> None:
        layer = self._claimed.get(id(weight))
        if layer is not None:
            before = layer.slopes.get(id(weight))  # of the pieces of the batch that were computed already
            layer.slopes[id(weight)] = gradient if before is None else before + gradient

    def _measure(self, before: dict[int, Tensor]) -> None:
        """Write down what was seen, in tensors that stay where they are."""
        if not self._layers:
            return
        if self.numbers is None:
            self.names = tuple(layer.name for layer in self._layers)
            self.kinds = tuple(layer.kind for layer in self._layers)
        found = {layer.name: layer for layer in self._layers}
        nothing = before[id(self._weights[0])].new_full((), math.nan, dtype=torch.float64)
        rows = [_row(found[name], before) if name in found else [nothing] * len(NUMBERS) for name in self.names]
        measured = torch.stack([number for row in rows for number in row]).view(len(rows), len(NUMBERS))
        if self.numbers is None:
            self.numbers = measured
        else:
            self.numbers.copy_(measured)


def _row(layer: _Layer, before: dict[int, Tensor]) -> list[Tensor]:
    """Give the numbers of a layer, in the order of `NUMBERS`."""
    state = layer.state
    assert state is not None
    zero = state.new_zeros((), dtype=torch.float64)
    mean, square = state.mean(dtype=torch.float64), _norm(state).square() / max(1, state.numel())
    weight = _together([_norm(before[id(p)]) for p in layer.weights])
    update = _together([_norm(p.detach() - before[id(p)]) for p in layer.weights])
    gradient = _together([_norm(slope) for slope in layer.slopes.values()]) if layer.slopes else zero
    std = (square - mean.square()).clamp(min=0).sqrt()
    return [
        zero if layer.gradient is None else layer.gradient,
        gradient,
        square,
        std,
        weight,
        update,
        *shares(state, layer.kind, layer.axis),
    ]


def _norm(tensor: Tensor) -> Tensor:
    """Give the norm in double precision: squares of vanishing gradients are zero in single."""
    return torch.linalg.vector_norm(tensor, dtype=torch.float64)


def _together(norms: list[Tensor]) -> Tensor:
    return norms[0] if len(norms) == 1 else torch.linalg.vector_norm(torch.stack(norms))


def _atom(module: nn.Module) -> bool:
    return isinstance(module, (Recurrent, nn.RNNBase, *BLOCKS))


def _seen(module: nn.Module) -> bool:
    """Say whether a module can be a layer or an activation; others are left alone, as a hook stops fused kernels."""
    return activation_of(module) is not None or any(p.ndim > 1 for p in module.parameters())
