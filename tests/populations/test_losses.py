"""The losses and scores of two members, by hand."""

import math

import pytest
import torch

from lamina.data.source import with_weights
from lamina.populations._losses import Losses
from lamina.training.objective import choose

LOGITS = torch.tensor([[[0.0, 0.0], [math.log(3.0), 0.0]], [[0.0, math.log(4.0)], [0.0, 0.0]]], dtype=torch.float64)
"""[batch, members, classes]: the shares of class 0 are 1/2 and 3/4, then 1/5 and 1/2."""


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (None, [math.log(2 * 5 / 4) / 2, math.log(4 / 3 * 2) / 2]),
        ([[1.0, 3.0]], [(math.log(2) + 3 * math.log(5 / 4)) / 2, (math.log(4 / 3) + 3 * math.log(2)) / 2]),
        ([[1.0, 3.0], [2.0, 0.0]], [(math.log(2) + 3 * math.log(5 / 4)) / 2, 2 * math.log(4 / 3) / 2]),
    ],
)
def test_classes_are_weighed_and_right_answers_counted(weights, expected):
    losses = Losses("nll", None if weights is None else torch.tensor(weights))
    labels = torch.tensor([[0], [1]])
    assert losses.loss(LOGITS, labels).tolist() == pytest.approx(expected, rel=1e-12)
    assert losses.score(LOGITS, labels).tolist() == [2, 1]  # of equal logits the first class is the answer
    assert losses.scores([0.5]) == {"accuracy": [0.5]} and losses.count(labels) == 2
    assert losses.select(torch.tensor([1])).loss(LOGITS[:, 1:], labels).tolist() == pytest.approx(expected[1:])


def test_one_output_is_a_logit_of_class_1():
    outputs = torch.tensor([[[0.0], [math.log(3.0)]], [[-math.log(3.0)], [math.log(3.0)]]], dtype=torch.float64)
    labels = torch.tensor([[1, 1], [0, 0]])  # each member has its own
    losses = Losses("bce")
    expected = [(math.log(2) + math.log(4 / 3)) / 2, (math.log(4 / 3) + math.log(4)) / 2]
    assert losses.loss(outputs, labels).tolist() == pytest.approx(expected, rel=1e-12)
    assert losses.score(outputs, labels).tolist() == [2, 1]


def test_half_the_squares_are_averaged_and_their_sum_reported():
    outputs = torch.tensor(
        [[[1.0, 2.0], [0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]]], dtype=torch.float64, requires_grad=True
    )
    targets = torch.tensor([[[1.0, 0.0]], [[0.0, 0.0]]])
    losses = Losses("mse")
    assert losses.score(outputs, targets).tolist() == [4 + 9 + 16, 1 + 1]
    assert Losses("mse", scale=3.0).scores([4.0, 0.25], "validation_") == {
        "validation_mse": [4.0, 0.25],
        "validation_rmse": [6.0, 1.5],
    }
    loss = losses.loss(outputs, targets)
    assert loss.tolist() == [29 / 4, 2 / 4]
    (slope,) = torch.autograd.grad(loss.sum(), outputs)
    assert slope.tolist() == [[[0.0, 1.0], [-0.5, 0.0]], [[1.5, 2.0], [0.0, 0.5]]]


@pytest.mark.parametrize("kind", ("nll", "bce", "labels", "mse"))
@pytest.mark.parametrize("weighted", (False, True))
@pytest.mark.parametrize("balanced", (False, True))
@pytest.mark.parametrize("loss", (None, "smoothed", "focal", "mae", "huber", "quantile"))
def test_every_member_has_the_loss_and_the_score_of_its_objective(kind, weighted, balanced, loss):
    if loss is not None and (loss in ("focal", "smoothed")) == (kind == "mse"):
        return  # refused, see tests/training/test_objective.py
    loss, smoothing = (None, 0.2) if loss == "smoothed" else (loss, 0.0)
    g = torch.Generator().manual_seed(3)
    outputs = torch.randn(6, 2, 1 if kind == "bce" else 3, generator=g, dtype=torch.float64)
    targets = torch.randint(3 if kind == "nll" else 2, (6,) if kind in ("nll", "bce") else (6, 3), generator=g)
    task = {"labels": "multilabel", "mse": "regression"}.get(kind, "classification")
    targets = targets if task == "classification" else targets.float()
    weights = torch.tensor([0.5, 2.0, 0.0, 1.5, 1.0, 1.0]) if weighted else None
    how = "balanced" if balanced and kind != "mse" else None
    alone = choose(task, outputs.shape[2], loss, how, targets, weights, delta=0.5, level=0.9, gamma=1.5,
                   smoothing=smoothing)  # fmt: skip
    losses = Losses(alone.kind, None if alone.weights is None else alone.weights[None], alone.weighted,
                    error=alone.error, gamma=alone.gamma, smoothing=alone.smoothing)  # fmt: skip
    packed = with_weights(targets, weights)
    for k in range(2):
        torch.testing.assert_close(losses.loss(outputs, packed[:, None])[k], alone.loss(outputs[:, k], packed))
        ours, theirs = losses.score(outputs, packed[:, None])[k], alone.score(outputs[:, k], packed)
        torch.testing.assert_close(ours.double(), theirs.double())
