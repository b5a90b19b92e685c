"""A residual network of dense layers: the simplified ResNet of the notes (§4, Eq. (9)) with a linear read-out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn

from lamina._errors import ArgumentError, at_least, choice
from lamina._types import Float, Seed, Tensor
from lamina.architectures._dense import Shape, as_shape, as_vectors, check_options, check_sizes
from lamina.architectures._network import Network
from lamina.functional.random import as_generator
from lamina.layers.dropout import Dropout
from lamina.layers.initialized import linear
from lamina.layers.residual import PROJECTIONS, SimpleResNetLayer, check_step_size

DEPTH = 8
"""The number of residual layers when a configuration names only their width."""


@dataclass(frozen=True)
class DenseResNetConfig:
    """The choices of a residual network of dense layers.

    Notes: N1.65, N4.04, N4.06, N4.14, N4.17, N4.26 (§1.5, §4, §4.1).

    Args:
        inputs: the shape of one example; images are read as vectors.
        outputs: the number of outputs or classes.
        hidden: the widths of the residual layers, such as (5, 5, 2); a number is the width of all of them.
        depth: how many residual layers a number in `hidden` means; None for `DEPTH`, or for the length of `hidden`.
        activation: the activation of all residual layers; the ODE view asks for the same one.
        step_size: the factor on each branch: a number, "1/L" for the inverse of their number, or "learned".
        initial_step_size: where learned step sizes start, a number or "1/L".
        projection: "learned" or "zero-pad", for skip connections where the width changes.
        outer: whether a second weight stands outside each activation.
        dropout: the probability of dropping a unit of a branch.
        initialization: the rule for the weights of the branches; None for the one that suits the activation.
        scale: the scale of that rule.

    >>> DenseResNetConfig(3, 1, hidden=(5, 5, 2)).widths
    (3, 5, 5, 2, 1)
    """

    inputs: Shape
    outputs: int
    hidden: int | Sequence[int] = 32
    depth: int | None = None
    activation: str = "tanh"
    step_size: float | str = 1.0
    initial_step_size: float | str = 1.0
    projection: str = "learned"
    outer: bool = False
    dropout: float = 0.0
    initialization: str | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_sizes(self.inputs, self.outputs)
        check_options(self.activation, self.initialization, self.scale, self.dropout)
        choice("projection", self.projection, PROJECTIONS)
        check_step_size("step_size", self.step_size, ("1/L", "learned"))
        check_step_size("initial_step_size", self.initial_step_size, ("1/L",))
        if self.depth is not None:
            at_least("depth", self.depth, 1)
        if not isinstance(self.hidden, int) and self.depth not in (None, len(self.hidden)):
            raise ArgumentError(
                f"`depth` must be the number of widths in `hidden` ({len(self.hidden)}), got {self.depth}: "
                "leave it out, or give `hidden` as one number."
            )
        if len(self.widths) == 2:
            raise ArgumentError(
                "`hidden` must name at least 1 residual layer, got none: use an `fnn` for a linear map."
            )
        for width in self.widths[1:-1]:
            at_least("hidden", width, 1)

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths of the input, of the residual layers and of the output."""
        hidden = (self.hidden,) * (self.depth or DEPTH) if isinstance(self.hidden, int) else self.hidden
        return (math.prod(as_shape(self.inputs)), *hidden, self.outputs)

    def as_number(self, step_size: float | str) -> float | str:
        """Write the word "1/L" as the number that it means.

        >>> DenseResNetConfig(3, 1, depth=4).as_number("1/L")
        0.25
        """
        return 1 / (len(self.widths) - 2) if step_size == "1/L" else step_size


class DenseResNet(Network):
    r"""A chain of simplified residual layers, then a linear map to the outputs.

    $$y^{[l]} = P_l\,y^{[l-1]} + \tau_l\,\sigma(W^{[l-1]} y^{[l-1]} + b^{[l-1]}), \qquad l = 1, \ldots, L$$
    with $y^{[0]} = u$, and $P_l$ the identity where the widths agree; if all do, the network has as many parameters as
    the `FNN` of the same widths. With $\tau_l = 1/L$ the layers are Euler steps of $y' = \sigma(W(t)\,y + b(t))$ on
    [0, 1], and the output stays bounded as L grows.

    Notes: N4.04, N4.06, N4.14, N4.15, N4.17, N4.26 (§4, Eq. (9), Rem. 4.1, §4.1).
    Corrects: E55, P is no projection in the algebraic sense; E57, learned step sizes stay positive.

    >>> network = DenseResNet(DenseResNetConfig(3, 1, hidden=(3, 3), step_size="1/L"))
    >>> network.step_sizes.tolist(), sum(p.numel() for p in network.parameters())
    ([0.5, 0.5], 28)
    """

    stackable = True

    def __init__(self, config: DenseResNetConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        self.config = config
        generator = as_generator(seed)
        # Drawn always: the weights do not depend on dropout.
        masks = int(torch.randint(2**31, (), generator=generator, device="cpu"))
        self.layers = nn.Sequential(
            *[
                SimpleResNetLayer(
                    n_in,
                    n_out,
                    config.activation,
                    step_size=config.as_number(config.step_size),
                    initial_step_size=float(config.as_number(config.initial_step_size)),
                    projection=config.projection,
                    outer=config.outer,
                    initialization=config.initialization,
                    scale=config.scale,
                    dropout=Dropout(config.dropout, seed=masks, place=place) if config.dropout else None,
                    seed=generator,
                )
                for place, (n_in, n_out) in enumerate(pairwise(config.widths[:-1]))
            ]
        )
        self.readout = linear(*config.widths[-2:], initialization="xavier", seed=generator)

    def forward(self, inputs: Float[Tensor, "..."]) -> Float[Tensor, "*batch label"]:
        """Return the outputs of the linear read-out."""
        return self.readout(self.layers(as_vectors(inputs, self.config.inputs)))

    def features(self, inputs: Float[Tensor, "..."]) -> list[Tensor]:
        """Return the feature vectors $y^{[0]}, ..., y^{[L]}$, the input first; the read-out is not among them.

        Notes: N4.04 (§4, Eq. (9)).

        >>> network = DenseResNet(DenseResNetConfig(3, 1, hidden=(5, 5, 2)))
        >>> [y.shape[-1] for y in network.features(torch.zeros(2, 3))]
        [3, 5, 5, 2]
        """
        y = [as_vectors(inputs, self.config.inputs)]
        for layer in self.layers:
            y.append(layer(y[-1]))
        return y

    @property
    def step_sizes(self) -> Float[Tensor, " layer"]:
        r"""The step sizes $\tau_1, ..., \tau_L$."""
        like = self.readout.weight
        return torch.stack(
            [torch.as_tensor(layer.step_size, dtype=like.dtype, device=like.device) for layer in self.layers]
        )
