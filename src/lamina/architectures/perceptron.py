"""The perceptron, Eq. (1) of the notes: one layer of neurons."""

import math
from dataclasses import dataclass

from lamina._types import Float, Seed, Tensor
from lamina.architectures._dense import Shape, as_shape, as_vectors, check_options, check_sizes
from lamina.architectures._network import Network
from lamina.functional.activations import default_initialization, get_activation
from lamina.layers.initialized import linear


@dataclass(frozen=True)
class PerceptronConfig:
    """The choices of a perceptron.

    Notes: N1.02, N1.22, N1.65 (§1, §1.1, §1.5).

    Args:
        inputs: the shape of one example.
        outputs: the number of perceptrons that read the same input.
        activation: the name of a component-wise activation; "heaviside" does not learn by gradients.
        bias: whether there is a bias; linear regression is `activation="identity", bias=False`.
        initialization: the rule for the weights; None for the one that suits the activation.
        scale: the scale of that rule.

    >>> PerceptronConfig(3).widths
    (3, 1)
    """

    inputs: Shape
    outputs: int = 1
    activation: str = "heaviside"
    bias: bool = True
    initialization: str | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_sizes(self.inputs, self.outputs)
        check_options(self.activation, self.initialization, self.scale)

    @property
    def widths(self) -> tuple[int, int]:
        """The number of nodes of the input and of the output layer."""
        return math.prod(as_shape(self.inputs)), self.outputs


class Perceptron(Network):
    r"""One layer of neurons, the smallest network; what the notes call a shallow network.

    $$y = \sigma(W u + b)$$
    With one output this is Eq. (1) with n + 1 parameters.

    Notes: N1.02, N1.03, N1.22, N1.72, N1.74, N1.83 (§1, §1.1, §1.6).
    Corrects: E22, elsewhere shallow means one hidden layer; we say perceptron, one hidden layer, deep.

    >>> sum(p.numel() for p in Perceptron(PerceptronConfig(3)).parameters())
    4
    """

    stackable = True

    def __init__(self, config: PerceptronConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        self.config = config
        rule = config.initialization or default_initialization(config.activation)
        n_in, n_out = config.widths
        self.affine = linear(n_in, n_out, bias=config.bias, initialization=rule, scale=config.scale, seed=seed)

    def forward(self, inputs: Float[Tensor, "..."]) -> Float[Tensor, "*batch label"]:
        """Return the activation of each output node."""
        return get_activation(self.config.activation)(self.affine(as_vectors(inputs, self.config.inputs)))
