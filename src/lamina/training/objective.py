"""What is minimized and what is reported: the loss of a task, with class weights, and its score."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import torch
from torch.nn.functional import cross_entropy, softplus

from lamina._errors import ArgumentError, ShapeError
from lamina._types import Tensor
from lamina.data.mixing import parted
from lamina.functional.losses import (
    absolute_error,
    binary_cross_entropy,
    focal,
    huber_error,
    mse_half,
    negative_log_likelihood,
    quantile_error,
)

Judged = Callable[[Tensor, Tensor], Any]
"""A function of outputs and targets: a loss, or a metric."""

_ERRORS: dict[str, tuple[Callable[..., Tensor], tuple[str, ...]]] = {
    "mae": (absolute_error, ()),
    "huber": (huber_error, ("delta",)),
    "quantile": (quantile_error, ("level",)),
}
"""Losses for real targets by name, with the numbers that they take."""


def label_losses(
    logits: Tensor,
    labels: Tensor,
    weights: tuple[Tensor, Tensor] | None = None,
    gamma: float = 0.0,
    smoothing: float = 0.0,
) -> Tensor:
    r"""Compute the binary cross entropy of each label, which may be weighed, focal or smoothed.

    With smoothing $\varepsilon$ the label is $S (1 - \varepsilon) + \varepsilon / 2$, as for two classes.

    Args:
        logits: the outputs before the sigmoid.
        labels: 0 and 1, in their type.
        weights: of "no" and of "yes"; each term of a smoothed label has its own, as in torch's cross entropy.
        gamma: of the focal loss; 0 is the cross entropy.
        smoothing: how much of a label both answers share.
    """
    wanted = labels * (1 - smoothing) + smoothing / 2 if smoothing else labels
    each = binary_cross_entropy(logits, wanted, reduction="none")
    each = focal(each, gamma) if gamma else each
    if weights is None:
        return each
    no, yes = weights
    if not smoothing:
        return each * torch.where(labels > 0.5, yes, no)
    return wanted * yes * softplus(-logits) + (1 - wanted) * no * softplus(logits)


@dataclass(frozen=True)
class Objective:
    """A loss that is a mean over examples, and a score that is a sum over them.

    Notes: N1.19, N2.11, N2.71 (§1, §2, §2.5).

    Args:
        kind: "nll" (several classes, from logits), "bce" (two classes from one logit, or any number of labels from one
            logit each, of whose losses the mean is taken) or "mse" (real targets).
        weights: a weight for each class, for each label one of "no" and one of "yes" [label, 2], with mean 1 over the
            training data; None weighs all alike.
        smoothing: how much of a target all classes share: of K classes the right one has 1 - e + e / K,
            each of the others e / K; see `label_losses` for labels.
        weighted: whether the last number of a target is the weight of its example, as `with_weights` writes it.
        scale: what makes the root of the mean score one in the units of the data; see `Arrays.scale`.
        error: a loss in place of that of the kind: from outputs and targets of one shape (of "nll" logits and labels)
            it computes the mean, or a loss for each example or entry.
        gamma: of the focal loss, which the cross entropies of "nll" and "bce" become; 0 leaves them.
        metrics: further scores by name, computed from all outputs and targets at once.
        units: brings real outputs and targets to the units of the data, for the metrics.
        mixed: the shape of one target, where those of two examples come with each, as `data.mixing.joined` writes them;
            loss and score are then mixtures of those with either target.

    >>> Objective("nll", smoothing=0.1).loss(torch.zeros(2, 3), torch.tensor([0, 2])).exp().item()
    3.0
    """

    kind: str
    weights: Tensor | None = None
    smoothing: float = 0.0
    weighted: bool = False
    scale: float = 1.0
    error: Judged | None = None
    gamma: float = 0.0
    metrics: Mapping[str, Judged] = field(default_factory=dict)
    units: Callable[[Tensor], Tensor] | None = field(default=None, compare=False, repr=False)
    mixed: tuple[int, ...] | None = None
    single: "Objective" = field(init=False, compare=False, repr=False)
    """The same objective for examples that are not mixed."""

    counts_words: ClassVar[bool] = False
    """Whether the loss is a mean over steps that count, which only the device knows."""

    def __post_init__(self) -> None:
        # Made here, since a compiler does not follow what is made when it is first asked for.
        object.__setattr__(self, "single", self if self.mixed is None else replace(self, mixed=None))

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of a batch."""
        if self.mixed is not None:
            return self._of_both(self.single.loss, outputs, targets, self.mixed)
        targets, weight = self._apart(targets)
        if self.error is not None:
            return self._own(self.error, *self._alike(outputs, targets), weight)
        plain = self.weights is None and not self.smoothing and weight is None and not self.gamma
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
        if self.kind == "nll" and self.gamma:
            each = focal(negative_log_likelihood(outputs, targets, reduction="none"), self.gamma)
            return each if weights is None else each * weights[targets]
        if self.kind == "nll":
            return cross_entropy(outputs, targets, weights, reduction="none", label_smoothing=self.smoothing)
        sides = None if weights is None else (weights[..., 0], weights[..., 1])
        each = label_losses(*self._alike(outputs, targets), sides, self.gamma, self.smoothing)
        return each.reshape(len(targets), -1).mean(1)

    def _alike(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Give outputs and targets in one shape and type; logits of several classes and labels as they are."""
        targets = targets[:, None] if self.kind == "mse" and targets.ndim == 1 else targets
        return (outputs, targets) if self.kind == "nll" else (outputs.reshape(targets.shape), targets.to(outputs.dtype))

    @staticmethod
    def _own(error: Judged, outputs: Tensor, targets: Tensor, weight: Tensor | None) -> Tensor:
        """Return the mean of a loss that was given."""
        each = error(outputs, targets)
        if not isinstance(each, Tensor) or (each.ndim and len(each) != len(targets)):
            found = f"a tensor of shape {tuple(each.shape)}" if isinstance(each, Tensor) else repr(each)
            raise ShapeError(
                f"`loss` must give a tensor with one number, or with one for each of the {len(targets)} examples, got "
                f"{found}: return, for example, its mean."
            )
        if not each.ndim and weight is not None:
            raise ArgumentError(
                "`loss` gives one number for a batch, but the examples have weights: return a loss for each example."
            )
        return each.mean() if weight is None else (each.reshape(len(targets), -1).mean(1) * weight.to(each)).mean()

    def measured(self, outputs: Tensor, targets: Tensor) -> dict[str, float]:
        """Compute the further scores of all examples, each of which counts once; real numbers are in units of the data.

        >>> def worst(outputs, targets):
        ...     return (outputs - targets).abs().max()
        >>> Objective("mse", metrics={"worst": worst}).measured(torch.tensor([[1.0], [3.0]]), torch.zeros(2, 1))
        {'worst': 3.0}
        """
        if not self.metrics:
            return {}
        outputs, targets = self._alike(outputs, self._apart(targets)[0])
        if self.kind == "mse" and self.units is not None:
            outputs, targets = self.units(outputs), self.units(targets)
        return {name: _one_number(name, metric(outputs, targets)) for name, metric in self.metrics.items()}

    def score(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the number of right answers (of several labels the share that is right), or the squared errors."""
        if self.mixed is not None:
            return self._of_both(self.single.score, outputs, targets, self.mixed)
        targets, weight = self._apart(targets)
        if self.kind == "mse":
            each = self._squares(outputs, targets)
        elif self.kind == "nll":
            each = outputs.argmax(-1) == targets
        else:
            each = (outputs.reshape(targets.shape) >= 0) == (targets > 0.5)
            each = each if each.ndim == 1 else each.double().mean(1)
        return each.sum() if weight is None else (each * weight.double()).sum()

    def _of_both(self, judge: Judged, outputs: Tensor, targets: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Mix what a function says of the outputs with either target."""
        first, second, share = parted(targets, shape)
        if self.kind == "nll" and not self.weighted:
            first, second = first.long(), second.long()
        found: Tensor = share * judge(outputs, first) + (1 - share) * judge(outputs, second)
        return found

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
        """The objective by which checks are judged: without smoothed or mixed targets."""
        return replace(self, smoothing=0.0, mixed=None)

    @property
    def reshaped(self) -> bool:
        """Whether another loss than that of the kind is minimized."""
        return self.error is not None or self.gamma > 0

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


def _one_number(name: str, value: Any) -> float:
    """Refuse what a metric gives unless it is one number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        found = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)
        raise ArgumentError(f"`metrics` must give one number each, but {name!r} gives {found}.") from None


def choose(
    task: str,
    outputs: int,
    loss: str | Judged | None,
    class_weights: str | None,
    labels: Tensor,
    weights: Tensor | None = None,
    *,
    delta: float = 1.0,
    level: float = 0.5,
    gamma: float = 2.0,
    smoothing: float = 0.0,
    counted: Tensor | None = None,
) -> Objective:
    """Choose the objective of a task.

    Args:
        task: "classification", "multilabel", "regression" or "structured".
        outputs: how many numbers the network gives for an example.
        loss: the name asked for, a function, or None.
        class_weights: None or "balanced".
        labels: the training targets, for the weights of classes.
        weights: those of the training examples, if they have some.
        delta: of the loss "huber".
        level: of the loss "quantile".
        gamma: of the loss "focal".
        smoothing: how much of a target all classes share.
        counted: how many examples each class has (of labels how many lack and have each), in place of `labels`.
    """
    natural = {"classification": "bce" if outputs == 1 else "nll", "multilabel": "bce"}.get(task, "mse")
    error = loss if callable(loss) else None
    kind = natural if error or loss is None or (loss == "focal" and natural != "mse") else str(loss)
    if loss in _ERRORS and natural == "mse":
        function, names = _ERRORS[str(loss)]
        numbers = {"delta": delta, "level": level}
        error, kind = partial(function, reduction="none", **{name: numbers[name] for name in names}), natural
    if kind not in (("nll", "bce") if task == "classification" else (natural,)):
        raise ArgumentError(f"`loss` {kind!r} does not fit a {task} task: use {natural!r} or leave it out.")
    if kind == "bce" and outputs != 1 and task == "classification":
        raise ArgumentError(f"`loss` 'bce' needs a network with 1 output, got {outputs}: use 'nll'.")
    if kind == "nll" and outputs == 1:
        raise ArgumentError("`loss` 'nll' needs a network with at least 2 outputs, got 1: use 'bce'.")
    balance = None
    if class_weights == "balanced":
        if callable(loss):
            raise ArgumentError("`class_weights` do not reach a `loss` of your own: weigh the classes in it.")
        if kind == "mse":
            raise ArgumentError("`class_weights` are for classification, but the task is regression: leave them out.")
        each = torch.ones(len(labels), dtype=torch.float64) if weights is None else weights.double()
        if counted is not None:
            counts = counted.double()
        elif task == "multilabel":
            there = each @ labels.double()
            counts = torch.stack([each.sum() - there, there], 1)  # of each label
        else:
            counts = torch.bincount(labels, each, max(2, outputs))
        present = counts > 0
        fair = counts.sum(-1, keepdim=True) / present.sum(-1, keepdim=True)
        balance = torch.where(present, fair / torch.where(present, counts, 1.0), 1.0)
    if smoothing:
        _check_smoothing(kind, loss)
    gamma = gamma if loss == "focal" else 0.0
    return Objective(kind, balance, smoothing, weights is not None, error=error, gamma=gamma)


def _check_smoothing(kind: str, loss: str | Judged | None) -> None:
    """Refuse to smooth the targets of a loss that does not see them as classes."""
    if callable(loss):
        raise ArgumentError("`label_smoothing` does not reach a `loss` of your own: smooth the targets in it.")
    if kind == "mse":
        raise ArgumentError("`label_smoothing` is for classes and labels, but the targets are numbers: leave it out.")
    if loss == "focal":
        raise ArgumentError("`label_smoothing` is for the losses 'nll' and 'bce', got 'focal': leave one of them out.")
