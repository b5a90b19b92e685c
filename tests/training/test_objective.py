"""Losses chosen by task, class weights by hand."""

import pytest
import torch
from torch.nn import functional as F

from lamina._errors import ArgumentError
from lamina.training.objective import Objective, choose

g = torch.Generator().manual_seed(0)
LOGITS = torch.randn(6, 3, generator=g, dtype=torch.float64)
LABELS = torch.tensor([0, 0, 0, 1, 2, 2])


@pytest.mark.notes("N2.71")
def test_losses_are_means_from_logits():
    assert choose("classification", 3, None, None, LABELS).loss(LOGITS, LABELS) == F.cross_entropy(LOGITS, LABELS)
    bits = (LABELS > 0).long()
    one = choose("classification", 1, None, None, bits)
    torch.testing.assert_close(
        one.loss(LOGITS[:, :1], bits), F.binary_cross_entropy_with_logits(LOGITS[:, 0], bits.double())
    )
    real = choose("regression", 1, None, None, bits)
    torch.testing.assert_close(
        real.loss(LOGITS[:, :1], LABELS.double()[:, None]), F.mse_loss(LOGITS[:, 0], LABELS.double()) / 2
    )


def test_scores_are_sums():
    assert Objective("nll").score(torch.eye(3).double()[LABELS], LABELS) == 6
    assert Objective("bce").score(torch.tensor([[0.1], [-0.1]]), torch.tensor([1, 1])) == 1
    assert Objective("mse").score(torch.tensor([[1.0], [3.0]]), torch.tensor([[0.0], [1.0]])) == 5
    assert Objective("mse").score(torch.tensor([[1.0, 3.0]]), torch.tensor([[0.0, 1.0]])) == 5
    assert (Objective("nll").metric, Objective("mse").metric) == ("accuracy", "mse")


def test_balanced_classes_weigh_the_same():
    weighted = choose("classification", 3, None, "balanced", LABELS)
    torch.testing.assert_close(weighted.weights, torch.tensor([6 / 9, 6 / 3, 6 / 6], dtype=torch.float64))
    each = F.cross_entropy(LOGITS, LABELS, reduction="none")
    by_class = sum(each[LABELS == k].mean() for k in range(3)) / 3
    torch.testing.assert_close(weighted.loss(LOGITS, LABELS), by_class)
    bits = (LABELS > 0).long()
    two = choose("classification", 1, None, "balanced", torch.tensor([0, 0, 0, 0, 1, 1]))
    each = F.binary_cross_entropy_with_logits(LOGITS[:, 0], bits.double(), reduction="none")
    torch.testing.assert_close(two.loss(LOGITS[:, :1], bits), (each * torch.where(bits == 1, 1.5, 0.75)).mean())
    assert choose("classification", 1, None, "balanced", torch.zeros(3).long()).weights.tolist() == [
        1,
        1,
    ]  # 1 is absent


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("classification", 3, "mse", None), "`loss` 'mse' does not fit a classification task: use 'nll'"),
        (("regression", 1, "nll", None), "`loss` 'nll' does not fit a regression task: use 'mse'"),
        (("classification", 3, "bce", None), "`loss` 'bce' needs a network with 1 output, got 3: use 'nll'"),
        (("classification", 1, "nll", None), "`loss` 'nll' needs a network with at least 2 outputs, got 1: use 'bce'"),
        (("regression", 1, None, "balanced"), "`class_weights` are for classification, but the task is regression"),
    ],
)
def test_what_does_not_fit_is_said(arguments, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        choose(*arguments, LABELS)


def test_errors_are_also_given_in_the_units_of_the_data():
    assert Objective("mse", scale=3.0).scores(4.0) == {"mse": 4.0, "rmse": 6.0}
    assert Objective("nll", scale=3.0).scores(0.5, "validation_") == {"validation_accuracy": 0.5}
