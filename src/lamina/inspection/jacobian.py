"""The factors of the chain rule, Eqs. (3) and (10) of the notes, multiplied out layer by layer for one input."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError
from lamina._tables import table
from lamina._types import Float, Tensor
from lamina.architectures.dense_resnet import DenseResNet
from lamina.architectures.fnn import FNN
from lamina.functional.activations import get_activation
from lamina.functional.chain_rule import chain_product, layer_jacobian
from lamina.inspection._example import evaluating
from lamina.layers.detector import Detector
from lamina.layers.residual import SimpleResNetLayer

LARGEST = 4096
"""Widths up to which Jacobians are formed."""


@dataclass(frozen=True)
class LayerJacobian:
    r"""One factor, $\partial y^{[j]} / \partial y^{[j-1]}$, and the product of it with all that follow.

    Args:
        name: of the layer.
        factor: one row per output of the layer, one column per input.
        product: $\partial y^{[L]} / \partial y^{[j-1]}$.
        largest: the spectral norm of the factor, its largest singular value.
        smallest: its smallest singular value.
        residual: whether the factor is the identity and the branch of a residual layer.
    """

    name: str
    factor: Float[Tensor, "out feature"]
    product: Float[Tensor, "last feature"]
    largest: float
    smallest: float
    residual: bool = False

    @cached_property
    def branch(self) -> float:
        r"""The spectral norm of $\partial a^{[j]} / \partial y^{[j-1]}$ in a residual layer, else of the factor."""
        return _norm(self.factor - torch.eye(len(self.factor)).to(self.factor)) if self.residual else self.largest

    @cached_property
    def product_norm(self) -> float:
        """The spectral norm of the product."""
        return _norm(self.product)


@dataclass(frozen=True)
class Jacobians:
    """The factors of a network at one input, first layer first."""

    layers: tuple[LayerJacobian, ...]

    @property
    def whole(self) -> Float[Tensor, "last feature"]:
        r"""The Jacobian of the whole chain, $\partial y^{[L]} / \partial y^{[0]}$."""
        return self.layers[0].product

    @property
    def bound(self) -> float:
        """The product of the spectral norms, which that of the whole Jacobian does not exceed."""
        return math.prod(layer.largest for layer in self.layers)

    def state_gradients(self, output_gradient: Float[Tensor, " last"]) -> list[Tensor]:
        r"""Return $\partial L / \partial y^{[l]}$ for l = 0, ..., L, given that for l = L."""
        return [output_gradient @ layer.product for layer in self.layers] + [output_gradient]

    def __str__(self) -> str:
        rows = [
            (x.name, "x".join(map(str, x.factor.shape)), x.largest, x.smallest, x.branch, x.product_norm)
            for x in self.layers
        ]
        return table(("layer", "factor", "largest", "smallest", "branch", "product to the end"), rows, left=2)


def jacobians(model: nn.Module, inputs: Float[Tensor, "..."]) -> Jacobians:
    r"""Form the Jacobian of every layer at one input, and the products that carry the gradient back.

    $$\frac{\partial y^{[L]}}{\partial y^{[l]}} = \prod_{j=L}^{l+1} \frac{\partial y^{[j]}}{\partial y^{[j-1]}}, \qquad
    \frac{\partial y^{[j]}}{\partial y^{[j-1]}} = \mathrm{diag}(\sigma'(z^{[j]}))\, W^{[j-1]} \quad\text{or}\quad
    \mathbb I + \frac{\partial a^{[j]}}{\partial y^{[j-1]}}$$

    Factors of `FNN` and of plain residual layers are the notes' formulas, those of other layers come from automatic
    differentiation. The read-out of a `DenseResNet` is the last factor.

    Notes: N2.68, N2.72, N4.01, N4.02, N4.03, N4.09, N4.10 (§2.5, eq. (3); §4, eq. (10)).
    Corrects: E54, factors below 1 do not suffice for a product that vanishes, nor above 1 for one that explodes; E56.

    Args:
        model: an `FNN`, a `DenseResNet`, or an `nn.Sequential`, all of them in evaluation.
        inputs: one example, without a batch axis.

    Returns:
        The factors with their spectral norms; `print` shows them.

    >>> chain = nn.Sequential(*[nn.Linear(2, 2, bias=False) for _ in range(3)])
    >>> for layer, size in zip(chain, (2.0, 0.5, 3.0)):
    ...     _ = layer.weight.data.copy_(size * torch.eye(2))
    >>> found = jacobians(chain, torch.zeros(2))
    >>> [round(layer.product_norm, 6) for layer in found.layers]
    [3.0, 1.5, 3.0]
    """
    chain, y = _chain(model, inputs)
    factors, residual = [], []
    with evaluating(model):
        for _, layer in chain:
            factor = _factor(layer, y)
            residual.append(isinstance(layer, SimpleResNetLayer) and factor.shape[0] == factor.shape[1])
            factors.append(factor)
            with torch.no_grad():
                y = layer(y[None])[0]
    return Jacobians(_records([name for name, _ in chain], factors, residual))


def _records(names: list[str], factors: list[Tensor], residual: list[bool]) -> tuple[LayerJacobian, ...]:
    """Multiply from the last factor on, each product once."""
    product = torch.eye(factors[-1].flatten(1).shape[0]).to(factors[-1])
    made: list[LayerJacobian] = []
    for name, factor, skip in reversed(list(zip(names, factors, residual, strict=True))):
        product = chain_product(product, [factor])
        sizes = torch.linalg.svdvals(factor)
        made.append(LayerJacobian(name, factor, product, sizes[0].item(), sizes[-1].item(), skip))
    return tuple(reversed(made))


def _chain(model: nn.Module, inputs: Tensor) -> tuple[list[tuple[str, nn.Module]], Tensor]:
    """List the layers that are applied one after the other, and give what the first one reads."""
    if isinstance(model, FNN):
        return [(f"layers.{k}", layer) for k, layer in enumerate(model.layers)], inputs.reshape(-1)
    if isinstance(model, DenseResNet):
        layers = [(f"layers.{k}", layer) for k, layer in enumerate(model.layers)]
        return [*layers, ("readout", model.readout)], inputs.reshape(-1)
    if isinstance(model, nn.Sequential):
        return list(model.named_children()), inputs
    raise ArgumentError(
        f"`model` must be a chain of layers (FNN, DenseResNet or nn.Sequential), got {type(model).__name__}: "
        "put its layers into an nn.Sequential."
    )


def _factor(layer: nn.Module, y: Tensor) -> Tensor:
    """Give the Jacobian of one layer at y, as a matrix."""
    if y.numel() > LARGEST:
        raise ShapeError(f"a layer must read at most {LARGEST} numbers, got {y.numel()}: take a smaller network.")
    known = _by_formula(layer, y)
    if known is not None:
        return known
    jacobian = torch.func.jacrev(lambda x: layer(x[None])[0])(y).detach()
    return jacobian.reshape(-1, y.numel())


@torch.no_grad()
def _by_formula(layer: nn.Module, y: Tensor) -> Tensor | None:
    """Give the factor of Eq. (3) or Eq. (10) where a layer is one of the notes'."""
    if isinstance(layer, SimpleResNetLayer):
        plain = layer.outer is None and layer.projection is None and not layer.padded and layer.raw_step_size is None
        if not plain or layer.step_size != 1:
            return None
        return layer_jacobian(layer.affine(y), layer.affine.weight, layer._sigma.derivative, residual=True)
    parts = dict(layer.named_children())
    if (
        not isinstance(layer, nn.Sequential)
        or set(parts) - {"affine", "activation", "dropout"}
        or "affine" not in parts
    ):
        return None
    affine, activation = cast(nn.Linear, parts["affine"]), parts.get("activation")
    name = cast(Any, activation).activation if isinstance(activation, Detector) else "identity"
    if name == "scaled_tanh":
        return None
    return layer_jacobian(affine(y), affine.weight, get_activation(name).derivative)


def _norm(matrix: Tensor) -> float:
    return torch.linalg.matrix_norm(matrix, 2).item()
