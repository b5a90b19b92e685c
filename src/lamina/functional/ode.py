r"""Ordinary differential equations with fixed steps: explicit Euler, which is a residual network, and Runge-Kutta 4.

$y' = f(t, y)$ is solved by plain tensor operations, so that solutions batch under `vmap`, compile, export and have
exact derivatives. The right-hand side of the notes is $f(t, y) = \sigma(W(t)\,y + b(t))$, the branch of a residual
layer.
"""

from collections.abc import Callable, Iterator

import torch

from lamina._errors import ArgumentError, at_least, choice
from lamina._types import Elementwise, Float, Tensor
from lamina.functional.residual import residual_branch

Time = float | Tensor
"""A moment: a number in the solvers with fixed steps, a tensor without axes in an adaptive one."""

State = Float[Tensor, "..."]
"""What changes in time, of any shape."""

RightHandSide = Callable[[Time, Tensor], Tensor]
"""The function f of $y' = f(t, y)$."""


def interpolate(knots: Float[Tensor, "knot ..."], time: Time, end: float = 1.0) -> State:
    r"""Evaluate the continuous function of time that is linear between equally spaced knots.

    $$W(t) = \sum_j \max\{0,\, 1 - |s - j|\}\; W_j, \qquad s = (K - 1)\,t / T$$
    with W_j = `knots`, K their number, t = `time`, T = `end`. One knot is a constant.

    Notes: N4.15 (§4).
    Corrects: E57, layers are steps in time only if their weights vary slowly with the layer.

    Args:
        knots: the values at the times 0, T/(K-1), ..., T.
        time: a moment in [0, T].
        end: the time T of the last knot.

    >>> interpolate(torch.tensor([0.0, 10.0, 30.0]), 0.75).item()
    20.0
    """
    last = knots.shape[0] - 1
    if last == 0:
        return knots[0]
    place = torch.arange(last + 1, dtype=knots.dtype, device=knots.device)
    hats = (1 - (time * (last / end) - place).abs()).clamp(min=0)
    return torch.tensordot(hats, knots, dims=1)


def layer_dynamics(
    weight: Float[Tensor, "knot feature feature"],
    bias: Float[Tensor, "knot feature"],
    activation: Elementwise,
    end: float = 1.0,
) -> RightHandSide:
    r"""Make the right-hand side whose Euler steps are residual layers.

    $$f(t, y) = \sigma(W(t)\,y + b(t))$$
    with W and b linear in time between `weight` and `bias` at equally spaced times (see `interpolate`).

    Notes: N4.15, N4.16 (§4).

    Args:
        weight: the weights at the knots; one knot is a constant weight.
        bias: the biases at the knots.
        activation: the activation, applied to each component.
        end: the time of the last knot.

    >>> f = layer_dynamics(torch.eye(2)[None], torch.zeros(1, 2), torch.relu)
    >>> f(0.0, torch.tensor([1.0, -1.0])).tolist()
    [1.0, 0.0]
    """
    return lambda t, y: residual_branch(y, interpolate(weight, t, end), interpolate(bias, t, end), activation)


def euler_step(right_hand_side: RightHandSide, time: Time, state: State, step_size: float | Tensor) -> State:
    r"""Advance by one step of explicit Euler, of first order; the same formula as a residual layer.

    $$y(t + \tau) \approx y(t) + \tau f(t, y(t))$$
    with f = `right_hand_side`, t = `time`, y = `state`, $\tau$ = `step_size`.

    Notes: N4.14, N4.15 (§4).

    Args:
        right_hand_side: the function f(t, y).
        time: the moment t.
        state: the state at t, of any shape.
        step_size: the length of the step.

    >>> euler_step(lambda t, y: y, 0.0, torch.tensor(1.0), 0.5).item()
    1.5
    """
    f, t, y, tau = right_hand_side, time, state, step_size
    return y + tau * f(t, y)


def rk4_step(right_hand_side: RightHandSide, time: Time, state: State, step_size: float | Tensor) -> State:
    r"""Advance by one step of the classical Runge-Kutta method, of fourth order.

    $$y(t + \tau) \approx y + \tfrac{\tau}{6}(k_1 + 2 k_2 + 2 k_3 + k_4)$$
    with $k_1 = f(t, y)$, $k_2 = f(t + \tau/2, y + \tau k_1/2)$, $k_3 = f(t + \tau/2, y + \tau k_2/2)$,
    $k_4 = f(t + \tau, y + \tau k_3)$.

    Notes: N4.16 (§4), the reference for the residual network.

    The arguments are those of `euler_step`.

    >>> round(rk4_step(lambda t, y: y, 0.0, torch.tensor(1.0, dtype=torch.float64), 0.5).item(), 6)
    1.648438
    """
    f, t, y, tau = right_hand_side, time, state, step_size
    k1 = f(t, y)
    k2 = f(t + tau / 2, y + tau / 2 * k1)
    k3 = f(t + tau / 2, y + tau / 2 * k2)
    k4 = f(t + tau, y + tau * k3)
    return y + tau / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


STEPS = {"euler": euler_step, "rk4": rk4_step}
"""One step of each method by its name."""


def _states(f: RightHandSide, y: Tensor, steps: int, t0: float, t1: float, method: str) -> Iterator[Tensor]:
    """Yield the states at the times t0, t0 + tau, ..., t1."""
    choice("method", method, STEPS)
    at_least("steps", steps, 1)
    if t0 == t1:
        raise ArgumentError(
            f"`end` must differ from `start`, got {t1!r} for both: an interval without length has no steps."
        )
    tau = (t1 - t0) / steps
    yield y
    for step in range(steps):
        y = STEPS[method](f, t0 + step * tau, y, tau)
        yield y


def trajectory(
    right_hand_side: RightHandSide, state: State, steps: int, start: float = 0, end: float = 1, method: str = "euler"
) -> Float[Tensor, "time ..."]:
    """Solve an initial value problem by equal steps and return all states, the feature vectors of the layers.

    Notes: N4.15 (§4).

    Args:
        right_hand_side: the function f(t, y).
        state: the state at `start`, of any shape.
        steps: the number of steps L, the depth of the residual network.
        start: the first moment.
        end: the last moment; earlier than `start` solves backwards in time.
        method: "euler" or "rk4".

    Returns:
        The `steps` + 1 states, stacked along a first axis.

    >>> trajectory(lambda t, y: y, torch.tensor(1.0), steps=2).tolist()
    [1.0, 1.5, 2.25]
    """
    return torch.stack(list(_states(right_hand_side, state, steps, start, end, method)))


def integrate(
    right_hand_side: RightHandSide, state: State, steps: int, start: float = 0, end: float = 1, method: str = "euler"
) -> State:
    r"""Solve an initial value problem $y' = f(t, y)$ by equal steps and return the last state.

    Notes: N4.15, N4.16 (§4).
    Corrects: E57, explicit Euler is of first order: half the step, half the error.

    The arguments are those of `trajectory`.

    >>> round(integrate(lambda t, y: y, torch.tensor(1.0), steps=100, method="rk4").item(), 4)
    2.7183
    """
    *_, last = _states(right_hand_side, state, steps, start, end, method)
    return last
