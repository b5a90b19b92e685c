r"""The simplified residual layer of the notes (§4, Eq. (9)): a layer of a feedforward network plus its own input.

$y = y + \tau\,\sigma(Wy + b)$ is at the same time one step of explicit Euler; `lamina.functional.ode` uses the same
branch as its right-hand side.
"""

import torch

from lamina._errors import ShapeError, at_least
from lamina._types import Elementwise, Float, Tensor
from lamina.functional.dense import affine, layer


def residual_branch(
    inputs: Float[Tensor, "*batch feature"],
    weight: Float[Tensor, "branch feature"],
    bias: Float[Tensor, " branch"] | None,
    activation: Elementwise,
    outer_weight: Float[Tensor, "out branch"] | None = None,
) -> Float[Tensor, "*batch _"]:
    r"""Compute what a residual layer adds to its input, which is also the right-hand side of the ODE.

    $$a = \sigma(W y + b) \qquad\text{or}\qquad a = W_2\,\sigma(W y + b)$$
    with y = `inputs`, W = `weight`, b = `bias`, W_2 = `outer_weight`.

    Notes: N4.15, N4.26 (§4, §4.1).

    Args:
        inputs: feature vectors of the previous layer.
        weight: the weight inside the activation.
        bias: the bias inside the activation, or None.
        activation: the activation, applied to each component.
        outer_weight: a weight outside the activation, or None.

    >>> residual_branch(torch.ones(2), torch.eye(2), torch.tensor([0.0, -3.0]), torch.relu).tolist()
    [1.0, 0.0]
    """
    a = layer(inputs, weight, bias, activation)
    return a if outer_weight is None else affine(a, outer_weight)


def residual_step(
    inputs: Float[Tensor, "*batch feature"],
    weight: Float[Tensor, "branch feature"],
    bias: Float[Tensor, " branch"] | None,
    activation: Elementwise,
    step_size: float | Float[Tensor, ""] = 1.0,
    projection: Float[Tensor, "out feature"] | None = None,
    outer_weight: Float[Tensor, "out branch"] | None = None,
) -> Float[Tensor, "*batch out"]:
    r"""Pass through one simplified residual layer.

    $$y^{[l]} = P\,y^{[l-1]} + \tau\,\sigma(W y^{[l-1]} + b)$$
    with $y^{[l-1]}$ = `inputs`, W = `weight`, b = `bias`, $\tau$ = `step_size` and P = `projection`, the identity if it
    is None. With $\tau = 1$ and no projection this is Eq. (9); with `outer_weight` $W_2$ the branch is
    $W_2\,\sigma(Wy + b)$.

    Notes: N4.04, N4.06, N4.14, N4.17, N4.26 (§4, Eq. (9), Rem. 4.1, §4.1).
    Corrects: E55, P is rectangular, hence no projection in the algebraic sense; E57, a time step needs $\tau > 0$.

    Args:
        inputs: feature vectors of the previous layer.
        weight: the weight inside the activation.
        bias: the bias inside the activation, or None.
        activation: the activation, applied to each component.
        step_size: the factor on the branch; a tensor of no axes can be learned, with the derivative
            $\sum \bar y \odot \sigma(Wy + b)$.
        projection: the matrix on the skip connection, needed where the width changes.
        outer_weight: a weight outside the activation, or None.

    >>> y = torch.tensor([1.0, -2.0])
    >>> residual_step(y, torch.zeros(2, 2), torch.zeros(2), torch.tanh).tolist()
    [1.0, -2.0]
    >>> residual_step(y, torch.eye(2), None, torch.relu, step_size=0.5).tolist()
    [1.5, -2.0]
    """
    a = residual_branch(inputs, weight, bias, activation, outer_weight)
    skip = inputs if projection is None else affine(inputs, projection)
    if skip.shape != a.shape:
        raise ShapeError(
            f"the skip connection has width {skip.shape[-1]} and the branch has width {a.shape[-1]}: "
            "give a `projection` of shape (branch width, input width)."
        )
    return skip + step_size * a


def zero_pad_projection(in_features: int, out_features: int) -> Float[Tensor, "out feature"]:
    """Give the fixed matrix that pads a vector with zeros or cuts its end off; the identity if the widths agree.

    Notes: N4.06 (§4, Rem. 4.1).
    Corrects: E55, a rectangular matrix is no projection in the algebraic sense.

    Args:
        in_features: the width before.
        out_features: the width after.

    >>> zero_pad_projection(2, 3).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    at_least("in_features", in_features, 1)
    at_least("out_features", out_features, 1)
    return torch.eye(out_features, in_features)


def product_bounds(factors: Float[Tensor, "layer feature feature"]) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    r"""Bound how a product of Jacobians, as in the derivative of a deep network, stretches a vector.

    $$\prod_j s_{\min}(J_j) \;\le\; \frac{\|J_L \cdots J_1 v\|}{\|v\|} \;\le\; \prod_j s_{\max}(J_j)$$
    with J_j = `factors`, $J = \partial y^{[j]} / \partial y^{[j-1]}$, and s their singular values. All
    $s_{\max} \le q < 1$ make gradients vanish with depth, all $s_{\min} \ge q > 1$ make them explode. A residual layer
    has the factors $I + \tau\,\partial a^{[j]} / \partial y^{[j-1]}$, which are near the identity, not below one.

    Notes: N4.02, N4.03, N4.11 (§4).
    Corrects: E54, the criteria need absolute values and a bound q that is the same for all layers; E56, a residual
        network's gradients can vanish too, where $\partial a / \partial y$ is near -1.

    Args:
        factors: the Jacobians of the layers, square and of one size.

    >>> low, high = product_bounds(torch.tensor([[[0.5]], [[-2.0]]]))
    >>> low.item(), high.item()
    (1.0, 1.0)
    """
    s = torch.linalg.svdvals(factors)
    return s[:, -1].prod(), s[:, 0].prod()
