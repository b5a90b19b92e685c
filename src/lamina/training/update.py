"""The update, written once: loss, gradient, sums, change. Executors decide how it runs, feeds what it reads.

A batch may be computed in pieces of `micro_batch` examples. The gradient of its mean loss is the sum of those of the
pieces, each times its share of what the mean is over, so that clipping, penalty, optimizer and norms see the gradient
of the whole batch. A batch that turns out not to fit in memory is cut in halves until it does; see `training.memory`.
Several ranks compute pieces of a batch at the same time, and add their gradients by one sum; see `training.ranks`.

Everything that an update writes is a tensor that stays where it is, so that a checkpoint is a copy of them, a resume
copies them back, and a recorded update finds them again. Nothing in it waits for the device: sums and the latch for
numbers that are no longer finite stay tensors until somebody asks. Sums have one entry for one network and K for K.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from lamina._errors import ArgumentError, RunError, memory_asked
from lamina._types import Tensor
from lamina.layers.dropout import Dropout, masks_from
from lamina.training._global_norm import norms
from lamina.training.memory import SplitError, is_full, say_split
from lamina.training.ranks import Ranks
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
        self.rounding: Any = torch.autocast(device.type, torch.bfloat16) if self.half else nullcontext()
        self.products: Any = self.rounding
        # Those of K networks are drawn by other functions, for each piece anew.
        alone = differentiate is None
        self._masks = [part for part in model.modules() if isinstance(part, Dropout)] if alone else []
        self._sum = _Sum(self.params, feed.ranks) if feed.ranks.joined and self.params else None

    def __call__(self, inputs: Any, targets: Tensor, whole: Tensor | int | None = None) -> None:
        """Make one update with a batch, in smaller pieces if it does not fit in memory.

        Args:
            inputs: of the batch, or of a rank's part of it.
            targets: of those.
            whole: the targets of the whole batch, or how many examples it has; None if it is all here.
        """
        if self.ever.is_cuda and torch.cuda.is_current_stream_capturing():
            return self._recorded(inputs, targets, whole)
        while True:
            before = [buffer.clone() for buffer in self._buffers]
            try:
                found = self._gradient(inputs, targets, whole)
                break
            except RuntimeError as error:
                self._halve(len(targets), error)
            # After the handler: until its end the error keeps what the pass had computed.
            self._forget(before)
        self._change(inputs, targets, whole, *found)

    def once(self, inputs: Any, targets: Tensor, whole: Tensor | int | None = None) -> None:
        """Make one update with a batch that fits in memory."""
        self._change(inputs, targets, whole, *self._gradient(inputs, targets, whole))

    def _recorded(self, inputs: Any, targets: Tensor, whole: Tensor | int | None) -> None:
        """Make one update while it is being recorded, which cannot go on after a failure."""
        try:
            self.once(inputs, targets, whole)
        except RuntimeError as error:
            self._halve(len(targets), error)
            raise SplitError from error

    def _gradient(
        self, inputs: Any, targets: Tensor, whole: Tensor | int | None
    ) -> tuple[list["Judged"], Tensor | None, Grads]:
        """Return what is to be counted, the mean loss and the gradients of a batch; nothing but buffers is changed.

        Of several ranks each returns its own part of these.
        """
        parts, start = self._parts(targets, whole)
        if len(parts) == 1 and whole is None:
            self.feed.turn(0)
            differentiate = self.by_piece if self.feed.splits else self.differentiate
            outputs, loss, grads = differentiate(self, inputs, targets)
            return [] if loss is None else [self._judged(outputs, targets, loss)], loss, grads
        judged, mean = [], torch.zeros((), device=targets.device)
        total: list[Tensor | None] = []
        for part, share in self._pieces(targets, whole, parts, start):
            outputs, loss, found = self.by_piece(self, _part(inputs, part), targets[part], share)
            assert loss is not None
            if self.feed.ranks.blank:  # another rank has these examples
                found = [None if grad is None else torch.zeros_like(grad) for grad in found]
            else:
                judged.append(self._judged(outputs, targets[part], loss))
                mean = mean + loss * share
            total = [_plus(a, b) for a, b in zip(total, found, strict=True)] if total else list(found)
        if self.by_piece is _by_autograd:
            for parameter, grad in zip(self.params, total, strict=True):
                parameter.grad = grad
        return judged, mean, total

    def _parts(self, targets: Tensor, whole: Tensor | int | None) -> tuple[list[slice], int]:
        """Give the pieces of what is here of a batch, and the place in the whole batch where that begins."""
        if whole is None:
            return self.feed.parts(len(targets)), 0
        size, ranks = whole if isinstance(whole, int) else len(whole), self.feed.ranks
        return self.feed.parts(len(targets), ranks.largest(size)), ranks.own(size).start

    def _pieces(
        self, targets: Tensor, whole: Tensor | int | None, parts: list[slice], start: int
    ) -> Iterator[tuple[slice, float | Tensor]]:
        """Give pieces and their shares, and let each drop the units and hear the words that it would in the whole."""
        ranks, counts = self.feed.ranks, [layer.counter.clone() for layer in self._masks]
        nothing = ranks.blank
        try:
            for part in parts:
                ranks.blank = nothing or part.start == part.stop
                for layer, count in zip(self._masks, counts, strict=True):
                    layer.counter.copy_(count)
                masks_from(self._masks, start + part.start)
                self.feed.turn(start + part.start)
                piece = slice(0, 2) if part.start == part.stop else part
                yield piece, 0.0 if ranks.blank else self._share(targets[piece], targets if whole is None else whole)
        finally:
            masks_from(self._masks, 0)
            ranks.blank = nothing

    def _share(self, part: Tensor, targets: Tensor | int) -> float | Tensor:
        """Return which share of the mean over a batch a part of it has."""
        own, size = self.objective.count(part), targets if isinstance(targets, int) else len(targets)
        whole = size if isinstance(own, int) or isinstance(targets, int) else self.objective.count(targets)
        if isinstance(own, int) and isinstance(whole, int):
            return own / whole
        own, whole = (torch.as_tensor(count).to(wide(self.ever.device)) for count in (own, whole))
        return torch.where(whole > 0, own / whole.clamp(min=1), len(part) / size)

    def _judged(self, outputs: Tensor, targets: Tensor, loss: Tensor) -> "Judged":
        with torch.no_grad():
            return self.objective.count(targets), self.objective.score(outputs, targets), loss

    def _change(
        self,
        inputs: Any,
        targets: Tensor,
        whole: Tensor | int | None,
        judged: "list[Judged]",
        loss: Tensor | None,
        grads: Grads,
    ) -> None:
        """Add up over ranks, count what was judged and move the parameters."""
        with torch.no_grad():
            if self._sum is not None:
                judged, loss, grads = self._sum(judged, loss, grads)
            for each in judged:
                self._count(*each)
            if loss is not None:
                self.ever.add_(loss)
                self.good.add_(self.ever.isfinite())
            self.feed.carry()
            self.change(grads, loss, lambda: self._loss(inputs, targets, whole))

    def _count(self, count: int | Tensor, score: Tensor, loss: Tensor) -> None:
        if isinstance(count, int):
            self.loss_sum.add_(loss, alpha=count)
        else:
            self.loss_sum.add_(loss.to(self.loss_sum.dtype) * count)
            self.counted.add_(count)
        self.score_sum.add_(score)

    def _loss(self, inputs: Any, targets: Tensor, whole: Tensor | int | None) -> Tensor:
        """Return the mean loss of a batch once more."""
        found = []
        for part, share in self._pieces(targets, whole, *self._parts(targets, whole)):
            loss = self.forward(self.model, _part(inputs, part), targets[part])[1]
            found.append(torch.zeros_like(loss) if self.feed.ranks.blank else loss * share)
        total = torch.stack(found).sum(0)
        return total if whole is None else self.feed.ranks.sum_(total)

    def _halve(self, examples: int, error: RuntimeError) -> None:
        """Let pieces have half as many examples from now on, or pass the error on if memory is not what lacks."""
        size = min(self.feed.micro_batch or examples, examples)
        if not is_full(error):
            raise error
        if self.feed.ranks.many and (self.ever.is_cuda or any(norms(self.model))):
            raise RunError(
                f"a rank's part of a batch, {examples} examples, does not fit in memory, and the ranks compute each "
                f"piece together: use micro_batch={(size + 1) // 2} or less, or more ranks{_asked(error)}."
            ) from error
        if size == 1:
            raise RunError(
                "an update with a single example does not fit in memory: use a smaller network, smaller inputs or "
                f"another device{_asked(error)}."
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

    def begin(self) -> None:
        """Let the sums of an epoch start anew."""
        for total in (self.loss_sum, self.score_sum, self.counted):
            total.zero_()

    def state(self) -> dict[str, Tensor]:
        """Return the live tensors, by name, that a resume must bring back."""
        own = ("loss_sum", "score_sum", "counted", "ever", "good")
        return self.change.state() | {f"step/{name}": getattr(self, name) for name in own}


def _asked(error: RuntimeError) -> str:
    """Say how much memory was asked for, where the error tells it."""
    size = memory_asked(error)
    return f" ({size} more were asked for)" if size else ""


def _part(inputs: Any, part: slice) -> Any:
    """Take some examples of a batch, which may have several inputs."""
    return inputs[part] if isinstance(inputs, Tensor) else tuple(each[part] for each in inputs)


Judged = tuple[int | Tensor, Tensor, Tensor]
"""Of a piece: over how many things its loss is a mean, the sum of its scores, and its loss."""


class _Sum:
    """Adds up gradients and what was judged over all ranks by one sum, in tensors that stay where they are."""

    def __init__(self, params: Sequence[Tensor], ranks: Ranks) -> None:
        self.ranks, sizes = ranks, [p.numel() for p in params]
        first = params[0]
        # Behind the gradients: the loss, its sum and that of the scores, what they are over, and who has a gradient.
        tail = 4 + len(params) if ranks.many else 0
        self.flat = torch.zeros(sum(sizes) + tail, dtype=first.dtype, device=first.device)
        *parts, self.tail = self.flat.split([*sizes, tail])
        self.grads = [
            part.as_strided(p.shape, p.stride(), part.storage_offset()) for part, p in zip(parts, params, strict=True)
        ]
        self.params = params

    def __call__(
        self, judged: "list[Judged]", loss: Tensor | None, grads: Grads
    ) -> tuple["list[Judged]", Tensor | None, Grads]:
        there = [grad is not None for grad in grads]
        pairs = [(own, grad) for own, grad in zip(self.grads, grads, strict=True) if grad is not None]
        if len(pairs) < len(self.grads):
            self.flat.zero_()
        if pairs:
            torch._foreach_copy_([own for own, _ in pairs], [grad for _, grad in pairs])
        if self.ranks.many:
            self._write(judged, loss, there)
        self.ranks.sum_(self.flat)
        if self.ranks.many:
            mean, losses, score, count = self.tail[:4].to(wide(self.flat.device)).unbind()
            if not self.flat.is_cuda:  # on a GPU, which would have to wait, all ranks have the gradients of this one
                there = [number > 0 for number in self.tail[4:].tolist()]
            judged, loss = [(count, score, losses / count.clamp(min=1))], mean
        for p, own, is_there in zip(self.params, self.grads, there, strict=True):
            p.grad = own if is_there else None
        return judged, loss, [p.grad for p in self.params]

    def _write(self, judged: "list[Judged]", loss: Tensor | None, there: list[bool]) -> None:
        """Write what was judged behind the gradients."""
        assert loss is not None
        kind, device = wide(self.flat.device), self.flat.device
        sums = torch.zeros(3, dtype=kind, device=device)
        for count, score, mean in judged:
            count = torch.as_tensor(count, device=device).to(kind)
            sums = sums + torch.stack([mean.to(kind) * count, score.to(kind), count])
        self.tail[0], self.tail[1:4] = loss, sums
        self.tail[4:] = torch.tensor(there, dtype=self.flat.dtype) if not self.flat.is_cuda else 1


Differentiate = Callable[..., tuple[Tensor, Tensor | None, Grads]]
"""Takes the update, inputs, targets and, of a piece, its share; gives outputs, loss and gradients of the share."""


def _by_autograd(
    update: Update, inputs: Any, targets: Tensor, share: float | Tensor = 1.0
) -> tuple[Tensor, Tensor, Grads]:
    """Let torch differentiate; the gradients are left in the parameters, where observers look for them."""
    outputs, loss = update.forward(update.model, inputs, targets)
    total = _shared(loss, share)
    update.change.forget()
    if not total.requires_grad:
        why = "all parameters are frozen, or an activation such as heaviside blocks the gradient"
        if not torch.is_grad_enabled():
            why = "torch.no_grad() is in force around the training"
        raise ArgumentError(f"no gradient leads from the loss to a parameter: {why}.")
    total.backward()
    return outputs, loss.detach(), [p.grad for p in update.params]


def _shared(loss: Tensor, share: float | Tensor) -> Tensor:
    """Return a share of a loss: what is differentiated."""
    return loss if isinstance(share, float) and share == 1 else loss * share


def _plus(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Add two gradients; None where the loss does not depend on a parameter."""
    return second if first is None else first if second is None else first + second
