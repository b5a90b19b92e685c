"""The chain of Fig. 27 with its numbers: one node per layer, gradients by the notes' product and by autograd."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from lamina._types import Tensor
from lamina.functional.activations import get_activation
from lamina.functional.chain_rule import chain_gradients, layer_jacobian
from lamina.functional.dense import affine, layer
from lamina.functional.losses import mse_half
from lamina.functional.residual import residual_step

F64 = torch.float64


class _ScalarChain(NamedTuple):
    r"""The numbers of a chain: $y^{[l]}$, $a^{[l]}$, $\partial y^{[l]} / \partial y^{[l-1]}$, loss, both gradients."""

    features: tuple[float, ...]
    branches: tuple[float, ...]
    factors: tuple[float, ...]
    loss: float
    formula: tuple[float, ...]
    autograd: tuple[float, ...]


def scalar_chain(
    weights: Sequence[float], start: float, target: float, activation: str = "tanh", *, residual: bool = True
) -> _ScalarChain:
    r"""Follow one number through a chain, and the gradient of its loss back.

    $$\frac{\partial \mathscr L}{\partial W^{[0]}} = \frac{\partial \mathscr L}{\partial y^{[3]}}
    \Big(1 + \frac{\partial a^{[3]}}{\partial y^{[2]}}\Big) \Big(1 + \frac{\partial a^{[2]}}{\partial y^{[1]}}\Big)
    \frac{\partial y^{[1]}}{\partial W^{[0]}} \quad\text{for } L = 3$$

    Notes: N4.08 (§4, Ex. 4.2).

    Args:
        weights: $W^{[0]}, \ldots, W^{[L-1]}$.
        start: the input u.
        target: what the output should be.
        activation: of all layers.
        residual: whether every layer adds its input; without, it is the chain of Fig. 16.

    Returns:
        `features` y, `branches` a, `factors` of the product, `loss`, and its gradients by `formula` and by `autograd`.

    >>> chain = scalar_chain((1.0, 1.0, 1.0), 1.0, 0.0, "identity")
    >>> chain.features, chain.formula, chain.autograd
    ((1.0, 2.0, 4.0, 8.0), (32.0, 32.0, 32.0), (32.0, 32.0, 32.0))
    """
    sigma = get_activation(activation)
    matrices = [torch.tensor([[w]], dtype=F64, requires_grad=True) for w in weights]
    y, z = [torch.tensor([start], dtype=F64)], []
    for matrix in matrices:
        z.append(affine(y[-1], matrix))
        y.append((residual_step if residual else layer)(y[-1], matrix, None, sigma))
    loss = mse_half(y[-1][None], torch.tensor([[target]], dtype=F64))
    by_autograd = torch.autograd.grad(loss, matrices, retain_graph=True)
    (last,) = torch.autograd.grad(loss, y[-1])
    derivatives = [sigma.derivative] * len(matrices)
    with torch.no_grad():
        by_formula, _ = chain_gradients(last, y, z, matrices, derivatives, residual)
        factors = [
            layer_jacobian(at, matrix, sigma.derivative, residual) for at, matrix in zip(z, matrices, strict=True)
        ]
        branches = [sigma(at) for at in z]
    return _ScalarChain(
        _numbers(y), _numbers(branches), _numbers(factors), loss.item(), _numbers(by_formula), _numbers(by_autograd)
    )


def _numbers(tensors: Sequence[Tensor]) -> tuple[float, ...]:
    return tuple(tensor.item() for tensor in tensors)
