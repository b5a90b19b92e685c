"""The detector layer: an activation as a layer of its own, so that a network is a list of the notes' layers."""

import torch
from torch import nn

from lamina._errors import choice
from lamina._types import Elementwise, Float, Tensor
from lamina.functional.activations import ACTIVATIONS


def scaled_tanh(y: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Apply the squashing function of the 1998 LeNet-5 to each component.

    $$f(y) = A \tanh(S y), \qquad A = 1.7159,\quad S = \tfrac23$$
    The constants make f(1) = 1 and f(-1) = -1, where the curvature is largest.

    Notes: N3.07 (§3).
    Corrects: E37, this is the sigmoid-shaped function of 1998.

    >>> scaled_tanh(torch.tensor([-1.0, 0.0, 1.0])).round(decimals=3).tolist()
    [-1.0, 0.0, 1.0]
    """
    return 1.7159 * torch.tanh(2 / 3 * y)


_FUNCTIONS: dict[str, Elementwise] = {
    **{name: activation.function for name, activation in ACTIVATIONS.items()},
    "scaled_tanh": scaled_tanh,
}


class Detector(nn.Module):
    r"""Apply an activation to each entry of a tensor and keep its shape.

    $$\hat Y_{ijk} = \sigma(Y_{ijk})$$

    Notes: N3.09, N3.38 (§3, §3.3).

    Args:
        activation: the name of a component-wise activation, or "scaled_tanh".

    >>> Detector("relu")(torch.tensor([[-1.0, 2.0]])).tolist()
    [[0.0, 2.0]]
    """

    stackable = True

    def __init__(self, activation: str) -> None:
        super().__init__()
        choice("activation", activation, _FUNCTIONS)
        self.activation = activation

    def forward(self, inputs: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Return the activation of every entry."""
        return _FUNCTIONS[self.activation](inputs)

    def extra_repr(self) -> str:
        """Show the name of the activation."""
        return repr(self.activation)
