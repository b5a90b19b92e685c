"""How parameters move along their gradients: clipping, the optimizer's step, the proximal step, or a line search."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import nn

from lamina._types import Tensor
from lamina.functional.clipping import clip
from lamina.functional.losses import penalty, penalty_slope
from lamina.functional.optimizers import proximal_threshold, soft_threshold
from lamina.kernels.ordered import squares_of_members, sum_by_halves
from lamina.training import _torch_optimizers as torchs
from lamina.training._fused import Fused, FusedAdam, FusedRMSprop, FusedSGD
from lamina.training.line_search import armijo
from lamina.training.recipe import GD, SGD, Adam, AdamW, MiniBatch, Recipe, RMSprop
from lamina.training.runtime import wide
from lamina.training.update import Grads


class _Moving:
    """Adds the penalty's gradient, clips, lets an optimizer make its step, and thresholds where that is asked for."""

    def __init__(
        self,
        params: list[nn.Parameter],
        recipe: Recipe,
        optimizer: Fused | torch.optim.Optimizer | None = None,
        names: Sequence[str] = (),
        shares: Sequence[float] = (),
    ) -> None:
        self.params, self.recipe = params, recipe
        self.shares = list(shares) or [1.0] * len(params)  # of the learning rate; see `freezing.rate_shares`
        self.optimizer = _make_optimizer(recipe, params, names) if optimizer is None else optimizer
        rates = [group["lr"] for group in self.optimizer.param_groups]
        self._of_groups = [1.0 if rate is self.rate or not self.rate else float(rate / self.rate) for rate in rates]
        device = params[0].device if params else torch.device("cpu")
        self.trial = torch.tensor(float(self.rate), dtype=torch.float64)  # line search: the last accepted step size
        self.norms = torch.zeros(2, dtype=wide(device), device=device)  # gradient, relative step
        self.searches = isinstance(recipe.optimizer, GD) and recipe.optimizer.line_search

    @property
    def rate(self) -> float | Tensor:
        """The learning rate of the next step, of several parameter groups the largest one."""
        first, *others = self.optimizer.param_groups
        rate: float | Tensor = max([first, *others], key=lambda group: group["lr"])["lr"] if others else first["lr"]
        return rate

    @rate.setter
    def rate(self, value: float) -> None:
        for group, share in zip(self.optimizer.param_groups, self._of_groups, strict=True):
            group["lr"] = value * share

    def forget(self) -> None:
        """Forget the gradients of the update before."""
        for p in self.params:  # also of those that an optimizer of the caller's leaves out
            p.grad = None

    def __call__(self, grads: Grads, loss: Tensor | None, again: Callable[[], Tensor]) -> None:
        """Change the parameters in place."""
        recipe = self.recipe
        if recipe.penalized:
            grads = self._penalized(grads)
        if recipe.clip.limit is not None:
            self._clip(grads, recipe.clip.limit)
        slowed = min(self.shares, default=1.0) < 1
        before = [p.clone() for p in self.params] if recipe.stopping.measures or slowed else []
        if self.searches and loss is not None:
            self._search(grads, loss, again)
        else:
            self.optimizer.step()
            if slowed:
                for p, start, share in zip(self.params, before, self.shares, strict=True):
                    p.copy_(partway(start, p, share))
            if recipe.proximal:
                momentum = getattr(recipe.optimizer, "momentum", 0.0)
                threshold = proximal_threshold(self.rate, recipe.penalty.strength, momentum)
                for p, share in zip(self.params, self.shares, strict=True):
                    p.copy_(soft_threshold(p, threshold * share))
        if recipe.stopping.measures:
            self.norms.copy_(torch.stack(measured(_whole(self.params, grads), before, self.params)))

    def _penalized(self, grads: Grads) -> Grads:
        """Add the gradient of the penalty to those of the loss, where these lie."""
        strength, norm = self.recipe.penalty.strength, self.recipe.penalty.norm
        for p, grad in zip(self.params, grads, strict=True):
            if grad is None:  # the loss does not depend on it, but the penalty does
                p.grad = torch.zeros_like(p)
        whole: list[Tensor] = [p.grad for p in self.params if p.grad is not None]
        if norm == 2:  # without a copy of all parameters
            torch._foreach_add_(whole, cast(list[Tensor], self.params), alpha=2 * strength)
        else:
            torch._foreach_add_(whole, [penalty_slope(p, norm) for p in self.params], alpha=strength)
        return whole

    def _clip(self, grads: Grads, limit: float) -> None:
        named = {str(i): g for i, g in enumerate(grads) if g is not None}
        for name, clipped in clip(named, limit, self.recipe.clip.kind).items():
            named[name].copy_(clipped)

    def _search(self, grads: Grads, loss: Tensor, again: Callable[[], Tensor]) -> None:
        recipe = self.recipe

        def whole(loss: Tensor) -> Tensor:
            strength = recipe.penalty.strength
            return loss + penalty(self.params, strength, recipe.penalty.norm) if strength else loss

        first = 2 * float(self.trial) or float(self.rate)  # where no step was accepted, the next search begins anew
        strength = recipe.penalty.strength if recipe.proximal else 0.0
        grads = _whole(self.params, grads)
        start = float(whole(loss))
        self.trial.fill_(armijo(lambda: whole(again()), self.params, grads, start, first, strength, self.shares))

    def state(self) -> dict[str, Tensor]:
        """Give the live tensors by name."""
        tensors = {
            f"optimizer/{index}/{name}": value
            for index, p in enumerate(self.params)
            for name, value in self.optimizer.state.get(p, {}).items()
            if isinstance(value, Tensor)
        }
        return tensors | {"step/trial": self.trial, "step/norms": self.norms}

    def adopt(self, missing: dict[int, dict[str, Tensor]]) -> None:
        """Give an optimizer of torch, which makes its state in its first step, a saved one."""
        if missing and isinstance(self.optimizer, torch.optim.Optimizer):
            # torch counts parameters in the order of their groups
            ordered = [id(p) for group in self.optimizer.param_groups for p in group["params"]]
            state = {ordered.index(id(self.params[index])): values for index, values in missing.items()}
            saved = self.optimizer.state_dict()
            self.optimizer.load_state_dict({**saved, "state": {**saved["state"], **state}})


