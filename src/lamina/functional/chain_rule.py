r"""The chain rule as the notes use it (§2.5, §4): pullbacks of single operations, and products of Jacobians.

A gradient with respect to a tensor has that tensor's shape. The pullbacks (Eqs. (5)-(8)) are what backpropagation is
made of; the products (Eqs. (3), (4), (10)) multiply all factors out for one input and serve as the formula to compare
with and to look at, factor by factor.
"""

from collections.abc import Sequence

import torch

from lamina._errors import ArgumentError, ShapeError
from lamina._types import Elementwise, Float, Tensor


def hadamard(first: Float[Tensor, "..."], second: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Multiply two tensors of one shape entry by entry, $(A \odot B)_{ij} = A_{ij} B_{ij}$.

    Notes: N2.73 (§2.5, def. 2.4).
    Differs: `*` in torch broadcasts; this one refuses.

    >>> hadamard(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])).tolist()
    [3.0, 8.0]
    """
    if first.shape != second.shape:
        raise ShapeError(
            f"`second` must have the shape of `first`, {tuple(first.shape)}, got {tuple(second.shape)}: "
            "the Hadamard product does not broadcast."
        )
    return first * second


def activation_pullback(
    cotangent: Float[Tensor, "*batch feature"],
    pre_activation: Float[Tensor, "*batch feature"],
    derivative: Elementwise,
) -> Float[Tensor, "*batch feature"]:
    r"""Pull a gradient back through a component-wise activation $a = \sigma(z)$.

    $$\frac{\partial f}{\partial z} = \frac{\partial f}{\partial a} \odot \sigma'(z)$$
    with the gradient with respect to a = `cotangent` and z = `pre_activation`.

    Notes: N2.75 (§2.5, eq. (5)).
    Corrects: E34, this does not hold for softmax; use `softmax_vjp` there.

    Args:
        cotangent: the gradient of a scalar f with respect to the activation.
        pre_activation: the point at which the activation was computed.
        derivative: sigma', for example the `derivative` of an `Activation`.

    >>> from lamina.functional.activations import relu_derivative
    >>> activation_pullback(torch.tensor([5.0, 5.0]), torch.tensor([-1.0, 1.0]), relu_derivative).tolist()
    [0.0, 5.0]
    """
    return hadamard(cotangent, derivative(pre_activation))


def affine_pullback(
    cotangent: Float[Tensor, "*batch out"],
    inputs: Float[Tensor, "*batch feature"],
    weight: Float[Tensor, "out feature"],
) -> tuple[Float[Tensor, "*batch feature"], Float[Tensor, "out feature"], Float[Tensor, " out"]]:
    r"""Pull a gradient back through an affine map $z = W y + b$.

    $$\frac{\partial f}{\partial y} = W^\top \frac{\partial f}{\partial z}, \qquad
    \frac{\partial f}{\partial W} = \frac{\partial f}{\partial z}\, y^\top, \qquad
    \frac{\partial f}{\partial b} = \frac{\partial f}{\partial z}$$
    with the gradient with respect to z = `cotangent`, y = `inputs`, W = `weight`; over several inputs the last two are
    sums.

    Notes: N2.76 (§2.5, eqs. (6)-(8)).
    Corrects: E32, in the layout of gradients the transposes stand as here.

    Args:
        cotangent: the gradient of a scalar f with respect to z, one vector per input.
        inputs: the vectors y.
        weight: the matrix W.

    Returns:
        The gradients with respect to y (one vector per input), W and b.

    >>> y_bar, W_bar, b_bar = affine_pullback(torch.tensor([1.0]), torch.tensor([2.0, 3.0]), torch.tensor([[4.0, 5.0]]))
    >>> y_bar.tolist(), W_bar.tolist(), b_bar.tolist()
    ([4.0, 5.0], [[2.0, 3.0]], [1.0])
    """
    z_bar, y, W = cotangent, inputs, weight
    rows = z_bar.reshape(-1, z_bar.shape[-1])
    return z_bar @ W, rows.T @ y.reshape(-1, y.shape[-1]), rows.sum(0)


def layer_jacobian(
    pre_activation: Float[Tensor, " out"],
    weight: Float[Tensor, "out feature"],
    derivative: Elementwise,
    residual: bool = False,
) -> Float[Tensor, "out feature"]:
    r"""Give the matrix of derivatives of one layer at one input, a factor of the chain rule.

    $$\frac{\partial y^{[j]}}{\partial y^{[j-1]}}
    = \frac{\partial y^{[j]}}{\partial z^{[j]}} \frac{\partial z^{[j]}}{\partial y^{[j-1]}}
    = \mathrm{diag}(\sigma'(z^{[j]}))\, W^{[j-1]}, \qquad
    \mathbb I + \frac{\partial a^{[j]}}{\partial y^{[j-1]}} \text{ for a residual layer}$$

    Notes: N2.22, N2.72, N4.09, N4.10 (§2.1, §2.5, §4).

    Args:
        pre_activation: the vector z of the layer.
        weight: the matrix W.
        derivative: sigma'.
        residual: whether the input is added to the activation, $y^{[j]} = y^{[j-1]} + a^{[j]}$.

    >>> from lamina.functional.activations import identity_derivative
    >>> layer_jacobian(torch.zeros(1), torch.tensor([[-0.75]]), identity_derivative, residual=True).tolist()
    [[0.25]]
    """
    jacobian = derivative(pre_activation).unsqueeze(-1) * weight
    if not residual:
        return jacobian
    if weight.shape[0] != weight.shape[1]:
        raise ShapeError(
            f"`weight` must be square in a residual layer, got {tuple(weight.shape)}: widths may change only through a "
            "projection, which takes the place of the identity."
        )
    return torch.eye(weight.shape[0], dtype=weight.dtype, device=weight.device) + jacobian


def chain_product(
    output_gradient: Float[Tensor, "*row out"], jacobians: Sequence[Float[Tensor, "_ _"]]
) -> Float[Tensor, "*row feature"]:
    r"""Multiply a gradient by the Jacobians of the layers it passes, last layer first.

    $$\frac{\partial \mathscr L}{\partial y^{[L]}} \cdot \prod_{j=L}^{l+2} \frac{\partial y^{[j]}}{\partial y^{[j-1]}}$$

    Notes: N2.68, N2.72, N4.01, N4.09 (§2.5, §4).
    Corrects: E32, the product is ordered with j decreasing and empty for l = L - 1; E54, it tends to zero if the norms
        of the factors stay below some q < 1, not if they are merely below 1.

    Args:
        output_gradient: the gradient with respect to the last output, or a matrix of such rows; the identity matrix
            gives the Jacobian of the whole chain.
        jacobians: the factors in the order of the layers, first one first; none leave the gradient as it is.

    Returns:
        The gradient with respect to the input of the first factor.

    >>> double, swap = 2 * torch.eye(2), torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> chain_product(torch.tensor([1.0, 0.0]), [swap, double]).tolist()
    [0.0, 2.0]
    """
    for jacobian in reversed(jacobians):
        output_gradient = output_gradient @ jacobian
    return output_gradient


def chain_gradients(
    output_gradient: Float[Tensor, " out"],
    features: Sequence[Float[Tensor, " _"]],
    pre_activations: Sequence[Float[Tensor, " _"]],
    weights: Sequence[Float[Tensor, "_ _"]],
    derivatives: Sequence[Elementwise],
    residual: bool = False,
) -> tuple[list[Tensor], list[Tensor]]:
    r"""Compute the gradients of all weights and biases for one input, each as its own product of factors.

    $$\frac{\partial \mathscr L}{\partial W^{[l]}} = \frac{\partial \mathscr L}{\partial y^{[L]}} \cdot
    \prod_{j=L}^{l+2} \frac{\partial y^{[j]}}{\partial y^{[j-1]}} \cdot \frac{\partial y^{[l+1]}}{\partial z^{[l+1]}}
    \cdot \frac{\partial z^{[l+1]}}{\partial W^{[l]}}$$
    and the same with b; in a residual network the factors are $\mathbb I + \partial a^{[j]} / \partial y^{[j-1]}$.
    No factor is used twice, so this is slower than backpropagation and meant for small networks.

    Notes: N2.67, N2.68, N2.72, N4.01, N4.08, N4.09 (§2.5, eqs. (3), (4); §4, eq. (10)).
    Corrects: E56, the identity term does not exclude vanishing gradients: a factor 1 + (-0.9) is small.

    Args:
        output_gradient: the gradient of the loss with respect to the last feature vector.
        features: the feature vectors $y^{[0]}, \ldots, y^{[L]}$, as `forward_propagation` gives them.
        pre_activations: the vectors $z^{[1]}, \ldots, z^{[L]}$.
        weights: the matrices $W^{[0]}, \ldots, W^{[L-1]}$.
        derivatives: the derivatives of the L activations.
        residual: whether each layer adds its input, $y^{[l]} = y^{[l-1]} + a^{[l]}$.

    Returns:
        The gradients of the L weights and those of the L biases.

    >>> from lamina.functional.activations import identity_derivative
    >>> y, W = list(torch.tensor([[1.0], [2.0], [6.0]])), list(torch.tensor([[[2.0]], [[3.0]]]))
    >>> W_bar, b_bar = chain_gradients(torch.ones(1), y, y[1:], W, [identity_derivative] * 2)
    >>> [gradient.item() for gradient in W_bar]  # of 3 * 2 * 1 with respect to 2 and to 3
    [3.0, 2.0]
    """
    lengths = len(features) - 1, len(pre_activations), len(weights), len(derivatives)
    if len(set(lengths)) != 1:
        raise ArgumentError(
            "`pre_activations`, `weights` and `derivatives` must have one entry per layer and `features` one more, "
            f"got {lengths[1]}, {lengths[2]}, {lengths[3]} and {len(features)}: `features` starts with the input."
        )
    layers = list(zip(pre_activations, weights, derivatives, strict=True))
    jacobians = [layer_jacobian(z, W, derivative, residual) for z, W, derivative in layers]
    weight_gradients, bias_gradients = [], []
    for l, (z, _, derivative) in enumerate(layers):
        y_bar = chain_product(output_gradient, jacobians[l + 1 :])
        z_bar = activation_pullback(y_bar, z, derivative)
        weight_gradients.append(torch.outer(z_bar, features[l]))
        bias_gradients.append(z_bar)
    return weight_gradients, bias_gradients
