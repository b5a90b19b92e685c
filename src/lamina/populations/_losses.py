"""The loss and the score of every member of a population, as `training.objective.Objective` computes them for one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, log_softmax

from lamina._types import Float, Num, Tensor
from lamina.kernels.ordered import sum_by_halves
from lamina.training.objective import Objective


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
    scale: float = 1.0

    def select(self, keep: Tensor) -> "Losses":
        """Keep some members."""
        own = self.weights is not None and len(self.weights) > 1
        weights = self.weights[keep.to(self.weights.device)] if own else self.weights  # type: ignore[union-attr, index]
        return replace(self, weights=weights)

    def loss(
        self, outputs: Float[Tensor, "batch members ..."], targets: Num[Tensor, "batch one_or_members ..."]
    ) -> Float[Tensor, " members"]:
        """Return the mean loss of each member."""
        batch, members = outputs.shape[:2]
        if self.kind == "mse":
            return self.score(outputs, targets) / (2 * batch)
        targets = targets.reshape(batch, -1)
        if self.kind == "bce":
            logits = outputs.reshape(batch, members)
            labels = targets.to(outputs.dtype).expand(batch, members)
            each = binary_cross_entropy_with_logits(logits, labels, reduction="none")
        else:
            # Members and classes before the batch, as a dense last layer leaves them in memory.
            places = targets.mT[:, None].expand(members, 1, batch)
            each = -log_softmax(outputs.reshape(batch, members, -1).permute(1, 2, 0), 1).gather(1, places)[:, 0].mT
        if self.weights is not None:
            table = self.weights.to(outputs).expand(members, -1)
            each = each * table.gather(1, targets.mT.expand(members, batch)).mT
        total: Tensor = _Sum.apply(each)
        return total / batch

    def score(
        self, outputs: Float[Tensor, "batch members ..."], targets: Num[Tensor, "batch one_or_members ..."]
    ) -> Num[Tensor, " members"]:
        """Return each member's number of right answers, or sum of squared errors."""
        batch, members = outputs.shape[:2]
        if self.kind == "mse":
            errors: Tensor = _Sum.apply(_errors(outputs, targets).square().mT.flatten(0, 1))
            return errors
        flat = outputs.reshape(batch, members, -1).permute(1, 2, 0)
        guesses = (flat[:, 0] >= 0).long() if self.kind == "bce" else flat.max(1).indices
        return (guesses == targets.reshape(batch, -1).mT).sum(1)

    def count(self, targets: Num[Tensor, "batch ..."]) -> int:
        """Return how many examples the loss of a batch is a mean over."""
        return len(targets)

    def scores(self, means: Sequence[float], prefix: str = "") -> dict[str, list[float]]:
        """Give the columns of a check for the mean score of an example of every member."""
        rows = [Objective(self.kind, scale=self.scale).scores(mean, prefix) for mean in means]
        return {name: [row[name] for row in rows] for name in rows[0]}


def _errors(outputs: Tensor, targets: Tensor) -> Tensor:
    batch, members = outputs.shape[:2]
    wanted = targets.reshape(batch, targets.shape[1], -1).to(outputs.dtype)
    return outputs.reshape(batch, members, -1) - wanted
