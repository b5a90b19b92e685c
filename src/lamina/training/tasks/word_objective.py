"""What is minimized when a network answers with words or labels at every step: a mean over the steps that count."""

from dataclasses import dataclass

import torch
from torch.nn.functional import cross_entropy

from lamina._errors import ArgumentError, ShapeError
from lamina._types import Tensor
from lamina.data.text.texts import IGNORE
from lamina.data.text.vocabulary import PAD
from lamina.training.objective import Objective, choose
from lamina.training.recipe import Recipe

_STEPS = ("translation", "language", "tagging", "description")  # tasks with an answer at every step
_FITS = {"translation": "seq2seq", "description": "one-to-many"}


@dataclass(frozen=True)
class TokenObjective(Objective):
    r"""The cross entropy of words, a mean over the steps that count, and the number of right ones.

    $$L = -\frac1n \sum_{i, t:\, k_t^{(i)} \ne \text{ignore}} \ln p_{k_t}^{<t>(i)}$$
    with the softmax p of the outputs, the right words k and n the number of steps that count. The notes add over time;
    the sum divided by n has the same direction and does not grow with the length of the sentences. With smoothing
    $\varepsilon$ the target is not a unit vector: the right word has $1 - \varepsilon + \varepsilon / V$ and each of
    the V - 1 others $\varepsilon / V$.

    Notes: N5.16 (§5).
    Corrects: E65, padded steps do not count, and the mean over the samples is written.

    Args:
        kind: "nll".
        weights: not used here.
        smoothing: how much of a target all words share.
        ignore: the target of steps that do not count: PAD for texts, IGNORE for labels.

    >>> objective = TokenObjective("nll", ignore=0)
    >>> outputs, targets = torch.zeros(1, 3, 4), torch.tensor([[2, 3, 0]])
    >>> round(objective.loss(outputs, targets).exp().item(), 4), objective.count(targets).item()
    (4.0, 2)
    """

    ignore: int = PAD

    counts_words = True

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of the steps that count; 0 if there are none."""
        total = cross_entropy(
            outputs.flatten(0, -2),
            targets.flatten(),
            ignore_index=self.ignore,
            reduction="sum",
            label_smoothing=self.smoothing,
        )
        return total / self.count(targets).clamp(min=1)

    def score(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the number of right words."""
        return ((outputs.argmax(-1) == targets) & (targets != self.ignore)).sum()

    def count(self, targets: Tensor) -> Tensor:
        """Return how many steps count, on the device of the targets."""
        return (targets != self.ignore).sum()

    @property
    def metric(self) -> str:
        """Name the score: the share of right words."""
        return "token_accuracy"


def _sequence_objective(
    task: str,
    outputs: Tensor,
    wanted: int,
    recipe: Recipe | None = None,
    labels: Tensor | None = None,
) -> Objective:
    """Choose the objective of a task on texts or tokens, and check that the network fits it."""
    recipe = recipe or Recipe()
    loss, class_weights, smoothing = recipe.loss, recipe.class_weights, recipe.label_smoothing
    axes = 3 if task in _STEPS else 2
    if outputs.ndim != axes:
        fits = "many-to-one" if axes == 2 else _FITS.get(task, "many-to-many")
        what = "one answer per step" if axes == 3 else "one answer per text"
        raise ShapeError(
            f"a {task} task asks for {what}, but the network gives outputs of shape {list(outputs.shape)} for one "
            f"example: use {fits}."
        )
    given = outputs.shape[-1]
    if given != wanted and not (task == "classification" and wanted == 2 and given == 1):
        names = {"translation": "words", "language": "words", "description": "words", "regression": "outputs"}
        what = names.get(task, "classes")
        raise ShapeError(
            f"the network gives {given} outputs, but the data have {wanted} {what}: build it with outputs={wanted}."
        )
    if task in _STEPS:
        if recipe.metrics:
            raise ArgumentError(
                f"`metrics` are for tasks with one answer per example, but the task is {task}: leave them out."
            )
        if loss not in (None, "nll"):
            what = "of your own" if callable(loss) else repr(loss)
            raise ArgumentError(f"`loss` {what} does not fit a {task} task: use 'nll' or leave it out.")
        if class_weights is not None:
            raise ArgumentError(f"`class_weights` are for classification, but the task is {task}: leave them out.")
        ignore = IGNORE if task == "tagging" else PAD
        return TokenObjective("nll", smoothing=smoothing, ignore=ignore)
    known = torch.zeros(0, dtype=torch.int64) if labels is None else labels
    return choose(task, given, loss, class_weights, known, **recipe.loss_numbers, smoothing=smoothing)
