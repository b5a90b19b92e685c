"""Backtracking line search for gradient descent."""

from collections.abc import Callable, Sequence

import torch

from lamina._types import Tensor


@torch.no_grad()
def armijo(
    loss: Callable[[], Tensor],
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    value: float,
    first: float,
    slope: float = 1e-4,
    shrink: float = 0.5,
    tries: int = 60,
) -> float:
    r"""Move the parameters along the negative gradient by the first trial step that satisfies Armijo's condition.

    $$L(\theta - \tau g) \le L(\theta) - c\,\tau\,\|g\|^2, \qquad \tau = \tau_0, \tau_0 q, \tau_0 q^2, \dots$$

    Notes: N1.39 (§1.3).

    Args:
        loss: computes L at the present parameters.
        params: the parameters $\theta$, changed in place.
        grads: their gradients g.
        value: L at the start.
        first: the first trial step $\tau_0$.
        slope: the constant c.
        shrink: the factor q.
        tries: how many trial steps before giving up, which leaves the parameters unchanged.

    Returns:
        The accepted step size, or 0 when no trial step decreased the loss.

    >>> x = torch.tensor([2.0])
    >>> armijo(lambda: (x**2).sum() / 2, [x], [x.clone()], 2.0, first=4.0), x.item()
    (1.0, 0.0)
    """
    start = [p.clone() for p in params]
    square = sum(float(g.double().square().sum()) for g in grads)
    tau = first
    for _ in range(tries):
        for p, s, g in zip(params, start, grads, strict=True):
            p.copy_(s - tau * g)
        if float(loss()) <= value - slope * tau * square:
            return tau
        tau *= shrink
    for p, s in zip(params, start, strict=True):
        p.copy_(s)
    return 0.0
