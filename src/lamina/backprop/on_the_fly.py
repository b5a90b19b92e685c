"""Updates during the backward sweep (§2.5 of the notes, Remark 2.5 (i)): no gradient is ever stored."""

from collections.abc import Sequence

import torch

from lamina._errors import at_least
from lamina._types import Tensor
from lamina.backprop.backpropagation import (
    Matrices,
    Rows,
    Vectors,
    forward,
    name_parameters,
    output_gradient,
    pull_through_activation,
)
from lamina.classical.descent import Descent
from lamina.functional.chain_rule import affine_pullback
from lamina.functional.optimizers import OPTIMIZERS, GradientDescent, Optimizer, State


def train_on_the_fly(
    weights: Matrices,
    biases: Vectors,
    activations: Sequence[str],
    inputs: Rows,
    targets: Tensor,
    loss: str = "mse",
    *,
    optimizer: Optimizer = OPTIMIZERS["gd"],
    hyper: object = GradientDescent(0.1),
    steps: int = 1,
) -> Descent:
    r"""Train a feedforward network and overwrite each weight as soon as its gradient is known.

    In layer l the gradient $\bar y^{[l-1]} = (W^{[l-1]})^\top \bar z^{[l]}$ is formed with the old weight first; then
    weight and bias are updated and their gradients forgotten. Each tensor has an optimizer state of its own.

    Notes: N2.78 (§2.5, Remark 2.5 (i)).
    Corrects: E35, any update of a tensor from its own gradient will do, Adam too; a line search or a bound on the norm
        of the whole gradient will not. The order is essential.

    The first arguments are those of `backpropagation.backpropagate`; `optimizer` is a row of `OPTIMIZERS`, `hyper`
    holds its numbers, and `steps` is the number of sweeps.

    Returns:
        The last parameters, named as by `backpropagation.name_parameters`, and all losses.

    >>> u, S = torch.tensor([[3.0]]), torch.tensor([[5.0]])
    >>> start = [torch.tensor([[2.0]])], [torch.zeros(1)]
    >>> train_on_the_fly(*start, ["identity"], u, S, hyper=GradientDescent(0.5)).params
    {'W0': tensor([[0.5000]]), 'b0': tensor([-0.5000])}
    """
    at_least("steps", steps, 0)
    W, b = list(weights), list(biases)
    states: dict[str, State] = {name: optimizer.init({name: theta}) for name, theta in name_parameters(W, b).items()}

    def updated(name: str, theta: Tensor, gradient: Tensor) -> Tensor:
        new, states[name] = optimizer.update({name: theta}, {name: gradient}, states[name], hyper)
        return new[name]

    losses = []
    for _ in range(steps):
        cache = forward(W, b, activations, inputs)
        y, z = cache.features, cache.pre_activations
        value, z_bar = output_gradient(cache, activations[-1], targets, loss)
        losses.append(value)
        for l in range(len(W), 0, -1):
            y_bar, W_bar, b_bar = affine_pullback(z_bar, y[l - 1], W[l - 1])  # with the old weight
            W[l - 1] = updated(f"W{l - 1}", W[l - 1], W_bar)
            b[l - 1] = updated(f"b{l - 1}", b[l - 1], b_bar)
            if l > 1:
                z_bar = pull_through_activation(activations[l - 2], z[l - 2], y[l - 1], y_bar)
    losses.append(output_gradient(forward(W, b, activations, inputs), activations[-1], targets, loss)[0])
    return Descent(name_parameters(W, b), torch.stack(losses))
