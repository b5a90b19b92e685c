"""The loss and the score of every member of a population, as `training.objective.Objective` computes them for one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn.functional import log_softmax

from lamina._types import Float, Num, Tensor
from lamina.data.mixing import parted
from lamina.functional.losses import focal
from lamina.kernels.ordered import sum_by_halves
from lamina.training.objective import Objective, label_losses


class _Sum(torch.autograd.Function):
    """A sum over the first axis that does not depend on how many members lie on the second."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        ctx.shape = values.shape
        return sum_by_halves(values)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0].expand(ctx.shape)


@dataclass(frozen=True)
class Losses:
    """What each member minimizes, a mean over the batch, and what is reported, a sum over it.

    >>> import torch
    >>> outputs = torch.zeros(4, 2, 10)
    >>> Losses("nll").loss(outputs, torch.zeros(4, 1, dtype=torch.int64)).shape
    torch.Size([2])
    """

    kind: str
    weights: Tensor | None = None
    weighted: bool = False
    scale: float = 1.0
    error: Callable[[Tensor, Tensor], Tensor] | None = None
    gamma: float = 0.0
    smoothing: float = 0.0
    mixed: tuple[int, ...] | None = None

    @property
    def single(self) -> "Losses":
        """The same losses for examples that are not mixed."""
        return self if self.mixed is None else replace(self, mixed=None)

    def _of_both(self, judge: Callable[[Tensor, Tensor], Tensor], outputs: Tensor, targets: Tensor) -> Tensor:
        """Mix what a function says of the outputs with either target, as `Objective` does."""
        first, second, share = parted(targets, self.mixed or (), axes=2)
        if self.kind == "nll" and not self.weighted:
            first, second = first.long(), second.long()
        return share * judge(outputs, first) + (1 - share) * judge(outputs, second)

    def select(self, keep: Tensor) -> "Losses":
        """Keep some members."""
        own = self.weights is not None and len(self.weights) > 1
        weights = self.weights[keep.to(self.weights.device)] if own else self.weights  # type: ignore[union-attr, index]
        return replace(self, weights=weights)

    def loss(
        self, outputs: Float[Tensor, "batch members ..."], targets: Num[Tensor, "batch one_or_members ..."]
    ) -> Float[Tensor, " members"]:
        """Return the mean loss of each member."""
        if self.mixed is not None:
            return self._of_both(self.single.loss, outputs, targets)
        batch, members = outputs.shape[:2]
        if self.kind == "mse" and self.error is None:
            return self.score(outputs, targets) / (2 * batch)
        targets, weight = self._apart(targets)
        if self.error is not None:
            answers = _answers(outputs)
            each = self.error(answers, _answers(targets).to(outputs.dtype).expand_as(answers))
        elif self.kind == "bce":
            each = self._of_labels(outputs, targets)
        else:
            targets = targets.reshape(batch, -1)
            # Members and classes before the batch, as a dense last layer leaves them in memory.
            places = targets.mT[:, None].expand(members, 1, batch)
            logarithms = log_softmax(outputs.reshape(batch, members, -1).permute(1, 2, 0), 1)
            each = -logarithms.gather(1, places)[:, 0].mT
            each = focal(each, self.gamma) if self.gamma else each
            if self.weights is not None:
                table = self.weights.to(outputs).expand(members, -1)
                each = each * table.gather(1, targets.mT.expand(members, batch)).mT
                logarithms = logarithms * table[..., None]
            if self.smoothing:
                spread: Tensor = _Sum.apply(-logarithms.movedim(1, 0)) / logarithms.shape[1]
                each = (1 - self.smoothing) * each + self.smoothing * spread.mT
            each = each[..., None]
        total: Tensor = _Sum.apply(_flat(each, weight))
        return total / (batch * each.shape[2])

    def _of_labels(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the binary cross entropy of each label [batch, members, label]."""
        logits, labels = _answers(outputs), _answers(targets).to(outputs.dtype).expand_as(_answers(outputs))
        if self.weights is None:
            return label_losses(logits, labels, None, self.gamma, self.smoothing)
        no, yes = (side.reshape(len(side), -1) for side in self.weights.to(outputs).unbind(-1))
        return label_losses(logits, labels, (no, yes), self.gamma, self.smoothing)

    def score(
        self, outputs: Float[Tensor, "batch members ..."], targets: Num[Tensor, "batch one_or_members ..."]
    ) -> Num[Tensor, " members"]:
        """Return each member's number of right answers (of labels their mean), or sum of squared errors."""
        if self.mixed is not None:
            return self._of_both(self.single.score, outputs, targets)
        batch, members = outputs.shape[:2]
        targets, weight = self._apart(targets)
        if self.kind == "mse":
            errors = _answers(outputs) - _answers(targets).to(outputs.dtype)
            total: Tensor = _Sum.apply(_flat(errors.square(), weight))
            return total
        if self.kind == "bce":
            right = (_answers(outputs) >= 0) == (_answers(targets) > 0.5)
        else:
            guesses = outputs.reshape(batch, members, -1).permute(1, 2, 0).max(1).indices
            right = (guesses == targets.reshape(batch, -1).mT).mT[..., None]
        hits = _flat(right if weight is None else right.double(), weight).sum(0)
        return hits if right.shape[2] == 1 else hits.double() / right.shape[2]

    def _apart(self, targets: Tensor) -> tuple[Tensor, Tensor | None]:
        """Give targets, and of weighted data the weights [batch, members or 1, 1]; see `training.objective`."""
        if not self.weighted:
            return targets, None
        wanted, weight = targets[..., :-1], targets[..., -1:]
        return wanted[..., 0].long() if self.kind == "nll" else wanted, weight

    def count(self, targets: Num[Tensor, "batch ..."]) -> int:
        """Return how many examples the loss of a batch is a mean over."""
        return len(targets)

    def scores(self, means: Sequence[float], prefix: str = "") -> dict[str, list[float]]:
        """Give the columns of a check for the mean score of an example of every member."""
        rows = [Objective(self.kind, scale=self.scale).scores(mean, prefix) for mean in means]
        return {name: [row[name] for row in rows] for name in rows[0]}


def _answers(values: Tensor) -> Tensor:
    """Lay out outputs or targets [batch, members or 1, output]."""
    return values.reshape(*values.shape[:2], -1)


def _flat(each: Tensor, weight: Tensor | None) -> Tensor:
    """Weigh [batch, members, output] and put the outputs beside the batch: [batch * output, members]."""
    return (each if weight is None else each * weight.to(each)).mT.flatten(0, 1)
