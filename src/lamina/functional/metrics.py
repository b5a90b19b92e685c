r"""Numbers that judge predictions: accuracy, confusion, precision, recall, F1, AUC, R^2, calibration.

They are reported, never minimized, and are computed in float64.
"""

from dataclasses import dataclass

import torch

from lamina._errors import ShapeError
from lamina._types import Float, Int, Num, Tensor


def accuracy(guesses: Int[Tensor, " batch"], labels: Int[Tensor, " batch"]) -> float:
    """Return the share of right answers.

    >>> accuracy(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0]))
    0.6666666666666666
    """
    return (guesses == labels).double().mean().item()


def confusion(
    guesses: Int[Tensor, " batch"], labels: Int[Tensor, " batch"], classes: int
) -> Int[Tensor, "label label"]:
    """Count how often each class (row) was taken for each class (column).

    >>> confusion(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    return torch.bincount(labels * classes + guesses, minlength=classes * classes).reshape(classes, classes)


def f1_scores(matrix: Int[Tensor, "label label"]) -> Float[Tensor, " label"]:
    r"""Return each class's F1 from its confusion counts, 0 for a class that was neither present nor guessed.

    $$F_1 = \frac{2\,\mathrm{tp}}{2\,\mathrm{tp} + \mathrm{fp} + \mathrm{fn}}$$

    >>> f1_scores(torch.tensor([[1, 1], [0, 1]])).tolist()
    [0.6666666666666666, 0.6666666666666666]
    """
    right = matrix.diagonal().double()
    return 2 * right / (matrix.sum(0) + matrix.sum(1)).clamp(min=1)


def auc(scores: Float[Tensor, " batch"], positive: Num[Tensor, " batch"]) -> float:
    r"""Return the area under the ROC curve: how likely a positive example scores higher than a negative one.

    Ties count one half. NaN when one of the two kinds is missing.

    >>> auc(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    0.75
    """
    positive = positive.double()
    _, place, counts = torch.unique(scores.double(), return_inverse=True, return_counts=True)
    rank = (counts.cumsum(0) - (counts - 1) / 2).double()[place]  # the mean rank among equals, from 1
    n_positive = positive.sum()
    pairs = n_positive * (len(positive) - n_positive)
    return ((rank @ positive - n_positive * (n_positive + 1) / 2) / pairs).item()


def r2(outputs: Float[Tensor, "batch ..."], targets: Float[Tensor, "batch ..."]) -> float:
    r"""Return $R^2 = 1 - \sum (S - y)^2 / \sum (S - \bar S)^2$, averaged over the outputs.

    >>> r2(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 4.0]))
    0.7857142857142857
    """
    if outputs.shape != targets.shape:
        raise ShapeError(
            f"`outputs` must have the shape of `targets`, {tuple(targets.shape)}, got {tuple(outputs.shape)}."
        )
    y, S = (t.double().reshape(len(t), -1) for t in (outputs, targets))
    return (1 - ((S - y) ** 2).sum(0) / ((S - S.mean(0)) ** 2).sum(0)).mean().item()


@dataclass(frozen=True)
class Calibration:
    """How often predictions made with a given confidence are right.

    Args:
        confidence: the mean confidence in each bin.
        accuracy: the share of right answers in it.
        count: how many predictions fell into it.
        error: the mean distance between the two, weighted by count.
    """

    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]
    count: tuple[int, ...]
    error: float


def calibration(confidence: Float[Tensor, " batch"], right: Num[Tensor, " batch"], bins: int = 10) -> Calibration:
    """Compare confidence and accuracy in equal bins of [0, 1]; empty bins are left out.

    >>> calibration(torch.tensor([0.75, 0.75, 0.5]), torch.tensor([1, 0, 1])).error
    0.3333333333333333
    """
    confidence, right = confidence.double(), right.double()
    place = (confidence * bins).long().clamp(0, bins - 1)
    count = torch.bincount(place, minlength=bins).double()
    used = count > 0
    mean, share = (torch.bincount(place, t, minlength=bins)[used] / count[used] for t in (confidence, right))
    error = ((mean - share).abs() * count[used]).sum() / len(confidence)
    return Calibration(
        tuple(mean.tolist()), tuple(share.tolist()), tuple(int(c) for c in count[used].tolist()), error.item()
    )
