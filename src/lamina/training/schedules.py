"""Turn a `Schedule` into one learning rate a step."""

import math

import torch

from lamina._types import Float, Tensor
from lamina.training.recipe import Schedule


def rates(schedule: Schedule, learning_rate: float, steps: int, steps_per_epoch: int) -> Float[Tensor, " step"]:
    r"""Return the learning rate $\tau_k$ of every step k = 0, ..., K-1, in float64.

    The rate rises linearly during the first `warmup` share of the steps, then follows its kind:
    constant, cosine $\tau(f + (1-f)\,(1+\cos\pi p)/2)$ with p the share of the remaining steps, or $\tau\,q^{e}$
    with e the number of drops so far.

    Notes: N1.40 (§1.3).
    Corrects: E16, rates mostly fall; warm-up is the rise the notes speak of.

    Args:
        schedule: what the rate does.
        learning_rate: the rate $\tau$ that the schedule scales.
        steps: the number K of all steps.
        steps_per_epoch: how many of them make an epoch.

    >>> rates(Schedule("warmup", warmup=0.5), 1.0, 4, 4).tolist()
    [0.5, 1.0, 1.0, 1.0]
    """
    warmup = schedule.warmup or (0.3 if schedule.kind == "one-cycle" else 0.1 if schedule.kind == "warmup" else 0.0)
    rising = round(warmup * steps)
    k = torch.arange(steps, dtype=torch.float64)
    progress = ((k - rising + 1) / max(1, steps - rising)).clamp(0, 1)
    share = torch.ones_like(k)
    if schedule.kind in ("cosine", "one-cycle"):
        share = schedule.final + (1 - schedule.final) * (1 + torch.cos(math.pi * progress)) / 2
    elif schedule.kind == "step":
        share = schedule.factor ** ((k // steps_per_epoch) // schedule.every)
    return learning_rate * torch.where(k < rising, (k + 1) / max(1, rising), share)
