"""One update of all parameters of a population, each member with its own numbers; changed in place.

`reference` is the specification: penalty, clipping, optimizer and proximal step by the functions of `functional`, then
only the members that still live are written. The fast forms compute the same in fewer passes over memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from lamina._types import Bool, Float, Int, Tensor
from lamina.functional import optimizers
from lamina.functional.clipping import clip
from lamina.functional.losses import penalty_slope
from lamina.functional.optimizers import Params, State, per_member, proximal_threshold, soft_threshold
from lamina.training.recipe import GD, SGD, Adam, AdamW, MiniBatch, Recipe, RMSprop, rates


@dataclass(frozen=True)
class Numbers:
    """The numbers of all members, vectors in float64, and the kinds that they share.

    Args:
        rate: the learning rate; what a plateau leaves of it is written here.
        share: how much of it each step takes, [step, members or 1]; the last row holds for all later steps.
        optimizer: a row of `KINDS`.
        momentum: mu, for momentum, nesterov and RMSprop.
        beta1: decay of the first moment, for Adam.
        beta2: decay of the second moment.
        eps: epsilon.
        decay: that of the weights, for AdamW.
        penalty: lambda; None when no member has one.
        norm: which norm the penalty has.
        proximal: whether the penalty acts by a proximal step.
        limit: where gradients are clipped, infinite for no clipping; None when no member clips.
        clip: how: "global", "tensor" or "value".
        stage: the rate of the first stage as a share of the learning rate; None when all stages of all members have
            the same.
    """

    rate: Tensor
    share: Tensor
    optimizer: str
    momentum: Tensor
    beta1: Tensor
    beta2: Tensor
    eps: Tensor
    decay: Tensor
    penalty: Tensor | None = None
    norm: int = 2
    proximal: bool = False
    limit: Tensor | None = None
    clip: str = "global"
    stage: Tensor | None = None

    def select(self, keep: Tensor) -> "Numbers":
        """Keep some members."""
        share = self.share if self.share.shape[1] == 1 else self.share[:, keep]
        own: dict[str, Any] = {
            name: value[keep] for name, value in vars(self).items() if isinstance(value, Tensor) and name != "share"
        }
        return replace(self, share=share, **own)

    def now(self, step: Int[Tensor, ""]) -> Float[Tensor, " members"]:
        """Give the learning rates after `step` updates; no host is asked."""
        return self.rate * self.share.index_select(0, step.clamp(max=len(self.share) - 1).reshape(1))[0]


def _numbers_of(recipes: Sequence[Recipe], device: torch.device | str, batches: int = 1) -> Numbers:
    """Collect the numbers of recipes that have the same kinds."""

    def vector(values: Sequence[float]) -> Tensor:
        return torch.tensor(list(values), dtype=torch.float64, device=device)

    records: list[Any] = [recipe.optimizer for recipe in recipes]
    first = records[0]
    momentum = [getattr(record, "momentum", 0.0) for record in records]
    own = isinstance(first, Adam | AdamW | RMSprop)
    kind = first.name if own else "momentum" if any(momentum) else "gd"
    if kind == "momentum" and first.nesterov:
        kind = "nesterov"
    strengths = [recipe.penalty.strength for recipe in recipes]
    limits = [recipe.clip.limit for recipe in recipes]
    norm = recipes[0].penalty.norm
    return Numbers(
        vector([record.learning_rate for record in records]),
        _shares(recipes, batches).to(device),
        kind,
        vector(momentum),
        vector([getattr(record, "beta1", 0.9) for record in records]),
        vector([getattr(record, "alpha", getattr(record, "beta2", 0.999)) for record in records]),
        vector([getattr(record, "eps", 1e-8) for record in records]),
        vector([getattr(record, "weight_decay", 0.0) for record in records]),
        vector(strengths) if any(strengths) else None,
        norm,
        norm == 1 and isinstance(first, GD | SGD | MiniBatch),
        None if all(limit is None for limit in limits) else vector([limit or float("inf") for limit in limits]),
        recipes[0].clip.kind,
        None if all(r.stage_rate == 1 for r in recipes) else vector([recipe.stage_rate for recipe in recipes]),
    )


def _shares(recipes: Sequence[Recipe], batches: int) -> Tensor:
    """Give the share of the learning rate that each step takes: one row and one column if all are constant."""
    schedules = [recipe.schedule for recipe in recipes]
    if all(schedule.kind in ("constant", "plateau") and not schedule.warmup for schedule in schedules):
        return torch.ones(1, 1, dtype=torch.float64)
    different = list(dict.fromkeys(schedules))
    steps = recipes[0].epochs * batches
    shares = torch.stack([rates(schedule, 1.0, steps, batches) for schedule in different], 1)
    return shares if len(different) == 1 else shares[:, [different.index(schedule) for schedule in schedules]]


MOMENTS = {"gd": 0, "momentum": 1, "nesterov": 1, "adam": 2, "adamw": 2, "rmsprop": 2}
"""How many averages of gradients an optimizer keeps."""

KINDS = tuple(MOMENTS)
"""The optimizers in the order in which `update.cu` counts them."""


def _effective_gradients(params: Params, grads: Params, numbers: Numbers) -> Params:
    """Add the penalty's gradient and clip: what the optimizer sees and a history records."""
    if numbers.penalty is not None and not numbers.proximal:
        slopes = {name: penalty_slope(p, numbers.norm) for name, p in params.items()}
        grads = {name: g + slopes[name] * per_member(numbers.penalty, g) for name, g in grads.items()}
    return grads if numbers.limit is None else clip(grads, numbers.limit, numbers.clip)


