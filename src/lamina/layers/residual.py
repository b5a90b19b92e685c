"""The simplified residual layer of the notes, Eq. (9), with its step size, projection and outer weight."""

import torch
from torch import nn

from lamina._errors import ArgumentError, above, at_least, choice
from lamina._types import Float, Seed, Tensor
from lamina.functional.activations import default_initialization, get_activation
from lamina.functional.dense import affine
from lamina.functional.random import as_generator
from lamina.functional.residual import zero_pad_projection
from lamina.layers.initialized import linear

PROJECTIONS = ("learned", "zero-pad")
"""What a skip connection does where the width changes."""


def check_step_size(name: str, value: float | str, words: tuple[str, ...] = ("learned",)) -> None:
    """Raise unless `value` is a positive number or one of the `words`.

    >>> check_step_size("step_size", -1.0)
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `step_size` must be greater than 0, got -1.0.
    """
    if not isinstance(value, str):
        above(name, value, 0)
    elif value not in words:
        allowed = " or ".join(map(repr, words)) or "no word"
        raise ArgumentError(f"`{name}` must be a positive number or {allowed}, got {value!r}.")


class SimpleResNetLayer(nn.Module):
    r"""Add to the input an activated affine map of it.

    $$y^{[l]} = P\,y^{[l-1]} + \tau\,\sigma(W y^{[l-1]} + b)$$

    P is the identity where the widths agree; with an outer weight the branch is $W_2\,\sigma(W y + b)$. A learned step
    size is $\tau = \tau_0\,\mathrm{softplus}(\rho) / \mathrm{softplus}(0)$ with a parameter $\rho$ that starts at 0: it
    stays positive and starts at $\tau_0$ exactly. Nothing follows the sum, so that the notes call the layer a
    pre-activation layer; the activation still comes after the weight, unlike in `PreActBlock`.

    Notes: N4.04, N4.06, N4.14, N4.17, N4.24, N4.26 (§4, Eq. (9), Rem. 4.1, §4.1, Rem. 4.3).
    Corrects: E55, P is no projection in the algebraic sense; E57, a learned step size is kept positive; E58, the name
        pre-activation means in He et al. that batch norm and activation stand before the weight.

    Args:
        in_features: the width of the input.
        out_features: the width of the output.
        activation: the name of a component-wise activation.
        step_size: the step size, or "learned".
        initial_step_size: where a learned step size starts.
        projection: "learned" for a linear map without bias, "zero-pad" for the fixed matrix that pads or cuts; used
            only where the widths differ.
        outer: whether a second weight stands outside the activation.
        initialization: the rule for the weights; None for the one that suits the activation.
        scale: the scale of that rule.
        dropout: a module applied to the activation, for example `Dropout`.
        seed: an integer or a generator.

    >>> layer = SimpleResNetLayer(3, 3, initialization="constant", scale=0.0)
    >>> layer(torch.tensor([1.0, -2.0, 3.0])).tolist()
    [1.0, -2.0, 3.0]
    """

    stackable = True
    padding: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        activation: str = "tanh",
        *,
        step_size: float | str = 1.0,
        initial_step_size: float = 1.0,
        projection: str = "learned",
        outer: bool = False,
        initialization: str | None = None,
        scale: float = 1.0,
        dropout: nn.Module | None = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        at_least("in_features", in_features, 1)
        at_least("out_features", out_features, 1)
        check_step_size("step_size", step_size)
        above("initial_step_size", initial_step_size, 0)
        choice("projection", projection, PROJECTIONS)
        self._sigma = get_activation(activation)
        generator, rule = as_generator(seed), initialization or default_initialization(activation)
        self.affine = linear(in_features, out_features, initialization=rule, scale=scale, seed=generator)
        self.dropout = nn.Identity() if dropout is None else dropout
        self.outer = None
        if outer:
            self.outer = linear(
                out_features, out_features, bias=False, initialization=rule, scale=scale, seed=generator
            )
        self.projection, self.padded = None, in_features != out_features and projection == "zero-pad"
        if self.padded:
            self.register_buffer("padding", zero_pad_projection(in_features, out_features), persistent=False)
        elif in_features != out_features:
            self.projection = linear(in_features, out_features, bias=False, initialization="xavier", seed=generator)
        self._start = initial_step_size if isinstance(step_size, str) else step_size
        self.raw_step_size = nn.Parameter(torch.zeros(())) if isinstance(step_size, str) else None

    @property
    def step_size(self) -> float | Tensor:
        """The step size: a number, or a positive tensor when it is learned: without axes, or one per member."""
        if self.raw_step_size is None:
            return self._start
        softplus = nn.functional.softplus
        return self._start * (softplus(self.raw_step_size) / softplus(torch.zeros_like(self.raw_step_size)))

    def forward(self, inputs: Float[Tensor, "*#batch feature"]) -> Float[Tensor, "*batch out"]:
        """Return the feature vectors of this layer; `functional.residual.residual_step` by the parts of this module."""
        branch = self.dropout(self._sigma(self.affine(inputs)))
        if self.outer is not None:
            branch = self.outer(branch)
        skip = affine(inputs, self.padding) if self.padded else inputs
        if self.projection is not None:
            skip = self.projection(inputs)
        tau = self.step_size
        return skip + (tau[:, None] if isinstance(tau, Tensor) and tau.ndim else tau) * branch

    def extra_repr(self) -> str:
        """Show the activation, the step size and a fixed projection."""
        step = "learned" if self.raw_step_size is not None else self._start
        return f"{self._sigma.name!r}, step_size={step}" + (", projection='zero-pad'" if self.padded else "")
