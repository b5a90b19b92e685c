"""How parameters move along their gradients: clipping, the optimizer's step, the proximal step, or a line search."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from lamina._types import Tensor
from lamina.functional.clipping import clip
from lamina.functional.losses import penalty
from lamina.functional.optimizers import proximal_threshold, soft_threshold
from lamina.kernels.ordered import squares_of_members, sum_by_halves
from lamina.training._fused import Fused, FusedAdam, FusedSGD
from lamina.training.line_search import armijo
from lamina.training.recipe import GD, SGD, Adam, MiniBatch, Recipe
from lamina.training.runtime import wide
from lamina.training.update import Grads


class _Moving:
    """Clips, lets an optimizer make its step, and thresholds where the penalty asks for it."""

    def __init__(
        self, params: list[nn.Parameter], recipe: Recipe, optimizer: Fused | torch.optim.Optimizer | None = None
    ) -> None:
        self.params, self.recipe = params, recipe
        self.optimizer = _make_optimizer(recipe, params) if optimizer is None else optimizer
        device = params[0].device if params else torch.device("cpu")
        self.trial = torch.tensor(float(self.rate), dtype=torch.float64)  # line search: the last accepted step size
        self.norms = torch.zeros(2, dtype=wide(device), device=device)  # gradient, relative step
        self.searches = isinstance(recipe.optimizer, GD) and recipe.optimizer.line_search

    @property
    def rate(self) -> float | Tensor:
        """The learning rate of the next step."""
        rate: float | Tensor = self.optimizer.param_groups[0]["lr"]
        return rate

    @rate.setter
    def rate(self, value: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = value

    def forget(self) -> None:
        """Forget the gradients of the update before."""
        self.optimizer.zero_grad(set_to_none=True)

    def __call__(self, grads: Grads, loss: Tensor | None, again: Callable[[], Tensor]) -> None:
        """Change the parameters in place."""
        recipe = self.recipe
        if recipe.clip.limit is not None:
            self._clip(grads, recipe.clip.limit)
        before = [p.clone() for p in self.params] if recipe.stopping.measures else []
        if self.searches and loss is not None:
            self._search(grads, loss, again)
        else:
            self.optimizer.step()
            if recipe.proximal:
                momentum = getattr(recipe.optimizer, "momentum", 0.0)
                threshold = proximal_threshold(self.rate, recipe.penalty.strength, momentum)
                for p in self.params:
                    p.copy_(soft_threshold(p, threshold))
        if before:
            self.norms.copy_(torch.stack(measured(_whole(self.params, grads), before, self.params)))

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
        self.trial.fill_(armijo(lambda: whole(again()), self.params, grads, float(whole(loss)), first, strength))

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
            saved = self.optimizer.state_dict()
            self.optimizer.load_state_dict({**saved, "state": {**saved["state"], **missing}})


def _whole(params: Sequence[Tensor], grads: Grads) -> list[Tensor]:
    return [torch.zeros_like(p) if g is None else g for p, g in zip(params, grads, strict=True)]


def _make_optimizer(recipe: Recipe, params: list[nn.Parameter]) -> Fused | torch.optim.Optimizer:
    """Make the optimizer of a recipe; tests bind it to `functional.optimizers` and to `torch.optim`."""
    record: Any = recipe.optimizer
    if isinstance(record, Adam):
        return FusedAdam(params, record.learning_rate, (record.beta1, record.beta2), record.eps)
    if isinstance(record, MiniBatch):
        return FusedSGD(params, record.learning_rate, record.momentum, record.nesterov)
    if isinstance(record, GD | SGD):
        return FusedSGD(params, record.learning_rate)
    made: torch.optim.Optimizer = record(params)
    return made


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
