"""Why backpropagation goes backwards (§2.5 of the notes): factors of the chain rule used once, and counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from lamina._types import Float, Tensor


@dataclass(frozen=True)
class _LayerGradients:
    """The gradients with respect to the feature vectors, and what they cost."""

    features: tuple[Tensor, ...]
    multiplications: int


def layer_gradients(
    output_gradient: Float[Tensor, " out"], jacobians: Sequence[Float[Tensor, "_ _"]], reuse: bool = True
) -> _LayerGradients:
    r"""Multiply the chain rule out for every layer, with or without reuse of common factors, and count.

    $$\bar y^{[l+1]} = \frac{\partial \mathscr L}{\partial y^{[L]}} \cdot
      \prod_{j=L}^{l+2} \frac{\partial y^{[j]}}{\partial y^{[j-1]}}, \qquad l = L - 1, \dots, 0$$
    Going backwards each product extends the one before by one factor: L - 1 multiplications. Forming each product anew
    takes 0 + 1 + ... + (L - 1) = L(L - 1)/2.

    Notes: N2.69 (§2.5).
    Corrects: E32, the factors stand in the order of falling j, and the product is empty for l = L - 1.

    Args:
        output_gradient: the gradient with respect to $y^{[L]}$.
        jacobians: the L - 1 derivatives of the layers 2, ..., L, first one first, as `layer_jacobian` gives them.
        reuse: whether to keep the product of the layer behind.

    Returns:
        The gradients, first layer first, and the number of multiplications that were made.

    >>> import torch
    >>> factors = [torch.tensor([[2.0]])] * 4
    >>> with_reuse, without = (layer_gradients(torch.ones(1), factors, reuse) for reuse in (True, False))
    >>> [y_bar.item() for y_bar in with_reuse.features], with_reuse.multiplications, without.multiplications
    ([16.0, 8.0, 4.0, 2.0, 1.0], 4, 10)
    """
    count = 0

    def times(gradient: Tensor, jacobian: Tensor) -> Tensor:
        nonlocal count
        count += 1
        return gradient @ jacobian

    y_bar = [output_gradient]
    for depth in range(1, len(jacobians) + 1):
        if reuse:
            product = times(y_bar[0], jacobians[-depth])
        else:
            product = output_gradient
            for jacobian in reversed(jacobians[-depth:]):
                product = times(product, jacobian)
        y_bar.insert(0, product)
    return _LayerGradients(tuple(y_bar), count)