def moved(
    params: Params, grads: Params, state: State, rate: Float[Tensor, " members"], numbers: Numbers
) -> tuple[Params, State]:
    """Make one step of the optimizer and the proximal step, without writing anything."""
    if numbers.optimizer == "adam":
        hyper = optimizers.Adam(rate, numbers.beta1, numbers.beta2, numbers.eps)
        new, state = optimizers.adam(params, grads, state, hyper)
    elif numbers.optimizer == "adamw":
        decayed = optimizers.AdamW(rate, numbers.beta1, numbers.beta2, numbers.eps, numbers.decay)
        new, state = optimizers.adamw(params, grads, state, decayed)
    elif numbers.optimizer == "rmsprop":
        scaled = optimizers.RMSprop(rate, numbers.beta2, numbers.eps, numbers.momentum)
        new, state = optimizers.rmsprop(params, grads, state, scaled)
    elif numbers.optimizer == "gd":
        new, state = optimizers.gradient_descent(params, grads, state, optimizers.GradientDescent(rate))
    else:
        new, state = optimizers.momentum(params, grads, state, optimizers.Momentum(rate, numbers.momentum))
        if numbers.optimizer == "nesterov":
            (v,) = state.moments
            ahead = {name: g + v[name] * per_member(numbers.momentum, g) for name, g in grads.items()}
            new, _ = optimizers.gradient_descent(params, ahead, State(state.step, ()), optimizers.GradientDescent(rate))
    if numbers.proximal and numbers.penalty is not None:
        threshold = proximal_threshold(rate, numbers.penalty, numbers.momentum)
        new = {name: soft_threshold(p, threshold) for name, p in new.items()}
    return new, state


@torch.no_grad()
def _reference(
    params: Params,
    grads: Params,
    state: State,
    alive: Bool[Tensor, " members"],
    numbers: Numbers,
) -> Params:
    """Update the parameters and the state of the living members in place."""
    grads = _effective_gradients(params, grads, numbers)
    new, after = moved(params, grads, state, numbers.now(state.step), numbers)
    for before, values in ((params, new), *zip(state.moments, after.moments, strict=True)):
        for name, tensor in before.items():
            # Chosen, not multiplied by zero: a member that is no longer finite stays as it was.
            kept = alive.reshape(-1, *(1,) * (tensor.ndim - 1))
            tensor.copy_(torch.where(kept, values[name], tensor))
    state.step.add_(1)
    return grads


ROWS = ("rate", "first", "second", "rest", "root", "eps", "slope", "threshold", "limit", "decay")
"""The rows of the table of numbers that the compiled forms read, as in `update.cu`."""


class Table:
    """The numbers of all members as one tensor [row, member] in the parameters' precision; `fill` writes the rest.

    Args:
        numbers: the members' numbers.
        dtype: the precision.
    """

    def __init__(self, numbers: Numbers, dtype: torch.dtype) -> None:
        self.numbers = numbers
        adam, zeros = numbers.optimizer in ("adam", "adamw"), torch.zeros_like(numbers.momentum)
        penalty = zeros if numbers.penalty is None else numbers.penalty
        rows = {
            "first": 1 - numbers.beta1 if adam else numbers.momentum,
            "second": numbers.beta2,
            "rest": 1 - numbers.beta2,
            "eps": numbers.eps,
            "slope": 2 * penalty if numbers.norm == 2 else penalty,
            "limit": zeros if numbers.limit is None else numbers.limit,
        }
        self.values = torch.stack([rows.get(name, zeros) for name in ROWS]).to(dtype)
        self._pull = torch.as_tensor(proximal_threshold(1.0, penalty, numbers.momentum))

    def arguments(self, step: Tensor) -> tuple[Tensor, ...]:
        """Give the tensors that `fill` takes."""
        n = self.numbers
        return self.values, n.rate, n.share, step, n.beta1, n.beta2, self._pull, n.decay

    @property
    def definitions(self) -> dict[str, int]:
        """The macros of `update.cu`."""
        numbers = self.numbers
        penalized = numbers.penalty is not None and not numbers.proximal
        by_value = numbers.clip == "value"
        return {
            "DOUBLE": int(self.values.dtype == torch.float64),
            "KIND": KINDS.index(numbers.optimizer),
            "NORM": numbers.norm if penalized else 0,
            "CLIP": 0 if numbers.limit is None else 2 if by_value else 1,
            "PROXIMAL": int(numbers.proximal and numbers.penalty is not None),
        }


class Update:
    """The update of one population as the readable reference computes it; `make_update` chooses a faster form.

    Args:
        params: stacked parameters by name, changed in place.
        state: count and moments, changed in place.
        numbers: the members' numbers.
    """

    kind = "reference"

    def __init__(self, params: Params, state: State, numbers: Numbers) -> None:
        self.params, self.state, self.numbers = params, state, numbers

    def __call__(self, grads: Params, alive: Tensor, measured: bool) -> Params:
        """Update the living members.

        Args:
            grads: gradients of the loss alone; they may be overwritten.
            alive: whose parameters are changed.
            measured: whether the gradients that the optimizer saw are wanted.

        Returns:
            These gradients.
        """
        return _reference(self.params, grads, self.state, alive, self.numbers)
