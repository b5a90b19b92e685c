r"""The learning problem (P) of the notes and plain gradient descent on it: the smallest training loop there is.

An objective is a function of named parameters that gives a loss and its gradient. `learning_problem` makes one for any
network and any loss by automatic differentiation, `backpropagation.objective` makes one by hand; `descend` does not
know the difference.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from lamina._errors import above, at_least
from lamina._types import Float, Tensor
from lamina.functional.optimizers import GradientDescent, Params, gradient_descent, start

Objective = Callable[[Params], tuple[Tensor, Params]]
"""Parameters to (loss, gradient)."""


@dataclass(frozen=True)
class Descent:
    """Where a descent ended and how it went.

    Args:
        params: the parameters after the last step.
        losses: the loss before each step, and after the last.
    """

    params: Params
    losses: Float[Tensor, " step"]


def learning_problem(
    network: Callable[[Params, Tensor], Tensor],
    loss: Callable[[Tensor, Tensor], Tensor],
    inputs: Tensor,
    targets: Tensor,
) -> Objective:
    r"""State the learning problem for a network and a loss.

    $$\min_\theta \mathscr L(y, u, \theta) \quad\text{subject to}\quad y = \mathcal F(u, \theta)$$
    with u = `inputs`, F = `network`, L = `loss` and theta the weights and biases of all layers.

    Notes: N1.19, N2.11 (§1 (P), §2 (P_l)).

    Args:
        network: a function of parameters and inputs; for a module, a call of `torch.func.functional_call`.
        loss: a function of outputs and targets that gives one number.
        inputs: all samples.
        targets: their supervision.

    >>> half = lambda y, s: 0.5 * (y - s).square().mean()
    >>> problem = learning_problem(lambda p, u: p["w"] * u, half, torch.tensor([2.0]), torch.tensor([4.0]))
    >>> value, gradient = problem({"w": torch.tensor(1.0)})
    >>> value.item(), gradient["w"].item()
    (2.0, -4.0)
    """

    def value(params: Params) -> Tensor:
        return loss(network(params, inputs), targets)

    def objective(params: Params) -> tuple[Tensor, Params]:
        gradient, loss_value = torch.func.grad_and_value(value)(params)
        return loss_value, gradient

    return objective


def descend(objective: Objective, params: Params, learning_rate: float, steps: int) -> Descent:
    r"""Minimize an objective by gradient descent with a fixed step size.

    $$\theta^{k+1} = \theta^k - \tau \nabla \mathscr L(\theta^k), \qquad k = 0, \dots, K - 1$$

    Notes: N1.19, N1.50, N2.11 (§1 (P), §1.3 Remark 1.4, §2 (P_l)).
    Corrects: E15, K steps; E76, a small gradient norm at the end is what can be asked for, under a small enough step.

    Args:
        objective: gives the loss and its gradient.
        params: the starting point.
        learning_rate: the step size tau.
        steps: their number K.

    Returns:
        The last parameters and all K + 1 losses.

    >>> parabola = lambda p: (p["x"] ** 2, {"x": 2 * p["x"]})
    >>> descend(parabola, {"x": torch.tensor(1.0)}, learning_rate=0.25, steps=2).losses.tolist()
    [1.0, 0.25, 0.0625]
    """
    above("learning_rate", learning_rate, 0)
    at_least("steps", steps, 0)
    state, hyper = start(params), GradientDescent(learning_rate)
    losses = []
    for _ in range(steps):
        loss, gradient = objective(params)
        losses.append(loss.detach())
        params, state = gradient_descent(params, gradient, state, hyper)
    losses.append(objective(params)[0].detach())
    return Descent(params, torch.stack(losses))
