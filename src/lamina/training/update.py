"""The update, written once: loss, gradient, sums, change. Executors decide how it runs, feeds what it reads.

A batch may be computed in pieces of `micro_batch` examples. The gradient of its mean loss is the sum of those of the
pieces, each times its share of what the mean is over, so that clipping, penalty, optimizer and norms see the gradient
of the whole batch. A batch that turns out not to fit in memory is cut in halves until it does; see `training.memory`.

Everything that an update writes is a tensor that stays where it is, so that a checkpoint is a copy of them, a resume
copies them back, and a recorded update finds them again. Nothing in it waits for the device: sums and the latch for
numbers that are no longer finite stay tensors until somebody asks. Sums have one entry for one network and K for K.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from lamina._errors import ArgumentError, RunError
from lamina._types import Tensor
from lamina.functional.losses import penalty
from lamina.training.memory import SplitError, is_full, say_split
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
        differentiate: gives outputs, loss and gradients of a share of what is minimized. Something faster may take its
            place for whole batches; a loss of None says that they are counted already.
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
        self.differentiate = self.by_piece = differentiate or _by_autograd
        self.params, self._buffers = [p for p in model.parameters() if p.requires_grad], list(model.buffers())
        device = self.params[0].device if self.params else torch.device("cpu")
        self.loss_sum, self.score_sum, self.counted, self.ever = (
            torch.zeros(members, dtype=wide(device), device=device) for _ in range(4)
        )  # `ever` adds all losses since the start: it is not finite once one was not
        self.good = torch.zeros(members, dtype=torch.int64, device=device)  # steps until then
        self.half = recipe.precision == "bfloat16"
        self.products: Any = torch.autocast(device.type, torch.bfloat16) if self.half else nullcontext()
        self.penalized = recipe.penalty.strength > 0 and not recipe.proximal

    def __call__(self, inputs: Any, targets: Tensor) -> None:
        """Make one update with a batch, in smaller pieces if it does not fit in memory."""
        if self.ever.is_cuda and torch.cuda.is_current_stream_capturing():
            return self._recorded(inputs, targets)
        while True:
            before = [buffer.clone() for buffer in self._buffers]
            try:
                found = self._gradient(inputs, targets)
                break
            except RuntimeError as error:
                self._halve(len(targets), error)
            # After the handler: until its end the error keeps what the pass had computed.
            self._forget(before)
        self._change(inputs, targets, *found)

    def once(self, inputs: Any, targets: Tensor) -> None:
        """Make one update with a batch that fits in memory."""
        self._change(inputs, targets, *self._gradient(inputs, targets))

    def _recorded(self, inputs: Any, targets: Tensor) -> None:
        """Make one update while it is being recorded, which cannot go on after a failure."""
        try:
            self.once(inputs, targets)
        except RuntimeError as error:
            self._halve(len(targets), error)
            raise SplitError from error

    def _gradient(self, inputs: Any, targets: Tensor) -> tuple[list["Judged"], Tensor | None, Grads]:
        """Return what is to be counted, the mean loss and the gradients of a batch; nothing but buffers is changed."""
        parts = self.feed.parts(len(targets))
        if len(parts) == 1:
            self.feed.turn(0)
            differentiate = self.by_piece if self.feed.splits else self.differentiate
            outputs, loss, grads = differentiate(self, inputs, targets)
            return [] if loss is None else [self._judged(outputs, targets, loss)], loss, grads
        judged, whole = [], torch.zeros((), device=targets.device)
        total: list[Tensor | None] = []
        for part in parts:
            self.feed.turn(part.start)
            share = self._share(targets[part], targets)
            outputs, loss, found = self.by_piece(self, _part(inputs, part), targets[part], share)
            assert loss is not None
            judged.append(self._judged(outputs, targets[part], loss))
            whole = whole + loss * share
            total = [_plus(a, b) for a, b in zip(total, found, strict=True)] if total else list(found)
        if self.by_piece is _by_autograd:
            for parameter, grad in zip(self.params, total, strict=True):
                parameter.grad = grad
        return judged, whole, total

    def _share(self, part: Tensor, targets: Tensor) -> float | Tensor:
        """Return which share of the mean over a batch a part of it has."""
        own, whole = self.objective.count(part), self.objective.count(targets)
        if isinstance(own, int) and isinstance(whole, int):
            return own / whole
        own, whole = (torch.as_tensor(count).to(wide(self.ever.device)) for count in (own, whole))
        return torch.where(whole > 0, own / whole.clamp(min=1), len(part) / len(targets))

    def _judged(self, outputs: Tensor, targets: Tensor, loss: Tensor) -> "Judged":
        with torch.no_grad():
            return self.objective.count(targets), self.objective.score(outputs, targets), loss

    def _change(self, inputs: Any, targets: Tensor, judged: "list[Judged]", loss: Tensor | None, grads: Grads) -> None:
        """Count what was judged and move the parameters."""
        with torch.no_grad():
            for each in judged:
                self._count(*each)
            if loss is not None:
                self.ever.add_(loss)
                self.good.add_(self.ever.isfinite())
            self.feed.carry()
            self.change(grads, loss, lambda: self._loss(inputs, targets))

    def _count(self, count: int | Tensor, score: Tensor, loss: Tensor) -> None:
        if isinstance(count, int):
            self.loss_sum.add_(loss, alpha=count)
        else:
            self.loss_sum.add_(loss.to(self.loss_sum.dtype) * count)
            self.counted.add_(count)
        self.score_sum.add_(score)

    def _loss(self, inputs: Any, targets: Tensor) -> Tensor:
        """Return the mean loss of a batch once more."""
        found = []
        for part in self.feed.parts(len(targets)):
            self.feed.turn(part.start)
            loss = self.forward(self.model, _part(inputs, part), targets[part])[1]
            found.append(loss * self._share(targets[part], targets))
        return torch.stack(found).sum(0)

    def _halve(self, examples: int, error: RuntimeError) -> None:
        """Let pieces have half as many examples from now on, or pass the error on if memory is not what lacks."""
        size = min(self.feed.micro_batch or examples, examples)
        if not is_full(error):
            raise error
        if size == 1:
            raise RunError(
                "an update with a single example does not fit in memory: use a smaller network, smaller inputs or "
                f"another device ({str(error).splitlines()[0]})."
            ) from error
        self.feed.micro_batch = (size + 1) // 2
        say_split(self.model, max(examples, self.feed.batch_size), self.feed.micro_batch)

    @torch.no_grad()
    def _forget(self, before: list[Tensor]) -> None:
        """Leave nothing of an attempt that failed."""
        for buffer, value in zip(self._buffers, before, strict=True):
            buffer.copy_(value)
        self.change.forget()
        if self.ever.is_cuda:
            torch.cuda.empty_cache()

    def forward(self, model: Any, inputs: Any, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs of a network and their mean loss."""
        with self.products:
            outputs = self.feed.outputs(model, inputs, targets)
            outputs = outputs.float() if self.half else outputs
            return outputs, self.objective.loss(outputs, targets)

    def penalty(self, params: Any) -> Tensor:
        """Return the penalty of the recipe."""
        return penalty(params, self.recipe.penalty.strength, self.recipe.penalty.norm)

    def minimized(self, loss: Tensor, params: Any, share: float | Tensor) -> Tensor:
        """Return a share of the loss and the penalty: what is differentiated."""
        total = loss + self.penalty(params) if self.penalized else loss
        return total if isinstance(share, float) and share == 1 else total * share

    def begin(self) -> None:
        """Let the sums of an epoch start anew."""
        for total in (self.loss_sum, self.score_sum, self.counted):
            total.zero_()

    def state(self) -> dict[str, Tensor]:
        """Return the live tensors, by name, that a resume must bring back."""
        own = ("loss_sum", "score_sum", "counted", "ever", "good")
        return self.change.state() | {f"step/{name}": getattr(self, name) for name in own}


