"""Backtracking line search for gradient descent."""

from collections.abc import Callable, Sequence

import torch

from lamina._types import Tensor
from lamina.functional.optimizers import proximal_threshold, soft_threshold
from lamina.training.runtime import wide


@torch.no_grad()
def armijo(
    loss: Callable[[], Tensor],
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    value: float,
    first: float,
    strength: float = 0.0,
    shares: Sequence[float] = (),
    slope: float = 1e-4,
    shrink: float = 0.5,
    tries: int = 60,
) -> float:
    r"""Move the parameters along the negative gradient by the first trial step that satisfies Armijo's condition.

    $$L(\theta_\tau) \le L(\theta) - \frac{c}{\tau} \|\theta_\tau - \theta\|^2, \qquad
    \theta_\tau = \mathrm{soft}_{\tau\lambda}(\theta - \tau g), \qquad \tau = \tau_0, \tau_0 q, \tau_0 q^2, \dots$$
    Without a penalty of norm 1 the step is $\theta_\tau - \theta = -\tau g$, and the right side is Armijo's
    $L(\theta) - c\,\tau\,\|g\|^2$. With one, L holds the penalty and g does not: the proximal map takes its place. A
    parameter that takes a share s of the step has $s\tau$ in place of $\tau$ throughout.

    Notes: N1.39, N1.63 (§1.3, §1.4).

    Args:
        loss: computes L, with all penalties, at the present parameters.
        params: the parameters $\theta$, changed in place.
        grads: their gradients g.
        value: L at the start.
        first: the first trial step $\tau_0$.
        strength: lambda of a penalty of norm 1.
        shares: for each parameter its share of the step; 1 by default.
        slope: the constant c.
        shrink: the factor q.
        tries: how many trial steps before giving up, which leaves the parameters unchanged.

    Returns:
        The accepted step size, or 0 when no trial step moved the parameters and decreased the loss.

    >>> x = torch.tensor([2.0])
    >>> armijo(lambda: (x**2).sum() / 2, [x], [x.clone()], 2.0, first=4.0), x.item()
    (1.0, 0.0)
    """
    start = [p.clone() for p in params]
    parts = shares or [1.0] * len(start)
    tau = first
    for _ in range(tries):
        for p, s, g, share in zip(params, start, grads, parts, strict=True):
            moved = s - tau * share * g
            p.copy_(soft_threshold(moved, proximal_threshold(tau * share, strength)) if strength else moved)
        square = sum(
            float((p - s).to(wide(p.device)).square().sum()) / share
            for p, s, share in zip(params, start, parts, strict=True)
        )
        if square == 0:
            break
        if float(loss()) <= value - slope / tau * square:
            return tau
        tau *= shrink
    for p, s in zip(params, start, strict=True):
        p.copy_(s)
    return 0.0
