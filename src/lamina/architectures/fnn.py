"""The feedforward network of the notes (§2): widths, activations and a list of layers."""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import torch
from torch import nn

from lamina._errors import ArgumentError, at_least, choice
from lamina._types import Float, Seed, Tensor
from lamina.architectures._dense import Shape, as_shape, as_vectors, check_options, check_sizes
from lamina.architectures._network import Network
from lamina.functional.activations import ACTIVATIONS, default_initialization
from lamina.functional.random import as_generator
from lamina.layers.detector import Detector
from lamina.layers.dropout import Dropout
from lamina.layers.initialized import linear


@dataclass(frozen=True)
class FNNConfig:
    """The choices of a feedforward network.

    The depth L counts the layers after the input; the network is deep from two hidden layers on (`functional.depth`,
    `functional.is_deep` of the `widths`).

    Notes: N1.65, N2.01, N2.07, N2.59 (§1.5, §2, §2.4).
    Corrects: E23, a linear last layer has a bias unless `last_bias` is False, as the notes write it.

    Args:
        inputs: the shape of one example; images are read as vectors.
        outputs: the number of outputs or classes.
        hidden: the width of each hidden layer; a number means one layer, () none.
        activation: a name for all hidden layers, or one name a hidden layer.
        last_activation: the activation of the last layer; "identity" gives logits.
        last_bias: whether the last layer has a bias.
        batch_norm: whether hidden layers normalize between weight and activation; they then have no bias.
        dropout: the probability of dropping a hidden unit.
        initialization: the rule for the weights; None for the one that suits each layer's activation.
        scale: the scale of that rule.

    >>> FNNConfig(784, 10, hidden=(128, 64, 32)).widths
    (784, 128, 64, 32, 10)
    """

    inputs: Shape
    outputs: int
    hidden: int | Sequence[int] = (128, 64)
    activation: str | Sequence[str] = "relu"
    last_activation: str = "identity"
    last_bias: bool = True
    batch_norm: bool = False
    dropout: float = 0.0
    initialization: str | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_sizes(self.inputs, self.outputs)
        for width in self.widths[1:-1]:
            at_least("hidden", width, 1)
        hidden = len(self.widths) - 2
        if not isinstance(self.activation, str) and len(self.activation) != hidden:
            raise ArgumentError(
                f"`activation` must be one name or one name for each of the {hidden} hidden layers, got "
                f"{len(self.activation)} names."
            )
        choice("last_activation", self.last_activation, ACTIVATIONS)
        for name in self.activations:
            check_options(name, self.initialization, self.scale, self.dropout)

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths $(n_0, n_1, ..., n_L)$, from the input to the output."""
        hidden = (self.hidden,) if isinstance(self.hidden, int) else self.hidden
        return (math.prod(as_shape(self.inputs)), *hidden, self.outputs)

    @property
    def activations(self) -> tuple[str, ...]:
        """The names of the activations of the layers 1 to L."""
        names = (self.activation,) * (len(self.widths) - 2) if isinstance(self.activation, str) else self.activation
        return (*names, self.last_activation)


class FNN(Network):
    r"""A feedforward network, the composition of its layers.

    $$\mathcal F = f_L \circ f_{L-1} \circ \cdots \circ f_1, \qquad
    f_l(y^{[l-1]}) = y^{[l]} = \sigma^{[l]}(W^{[l-1]} y^{[l-1]} + b^{[l-1]})$$

    `layers[l - 1]` is $f_l$: an `nn.Linear` named `affine`, then as configured `norm`, `activation` and `dropout`.

    Notes: N2.01, N2.02, N2.04, N2.05, N2.07, N2.08, N2.12, N2.13, N2.45, N2.59 (§2, eq. (2), Rem. 2.1, §2.3, §2.4).
    Corrects: E03, no layer is skipped; E06, there is no bias right before batch norm, which would cancel it.

    >>> network = FNN(FNNConfig(3, 1, hidden=(5, 5, 5)))
    >>> sum(p.numel() for p in network.parameters())
    86
    """

    stackable = True

    def __init__(self, config: FNNConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        self.config = config
        generator = as_generator(seed)
        # Drawn always: the weights do not depend on dropout.
        masks = int(torch.randint(2**31, (), generator=generator, device="cpu"))
        layers = []
        for place, ((n_in, n_out), name) in enumerate(zip(pairwise(config.widths), config.activations, strict=True)):
            last = place == len(config.widths) - 2
            rule = config.initialization or default_initialization(name)
            bias = config.last_bias if last else not config.batch_norm
            parts: OrderedDict[str, nn.Module] = OrderedDict()
            parts["affine"] = linear(n_in, n_out, bias=bias, initialization=rule, scale=config.scale, seed=generator)
            if config.batch_norm and not last:
                parts["norm"] = nn.BatchNorm1d(n_out)
            if name != "identity":
                parts["activation"] = Detector(name)
            if config.dropout and not last:
                parts["dropout"] = Dropout(config.dropout, seed=masks, place=place)
            layers.append(nn.Sequential(parts))
        self.layers = nn.Sequential(*layers)

    def forward(self, inputs: Float[Tensor, "..."]) -> Float[Tensor, "*batch label"]:
        """Return the output of the last layer."""
        return self.layers(as_vectors(inputs, self.config.inputs))

    def features(self, inputs: Float[Tensor, "..."]) -> list[Tensor]:
        """Return the feature vectors $y^{[0]}, ..., y^{[L]}$ of all layers, the input first.

        Notes: N2.04 (§2, eq. (2)).

        >>> network = FNN(FNNConfig(3, 1, hidden=(5, 4)))
        >>> [y.shape[-1] for y in network.features(torch.zeros(2, 3))]
        [3, 5, 4, 1]
        """
        y = [as_vectors(inputs, self.config.inputs)]
        for layer in self.layers:
            y.append(layer(y[-1]))
        return y

    @property
    def weights(self) -> list[Tensor]:
        """The matrices $W^{[0]}, ..., W^{[L-1]}$."""
        return [_affine(layer).weight for layer in self.layers]

    @property
    def biases(self) -> list[Tensor | None]:
        """The vectors $b^{[0]}, ..., b^{[L-1]}$, None where there is none."""
        return [_affine(layer).bias for layer in self.layers]


def _affine(layer: nn.Module) -> nn.Linear:
    return cast(nn.Linear, layer.get_submodule("affine"))


@torch.no_grad()
def fnn_from_weights(
    weights: Sequence[Float[Tensor, "_ _"]],
    biases: Sequence[Float[Tensor, " _"]],
    activation: str | Sequence[str],
    last_activation: str = "identity",
) -> FNN:
    """Make a feedforward network with given weights and biases, as the constructions of the notes need it.

    Notes: N2.02, N2.04 (§2, eq. (2)).

    Args:
        weights: the matrices, first layer first; each of shape (n_out, n_in).
        biases: the vectors, first layer first.
        activation: a name for all hidden layers, or one name a hidden layer.
        last_activation: the activation of the last layer.

    >>> network = fnn_from_weights([torch.tensor([[2.0]])], [torch.tensor([1.0])], "relu")
    >>> network(torch.tensor([3.0])).tolist()
    [7.0]
    """
    if not 1 <= len(weights) == len(biases):
        raise ArgumentError(
            f"`weights` and `biases` must be equally long and not empty, got {len(weights)} and {len(biases)}: "
            "give every layer a bias, zeros if necessary."
        )
    for place, (before, after) in enumerate(pairwise(weights)):
        if before.shape[0] != after.shape[1]:
            raise ArgumentError(
                f"`weights` must fit together, got {before.shape[0]} outputs of matrix {place} and {after.shape[1]} "
                f"inputs of matrix {place + 1}."
            )
    config = FNNConfig(
        weights[0].shape[1], weights[-1].shape[0], tuple(len(W) for W in weights[:-1]), activation, last_activation
    )
    network = FNN(config).to(weights[0].dtype)
    for layer, W, b in zip(network.layers, weights, biases, strict=True):
        _affine(layer).weight.copy_(W)
        _affine(layer).bias.copy_(b)
    return network