def _part(inputs: Any, part: slice) -> Any:
    """Take some examples of a batch, which may have several inputs."""
    return inputs[part] if isinstance(inputs, Tensor) else tuple(each[part] for each in inputs)


Judged = tuple[int | Tensor, Tensor, Tensor]
"""Of a piece: over how many things its loss is a mean, the sum of its scores, and its loss."""

Differentiate = Callable[..., tuple[Tensor, Tensor | None, Grads]]
"""Takes the update, inputs, targets and, of a piece, its share; gives outputs, loss and gradients of the share."""


def _by_autograd(
    update: Update, inputs: Any, targets: Tensor, share: float | Tensor = 1.0
) -> tuple[Tensor, Tensor, Grads]:
    """Let torch differentiate; the gradients are left in the parameters, where observers look for them."""
    outputs, loss = update.forward(update.model, inputs, targets)
    total = update.minimized(loss, update.params, share)
    update.change.forget()
    if not total.requires_grad:
        why = "all parameters are frozen, or an activation such as heaviside blocks the gradient"
        if not torch.is_grad_enabled():
            why = "torch.no_grad() is in force around the training"
        raise ArgumentError(f"no gradient leads from the loss to a parameter: {why}.")
    total.backward()
    return outputs, loss.detach(), [p.grad for p in update.params]


def _plus(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Add two gradients; None where the loss does not depend on a parameter."""
    return second if first is None else first if second is None else first + second
