"""The update, written once: loss, gradient, sums, change. Executors decide how it runs, feeds what it reads.

Everything that an update writes is a tensor that stays where it is, so that a checkpoint is a copy of them, a resume
copies them back, and a recorded update finds them again. Nothing in it waits for the device: sums and the latch for
numbers that are no longer finite stay tensors until somebody asks. Sums have one entry for one network and K for K.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina._types import Tensor
from lamina.functional.losses import penalty
from lamina.training.recipe import Recipe
from lamina.training.runtime import wide
from lamina.training.tasks.feed import Feed

Grads = Sequence[Tensor | None]
"""The gradients of the parameters in their order; None for one that the loss does not depend on."""


@runtime_checkable
class Loss(Protocol):
    """What an update asks of an objective."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of a batch, or one per member."""

    def score(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the sum of the scores of a batch, or one per member."""

    def count(self, targets: Tensor) -> int | Tensor:
        """Return over how many things the loss is a mean; a tensor where only the device knows."""


@runtime_checkable
class _Change(Protocol):
    """Moves the parameters along their gradients."""

    def __call__(self, grads: Grads, loss: Tensor | None, again: Callable[[], Tensor]) -> None:
        """Change the parameters in place."""

    def forget(self) -> None:
        """Forget the gradients of the update before."""

    def state(self) -> dict[str, Tensor]:
        """Give the live tensors by name."""


class Update:
    """One update of a network, or of K.

    Args:
        model: the network, on its device.
        feed: calls the network with a batch, and may keep something of it for the next.
        objective: what is minimized.
        recipe: how.
        change: moves the parameters.
        differentiate: gives outputs, loss and gradients; a loss of None says that they are counted already.
        members: how many networks, one by default.
    """

    def __init__(
        self,
        model: nn.Module,
        feed: Feed,
        objective: Loss,
        recipe: Recipe,
        change: _Change,
        differentiate: "Differentiate | None" = None,
        members: int = 1,
    ) -> None:
        self.model, self.feed, self.objective, self.recipe, self.change = model, feed, objective, recipe, change
        self.differentiate = differentiate or _by_autograd
        self.params = [p for p in model.parameters() if p.requires_grad]
        device = self.params[0].device if self.params else torch.device("cpu")
        self.loss_sum, self.score_sum, self.counted, self.ever = (
            torch.zeros(members, dtype=wide(device), device=device) for _ in range(4)
        )  # `ever` adds all losses since the start: it is not finite once one was not
        self.good = torch.zeros(members, dtype=torch.int64, device=device)  # steps until then
        self.half = recipe.precision == "bfloat16"
        self.products: Any = torch.autocast(device.type, torch.bfloat16) if self.half else nullcontext()
        self.penalized = recipe.penalty.strength > 0 and not recipe.proximal

    def __call__(self, inputs: Tensor, targets: Tensor) -> None:
        """Make one update with a batch."""
        outputs, loss, grads = self.differentiate(self, inputs, targets)
        with torch.no_grad():
            if loss is not None:
                self._count(outputs, targets, loss)
            self.feed.carry()
            self.change(grads, loss, lambda: self.forward(self.model, inputs, targets)[1])

    def _count(self, outputs: Tensor, targets: Tensor, loss: Tensor) -> None:
        count = self.objective.count(targets)
        if isinstance(count, int):
            self.loss_sum.add_(loss, alpha=count)
        else:
            self.loss_sum.add_(loss.to(self.loss_sum.dtype) * count)
            self.counted.add_(count)
        self.score_sum.add_(self.objective.score(outputs, targets))
        self.ever.add_(loss)
        self.good.add_(self.ever.isfinite())

    def forward(self, model: Any, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs of a network and their mean loss."""
        with self.products:
            outputs = self.feed.outputs(model, inputs, targets)
            outputs = outputs.float() if self.half else outputs
            return outputs, self.objective.loss(outputs, targets)

    def penalty(self, params: Any) -> Tensor:
        """Return the penalty of the recipe."""
        return penalty(params, self.recipe.penalty.strength, self.recipe.penalty.norm)

    def begin(self) -> None:
        """Let the sums of an epoch start anew."""
        for total in (self.loss_sum, self.score_sum, self.counted):
            total.zero_()

    def state(self) -> dict[str, Tensor]:
        """Return the live tensors, by name, that a resume must bring back."""
        own = ("loss_sum", "score_sum", "counted", "ever", "good")
        return self.change.state() | {f"step/{name}": getattr(self, name) for name in own}


Differentiate = Callable[[Update, Tensor, Tensor], tuple[Tensor, Tensor | None, Grads]]


def _by_autograd(update: Update, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Grads]:
    """Let torch differentiate; the gradients are left in the parameters, where observers look for them."""
    outputs, loss = update.forward(update.model, inputs, targets)
    total = loss + update.penalty(update.params) if update.penalized else loss
    update.change.forget()
    if not total.requires_grad:
        why = "all parameters are frozen, or an activation such as heaviside blocks the gradient"
        if not torch.is_grad_enabled():
            why = "torch.no_grad() is in force around the training"
        raise ArgumentError(f"no gradient leads from the loss to a parameter: {why}.")
    total.backward()
    return outputs, loss.detach(), [p.grad for p in update.params]
