"""What is minimized and what is reported: the loss of a task, with class weights, and its score."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch.nn.functional import cross_entropy

from lamina._errors import ArgumentError
from lamina._types import Tensor
from lamina.functional.losses import binary_cross_entropy, mse_half, negative_log_likelihood


@dataclass(frozen=True)
class Objective:
    """A loss that is a mean over examples, and a score that is a sum over them.

    Notes: N1.19, N2.11, N2.71 (§1, §2, §2.5).

    Args:
        kind: "nll" (several classes, from logits), "bce" (two classes from one logit, or any number of labels from one
            logit each, of whose losses the mean is taken) or "mse" (real targets).
        weights: a weight for each class, for each label one of "no" and one of "yes" [label, 2], with mean 1 over the
            training data; None weighs all alike.
        smoothing: how much of a target all classes share.
        weighted: whether the last number of a target is the weight of its example, as `with_weights` writes it.
        scale: what makes the root of the mean score one in the units of the data; see `Arrays.scale`.

    >>> Objective("nll", smoothing=0.1).loss(torch.zeros(2, 3), torch.tensor([0, 2])).exp().item()
    3.0
    """

    kind: str
    weights: Tensor | None = None
    smoothing: float = 0.0
    weighted: bool = False
    scale: float = 1.0

    counts_words: ClassVar[bool] = False
    """Whether the loss is a mean over steps that count, which only the device knows."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of a batch."""
        targets, weight = self._apart(targets)
        plain = self.weights is None and not self.smoothing and weight is None
        if self.kind == "mse" and plain:
            return mse_half(outputs.reshape(len(targets), -1), targets.reshape(len(targets), -1).to(outputs.dtype))
        if self.kind == "bce" and plain:
            return binary_cross_entropy(outputs.reshape(targets.shape), targets.to(outputs.dtype))
        if plain:
            return negative_log_likelihood(outputs, targets)
        each = self._each(outputs, targets)
        return (each if weight is None else each * weight.to(each)).mean()

    def _each(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each example."""
        if self.kind == "mse":
            return self._squares(outputs, targets) / 2
        weights = None if self.weights is None else self.weights.to(outputs)
        if self.kind == "nll":
            return cross_entropy(outputs, targets, weights, reduction="none", label_smoothing=self.smoothing)
        each = binary_cross_entropy(outputs.reshape(targets.shape), targets.to(outputs.dtype), reduction="none")
        if weights is not None:
            each = each * torch.where(targets > 0.5, weights[..., 1], weights[..., 0])
        return each.reshape(len(targets), -1).mean(1)

    def score(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the number of right answers (of several labels the share that is right), or the squared errors."""
        targets, weight = self._apart(targets)
        if self.kind == "mse":
            each = self._squares(outputs, targets)
        elif self.kind == "nll":
            each = outputs.argmax(-1) == targets
        else:
            each = (outputs.reshape(targets.shape) >= 0) == (targets > 0.5)
            each = each if each.ndim == 1 else each.double().mean(1)
        return each.sum() if weight is None else (each * weight.double()).sum()

    def _apart(self, targets: Tensor) -> tuple[Tensor, Tensor | None]:
        """Give targets, and of weighted data the weights of the examples."""
        if not self.weighted:
            return targets, None
        wanted, weight = targets[..., :-1], targets[..., -1]
        return wanted[..., 0].long() if self.kind == "nll" else wanted, weight

    @staticmethod
    def _squares(outputs: Tensor, targets: Tensor) -> Tensor:
        errors = outputs.reshape(len(targets), -1) - targets.reshape(len(targets), -1).to(outputs.dtype)
        return (errors**2).sum(1)

    def count(self, targets: Tensor) -> int | Tensor:
        """Return over how many things the loss of a batch is a mean."""
        return len(targets)

    @property
    def plain(self) -> "Objective":
        """The objective by which checks are judged: without smoothed targets."""
        return replace(self, smoothing=0.0)

    @property
    def metric(self) -> str:
        """Name the score per example: accuracy (of several labels the mean), or the mean squared error."""
        return "mse" if self.kind == "mse" else "accuracy"

    def scores(self, mean: float, prefix: str = "") -> dict[str, float]:
        """Give the columns of a check for the mean score of an example.

        Squared errors are those of prepared targets, as the loss is; their root is in the units of the data.

        >>> Objective("mse", scale=10.0).scores(0.25, "validation_")
        {'validation_mse': 0.25, 'validation_rmse': 5.0}
        """
        root = {f"{prefix}rmse": self.scale * math.sqrt(mean)} if self.metric == "mse" else {}
        return {f"{prefix}{self.metric}": mean} | root


def choose(
    task: str,
    outputs: int,
    loss: str | None,
    class_weights: str | None,
    labels: Tensor,
    weights: Tensor | None = None,
) -> Objective:
    """Choose the objective of a task.

    Args:
        task: "classification", "multilabel", "regression" or "structured".
        outputs: how many numbers the network gives for an example.
        loss: the name asked for, or None.
        class_weights: None or "balanced".
        labels: the training targets, for the weights of classes.
        weights: those of the training examples, if they have some.
    """
    natural = {"classification": "bce" if outputs == 1 else "nll", "multilabel": "bce"}.get(task, "mse")
    kind = loss or natural
    if (kind == "mse") != (natural == "mse") or (task == "multilabel" and kind != "bce"):
        raise ArgumentError(f"`loss` {kind!r} does not fit a {task} task: use {natural!r} or leave it out.")
    if kind == "bce" and outputs != 1 and task == "classification":
        raise ArgumentError(f"`loss` 'bce' needs a network with 1 output, got {outputs}: use 'nll'.")
    if kind == "nll" and outputs == 1:
        raise ArgumentError("`loss` 'nll' needs a network with at least 2 outputs, got 1: use 'bce'.")
    balance = None
    if class_weights == "balanced":
        if kind == "mse":
            raise ArgumentError("`class_weights` are for classification, but the task is regression: leave them out.")
        each = torch.ones(len(labels), dtype=torch.float64) if weights is None else weights.double()
        if task == "multilabel":
            there = each @ labels.double()
            counts = torch.stack([each.sum() - there, there], 1)  # of each label
        else:
            counts = torch.bincount(labels, each, max(2, outputs))
        present = counts > 0
        fair = counts.sum(-1, keepdim=True) / present.sum(-1, keepdim=True)
        balance = torch.where(present, fair / torch.where(present, counts, 1.0), 1.0)
    return Objective(kind, balance, weighted=weights is not None)