def partway(before: Tensor, after: Tensor, share: float | Tensor) -> Tensor:
    """Go a share of the way from one tensor to another, as an optimizer with that share of the rate does.

    The steps of gradient descent, momentum and Adam are the rate times something that does not depend on it, and so is
    that of every optimizer whose state holds gradients only.

    >>> partway(torch.tensor([1.0]), torch.tensor([3.0]), 0.25).tolist()
    [1.5]
    """
    return after if isinstance(share, float) and share == 1 else torch.lerp(before, after, share)


def _whole(params: Sequence[Tensor], grads: Grads) -> list[Tensor]:
    return [torch.zeros_like(p) if g is None else g for p, g in zip(params, grads, strict=True)]


def _make_optimizer(
    recipe: Recipe, params: list[nn.Parameter], names: Sequence[str] = ()
) -> Fused | torch.optim.Optimizer:
    """Make the optimizer of a recipe; tests bind it to `functional.optimizers` and to `torch.optim`."""
    record: Any = recipe.optimizer
    if isinstance(record, Adam | AdamW):
        decay = getattr(record, "weight_decay", 0.0)
        return FusedAdam(params, record.learning_rate, (record.beta1, record.beta2), record.eps, decay)
    if isinstance(record, RMSprop):
        return FusedRMSprop(params, record.learning_rate, record.alpha, record.eps, record.momentum)
    if isinstance(record, MiniBatch):
        return FusedSGD(params, record.learning_rate, record.momentum, record.nesterov)
    if isinstance(record, GD | SGD):
        return FusedSGD(params, record.learning_rate)
    return torchs.make(record, params, names)


def measured(
    grads: Sequence[Tensor], before: Sequence[Tensor], after: Sequence[Tensor], members: bool = False
) -> list[Tensor]:
    """Return the norm of the gradient and that of the step relative to the parameters, which stopping rules ask for.

    Args:
        grads: the gradients.
        before: the parameters before the step.
        after: those after it.
        members: whether the first axis of all tensors counts members, each of which gets its own norms.
    """

    def norm(tensors: Sequence[Tensor]) -> Tensor:
        found = [squares_of_members(t) if members else t.to(wide(t.device)).square().sum() for t in tensors]
        return sum_by_halves(torch.stack(found)).sqrt()

    moved = norm([p - b for p, b in zip(after, before, strict=True)])
    there = norm(before)
    return [norm(grads), moved / there.clamp(min=torch.finfo(there.dtype).tiny)]
