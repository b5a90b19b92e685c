"""What is minimized and what is reported: the loss of a task, with class weights, and its score."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from lamina._errors import ArgumentError
from lamina._types import Tensor
from lamina.functional.losses import binary_cross_entropy, mse_half, negative_log_likelihood


@dataclass(frozen=True)
class Objective:
    """A loss that is a mean over examples, and a score that is a sum over them.

    Notes: N1.19, N2.11, N2.71 (§1, §2, §2.5).

    Args:
        kind: "nll" (several classes, from logits), "bce" (two classes, one logit) or "mse" (real targets).
        weights: a weight for each class, with mean 1 over the training data; None weighs all alike.
        smoothing: how much of a target all classes share.
        scale: what makes the root of the mean score one in the units of the data; see `Arrays.scale`.

    >>> Objective("nll", smoothing=0.1).loss(torch.zeros(2, 3), torch.tensor([0, 2])).exp().item()
    3.0
    """

    kind: str
    weights: Tensor | None = None
    smoothing: float = 0.0
    scale: float = 1.0

    counts_words: ClassVar[bool] = False
    """Whether the loss is a mean over steps that count, which only the device knows."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of a batch."""
        if self.kind == "mse":
            return mse_half(outputs.reshape(len(targets), -1), targets.reshape(len(targets), -1).to(outputs.dtype))
        if self.kind == "bce":
            logits, labels = outputs.reshape(-1), targets.to(outputs.dtype)
            if self.weights is None:
                return binary_cross_entropy(logits, labels)
            each = binary_cross_entropy_with_logits(logits, labels, reduction="none")
            return (self.weights.to(outputs)[targets] * each).mean()
        if self.weights is None and not self.smoothing:
            return negative_log_likelihood(outputs, targets)
        weights = None if self.weights is None else self.weights.to(outputs)
        total = cross_entropy(outputs, targets, weights, reduction="sum", label_smoothing=self.smoothing)
        return total / len(targets)

    def score(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the number of right answers, or the sum of squared errors."""
        if self.kind == "mse":
            errors = outputs.reshape(len(targets), -1) - targets.reshape(len(targets), -1).to(outputs.dtype)
            return (errors**2).sum()
        guesses = (outputs.reshape(-1) >= 0).long() if self.kind == "bce" else outputs.argmax(-1)
        return (guesses == targets).sum()

    def count(self, targets: Tensor) -> int | Tensor:
        """Return over how many things the loss of a batch is a mean."""
        return len(targets)

    @property
    def plain(self) -> "Objective":
        """The objective by which checks are judged: without smoothed targets."""
        return replace(self, smoothing=0.0)

    @property
    def metric(self) -> str:
        """Name the score per example: accuracy, or the mean squared error."""
        return "mse" if self.kind == "mse" else "accuracy"

    def scores(self, mean: float, prefix: str = "") -> dict[str, float]:
        """Give the columns of a check for the mean score of an example.

        Squared errors are those of prepared targets, as the loss is; their root is in the units of the data.

        >>> Objective("mse", scale=10.0).scores(0.25, "validation_")
        {'validation_mse': 0.25, 'validation_rmse': 5.0}
        """
        root = {f"{prefix}rmse": self.scale * math.sqrt(mean)} if self.metric == "mse" else {}
        return {f"{prefix}{self.metric}": mean} | root


def choose(task: str, outputs: int, loss: str | None, class_weights: str | None, labels: Tensor) -> Objective:
    """Choose the objective of a task.

    Args:
        task: "classification", "regression" or "structured".
        outputs: how many numbers the network gives for an example.
        loss: the name asked for, or None.
        class_weights: None or "balanced".
        labels: the training targets, for the weights.
    """
    natural = ("bce" if outputs == 1 else "nll") if task == "classification" else "mse"
    kind = loss or natural
    if (kind == "mse") != (natural == "mse"):
        raise ArgumentError(f"`loss` {kind!r} does not fit a {task} task: use {natural!r} or leave it out.")
    if kind == "bce" and outputs != 1:
        raise ArgumentError(f"`loss` 'bce' needs a network with 1 output, got {outputs}: use 'nll'.")
    if kind == "nll" and outputs == 1:
        raise ArgumentError("`loss` 'nll' needs a network with at least 2 outputs, got 1: use 'bce'.")
    weights = None
    if class_weights == "balanced":
        if kind == "mse":
            raise ArgumentError("`class_weights` are for classification, but the task is regression: leave them out.")
        counts = torch.bincount(labels, minlength=max(2, outputs)).to(torch.float64)
        present = counts > 0
        weights = torch.where(present, len(labels) / (present.sum() * counts.clamp(min=1)), 1.0)
    return Objective(kind, weights)
