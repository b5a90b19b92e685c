"""Losses chosen by task, class weights by hand, weights of examples as repeated rows."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from lamina._errors import ArgumentError, ShapeError
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
        (("classification", 3, "mae", None), "`loss` 'mae' does not fit a classification task: use 'nll'"),
        (("multilabel", 3, "huber", None), "`loss` 'huber' does not fit a multilabel task: use 'bce'"),
        (("regression", 1, "focal", None), "`loss` 'focal' does not fit a regression task: use 'mse'"),
        (("classification", 3, F.cross_entropy, None, 0.1), "`label_smoothing` does not reach a `loss` of your own"),
        (
            ("classification", 3, "focal", None, 0.1),
            "is for the losses 'nll' and 'bce', got 'focal': leave one of them",
        ),
        (("regression", 3, None, None, 0.1), "is for classes and labels, but the targets are numbers: leave it out"),
        (("classification", 3, F.cross_entropy, "balanced"), "`class_weights` do not reach a `loss` of your own"),
        (("regression", 1, "mae", "balanced"), "`class_weights` are for classification, but the task is regression"),
        (("regression", 1, None, "balanced"), "`class_weights` are for classification, but the task is regression"),
    ],
)
def test_what_does_not_fit_is_said(arguments, sentence):
    smoothing = arguments[4] if len(arguments) == 5 else 0.0
    with pytest.raises(ArgumentError, match=sentence):
        choose(*arguments[:4], LABELS, smoothing=smoothing)


# Smoothed targets


@pytest.mark.parametrize("balanced", [None, "balanced"])
@pytest.mark.parametrize("weighted", [False, True])
def test_smoothed_classes_are_those_of_torch(balanced, weighted):
    weights = torch.tensor([0.5, 2.0, 0.0, 1.5, 1.0, 1.0], dtype=torch.float64) if weighted else None
    chosen = choose("classification", 3, None, balanced, LABELS, weights, smoothing=0.3)
    each = F.cross_entropy(LOGITS, LABELS, chosen.weights, reduction="none", label_smoothing=0.3)
    expected = each.mean() if weights is None else (each * weights).mean()
    found = chosen.loss(LOGITS, with_weights(LABELS, weights))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    if weights is None and balanced is None:
        torch.testing.assert_close(found, F.cross_entropy(LOGITS, LABELS, label_smoothing=0.3), rtol=1e-12, atol=1e-12)
    true = choose("classification", 3, None, balanced, LABELS, weights)
    packed = with_weights(LABELS, weights)
    assert chosen.plain.loss(LOGITS, packed) == true.loss(LOGITS, packed)


@pytest.mark.parametrize("balanced", [None, "balanced"])
def test_one_smoothed_logit_is_two_smoothed_classes(balanced):
    bits, logit = (LABELS > 0).long(), LOGITS[:, :1]
    one, two = (choose("classification", n, None, balanced, bits, smoothing=0.2) for n in (1, 2))
    both = torch.cat([torch.zeros_like(logit), logit], 1)
    torch.testing.assert_close(one.loss(logit, bits), two.loss(both, bits), rtol=1e-12, atol=1e-12)


def test_smoothed_labels_by_hand():
    targets = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    several = choose("multilabel", 2, None, None, targets, smoothing=0.2)
    soft = torch.tensor([[0.9, 0.1], [0.1, 0.1]], dtype=torch.float64)
    expected = F.binary_cross_entropy_with_logits(LOGITS[:2, :2], soft)
    torch.testing.assert_close(several.loss(LOGITS[:2, :2], targets), expected, rtol=1e-7, atol=1e-7)


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


# Other losses


def test_losses_of_numbers_by_name(generator):
    outputs, targets = torch.randn(2, 7, 3, generator=generator, dtype=torch.float64)
    mae = choose("regression", 3, "mae", None, targets)
    assert mae.loss(outputs, targets).item() == pytest.approx(F.l1_loss(outputs, targets).item(), rel=1e-12)
    huber = choose("regression", 3, "huber", None, targets, delta=0.25)
    expected = F.huber_loss(outputs, targets, delta=0.25).item()
    assert huber.loss(outputs, targets).item() == pytest.approx(expected, rel=1e-12)
    level = choose("regression", 1, "quantile", None, targets, level=0.75)
    assert level.loss(torch.tensor([[1.0], [1.0]]), torch.tensor([[3.0], [-1.0]])).item() == (1.5 + 0.5) / 2
    assert mae.score(outputs, targets) == Objective("mse").score(outputs, targets)  # the score stays the same
    one = choose("regression", 1, "mae", None, targets, torch.ones(2))
    assert one.loss(torch.tensor([[2.0], [0.0]]), torch.tensor([[0.0, 0.5], [3.0, 1.5]])).item() == (1.0 + 4.5) / 2


def test_focal_loss_by_name_weighs_classes():
    balanced, plain = (choose("classification", 3, "focal", how, LABELS, gamma=1.0) for how in ("balanced", None))
    p = LOGITS.softmax(1).gather(1, LABELS[:, None])[:, 0]
    each = -(1 - p) * p.log()
    assert plain.loss(LOGITS, LABELS).item() == pytest.approx(each.mean().item(), rel=1e-12)
    expected = (each * balanced.weights[LABELS]).mean().item()
    assert balanced.loss(LOGITS, LABELS).item() == pytest.approx(expected, rel=1e-6)
    bits, one = torch.tensor([1, 0]), torch.tensor([[0.0], [0.0]])
    assert choose("classification", 1, "focal", None, bits).loss(one, bits).item() == pytest.approx(math.log(2) / 4)


def test_a_loss_of_ones_own_gets_outputs_and_targets_of_one_shape():
    seen = []

    def loss(outputs, targets):
        seen.append((outputs.shape, targets.shape, targets.dtype))
        return (outputs - targets).abs() ** 3

    outputs, targets = torch.tensor([[1.0], [3.0]]), torch.tensor([[0.0], [1.0]])
    assert choose("regression", 1, loss, None, targets).loss(outputs, targets).item() == (1 + 8) / 2
    weighted = choose("regression", 1, loss, None, targets, torch.ones(2))
    assert weighted.loss(outputs, torch.tensor([[0.0, 0.5], [1.0, 1.5]])).item() == (0.5 + 12) / 2
    assert choose("classification", 1, loss, None, LABELS).loss(outputs, torch.tensor([1, 0])).item() == 27 / 2
    assert seen[0] == ((2, 1), (2, 1), torch.float32) and seen[-1] == ((2,), (2,), torch.float32)
    several = choose("classification", 3, F.cross_entropy, None, LABELS)
    assert several.loss(LOGITS, LABELS) == F.cross_entropy(LOGITS, LABELS)


@pytest.mark.parametrize(
    ("loss", "error", "sentence"),
    [
        (
            lambda y, s: 3.0,
            ShapeError,
            "`loss` must give a tensor with one number, or with one for each of the 2 examples, got 3.0",
        ),
        (lambda y, s: torch.zeros(5), ShapeError, r"got a tensor of shape \(5,\): return, for example, its mean"),
        (F.mse_loss, ArgumentError, "gives one number for a batch, but the examples have weights: return a loss for"),
    ],
)
def test_a_loss_of_ones_own_is_checked(loss, error, sentence):
    objective = choose("regression", 1, loss, None, LABELS, torch.ones(2))
    with pytest.raises(error, match=sentence):
        objective.loss(torch.zeros(2, 1), torch.ones(2, 2))


def test_metrics_see_all_examples_once_in_units_of_the_data():
    def worst(outputs, targets):
        return (outputs - targets).abs().max()

    measured = Objective("mse", weighted=True, metrics={"worst": worst}, units=lambda values: 10 * values + 1)
    assert measured.measured(torch.tensor([[2.0], [0.5]]), torch.tensor([[0.0, 0.5], [3.0, 1.5]])) == {"worst": 25.0}
    assert Objective("nll").measured(LOGITS, LABELS) == {}


def test_numbers_have_an_axis_of_outputs_also_where_texts_store_one_number_each():
    def each(outputs, targets):
        assert outputs.shape == targets.shape == (2, 1)
        return (outputs - targets).abs().sum(1)

    objective = Objective("mse", error=each, metrics={"first": lambda outputs, targets: targets[0, 0]})
    assert objective.loss(torch.tensor([[1.0], [4.0]]), torch.tensor([0.0, 1.0])).item() == 2.0
    assert objective.measured(torch.tensor([[1.0], [4.0]]), torch.tensor([3.0, 1.0])) == {"first": 3.0}
