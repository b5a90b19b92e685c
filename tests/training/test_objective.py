"""Losses chosen by task, class weights by hand, weights of examples as repeated rows."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from lamina._errors import ArgumentError
from lamina.data.source import with_weights
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
        (("multilabel", 3, "nll", None), "`loss` 'nll' does not fit a multilabel task: use 'bce' or leave it out"),
        (("multilabel", 3, "mse", None), "`loss` 'mse' does not fit a multilabel task: use 'bce' or leave it out"),
        (("regression", 1, None, "balanced"), "`class_weights` are for classification, but the task is regression"),
    ],
)
def test_what_does_not_fit_is_said(arguments, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        choose(*arguments, LABELS)


# Several labels


def test_labels_by_hand():
    log3 = math.log(3)
    outputs = torch.tensor([[0.0, log3], [-log3, -log3]], dtype=torch.float64)  # probabilities 1/2, 3/4; 1/4, 1/4
    targets = torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    several = choose("multilabel", 2, None, None, targets)
    assert several == Objective("bce")
    each = [[math.log(2), math.log(4 / 3)], [math.log(4), math.log(4 / 3)]]
    assert several.loss(outputs, targets).item() == pytest.approx(sum(map(sum, each)) / 4, rel=1e-12)
    assert several.score(outputs, targets).item() == 1 + 1 / 2 and several.metric == "accuracy"


def test_balanced_labels_weigh_yes_and_no_the_same():
    targets = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    several = choose("multilabel", 2, None, "balanced", targets)
    assert several.weights.tolist() == [[4 / 6, 4 / 2], [4 / 4, 4 / 4]]
    each = F.binary_cross_entropy_with_logits(LOGITS[:4, :2], targets.double(), reduction="none")
    by_hand = [(each[targets[:, k] == v, k].mean() / 2) for k in (0, 1) for v in (0, 1)]
    torch.testing.assert_close(several.loss(LOGITS[:4, :2], targets), sum(by_hand) / 2)
    weighted = choose("multilabel", 2, None, "balanced", targets, torch.tensor([3.0, 1.0, 0.0, 0.0]))
    assert weighted.weights.tolist() == [[4 / 2, 4 / 6], [1.0, 1.0]]  # nobody with a weight has the second label


# Weights of examples


@given(st.integers(0, 2**31), st.sampled_from(["nll", "bce", "labels", "mse"]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_whole_weights_are_repeated_rows(seed, kind, balanced):
    g = torch.Generator().manual_seed(seed)
    times = torch.randint(4, (8,), generator=g)
    times[0] += 1
    outputs = torch.randn(8, 1 if kind == "bce" else 3, generator=g, dtype=torch.float64)
    targets = torch.randint(3 if kind == "nll" else 2, (8,) if kind in ("nll", "bce") else (8, 3), generator=g)
    task = {"labels": "multilabel", "mse": "regression"}.get(kind, "classification")
    targets = targets if task == "classification" else targets.float()
    class_weights = "balanced" if balanced and kind != "mse" else None
    weights = times / times.double().mean()
    ours = choose(task, outputs.shape[1], None, class_weights, targets, weights)
    again = torch.arange(8).repeat_interleave(times)
    theirs = choose(task, outputs.shape[1], None, class_weights, targets[again])
    packed = with_weights(targets, weights)
    # the weights are kept in float32
    torch.testing.assert_close(
        ours.loss(outputs, packed), theirs.loss(outputs[again], targets[again]), rtol=1e-6, atol=0
    )
    score, expected = ours.score(outputs, packed) / 8, theirs.score(outputs[again], targets[again]) / len(again)
    torch.testing.assert_close(score.double(), expected.double(), rtol=1e-6, atol=1e-12)


def test_a_batch_is_divided_by_its_length_so_that_single_examples_keep_their_weight():
    assert Objective("mse", weighted=True).loss(torch.tensor([[2.0]]), torch.tensor([[0.0, 1.5]])).item() == 3.0
    assert Objective("nll", weighted=True).loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item() == 0.0


def test_errors_are_also_given_in_the_units_of_the_data():
    assert Objective("mse", scale=3.0).scores(4.0) == {"mse": 4.0, "rmse": 6.0}
    assert Objective("nll", scale=3.0).scores(0.5, "validation_") == {"validation_accuracy": 0.5}
