"""Metrics against hand-computed numbers and scikit-learn."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from lamina._errors import ArgumentError, ShapeError
from lamina.functional import metrics as m


@given(st.integers(0, 2**31), st.integers(2, 60), st.integers(2, 5))
@settings(max_examples=25, deadline=None)
def test_classification_equals_scikit_learn(seed, n, classes):
    g = torch.Generator().manual_seed(seed)
    labels, guesses = (torch.randint(classes, (n,), generator=g) for _ in range(2))
    counts = m.confusion(guesses, labels, classes)
    assert m.accuracy(guesses, labels) == sk.accuracy_score(labels, guesses)
    assert counts.tolist() == sk.confusion_matrix(labels, guesses, labels=range(classes)).tolist()
    theirs = sk.f1_score(labels, guesses, labels=range(classes), average=None, zero_division=0)
    torch.testing.assert_close(m.f1_scores(counts), torch.tensor(theirs), atol=1e-12, rtol=0)


@given(st.integers(0, 2**31), st.integers(4, 60))
@settings(max_examples=25, deadline=None)
def test_auc_equals_scikit_learn_also_with_ties(seed, n):
    g = torch.Generator().manual_seed(seed)
    positive = torch.randint(2, (n,), generator=g)
    positive[:2] = torch.tensor([0, 1])
    scores = torch.randint(6, (n,), generator=g).double() / 6
    assert m.auc(scores, positive) == pytest.approx(sk.roc_auc_score(positive, scores), abs=1e-12)


def test_auc_of_one_class_is_not_a_number():
    assert math.isnan(m.auc(torch.tensor([0.1, 0.2]), torch.tensor([1, 1])))


def test_r2_equals_scikit_learn_and_refuses_other_shapes():
    g = torch.Generator().manual_seed(0)
    y, s = (torch.randn(20, 3, generator=g, dtype=torch.float64) for _ in range(2))
    assert m.r2(y, s) == pytest.approx(sk.r2_score(s, y), abs=1e-12)
    with pytest.raises(ShapeError, match=r"`outputs` must have the shape of `targets`, \(20,\), got \(20, 3\)"):
        m.r2(y, s[:, 0])


def test_calibration_by_hand():
    found = m.calibration(torch.tensor([0.95, 0.91, 0.55, 1.0]), torch.tensor([1, 0, 1, 1]), bins=10)
    assert found.count == (1, 3)
    assert found.accuracy == pytest.approx((1.0, 2 / 3))
    assert found.confidence == pytest.approx((0.55, (0.95 + 0.91 + 1.0) / 3), abs=1e-6)
    assert found.error == pytest.approx((0.45 + 3 * abs(2.86 / 3 - 2 / 3)) / 4, abs=1e-6)


# Words


@pytest.mark.notes("N5.45")
def test_perplexity_is_the_exponential_of_the_mean_cross_entropy():
    g = torch.Generator().manual_seed(0)
    logits, targets = torch.randn(3, 7, 11, generator=g), torch.randint(0, 11, (3, 7), generator=g)
    counted = targets != 0
    theirs = torch.nn.functional.cross_entropy(logits.double()[counted], targets[counted])
    assert m.perplexity(logits, targets) == pytest.approx(theirs.exp().item(), rel=1e-12)
    by_hand = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]]).log()
    assert m.perplexity(by_hand, torch.tensor([1, 1]), ignore=-100) == pytest.approx(1 / math.sqrt(0.25 * 0.8))
    assert m.perplexity(torch.zeros(4, 65), torch.arange(1, 5)) == pytest.approx(65.0)
    assert math.isnan(m.perplexity(torch.zeros(2, 3), torch.zeros(2, dtype=torch.int64)))


def test_tokens_and_sequences_are_counted_without_padding():
    guesses = torch.tensor([[5, 6, 3, 9], [5, 7, 3, 0], [4, 3, 1, 1]])
    targets = torch.tensor([[5, 6, 3, 0], [5, 6, 3, 0], [4, 3, 0, 0]])
    assert m.token_accuracy(guesses, targets) == 7 / 8 and m.sequence_accuracy(guesses, targets) == 2 / 3
    assert m.token_accuracy(guesses, targets, ignore=-100) == 8 / 12
    assert m.sequence_accuracy(guesses, targets, ignore=-100) == 0.0
    assert math.isnan(m.token_accuracy(guesses[:0], targets[:0]))


# Forecasts


def test_naive_forecasts_repeat_the_last_season():
    past = torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 0.0, 7.0, 8.0, 9.0]])
    assert m.naive_forecast(past, 2).tolist() == [[5.0, 5.0], [9.0, 9.0]]
    assert m.naive_forecast(past, 5, season=3).tolist() == [[3.0, 4.0, 5.0, 3.0, 4.0], [7.0, 8.0, 9.0, 7.0, 8.0]]


def test_forecast_errors_by_hand():
    past, came = torch.tensor([1.0, 3.0, 2.0, 6.0]), torch.tensor([7.0, 4.0])
    errors = m.forecast_errors(torch.tensor([6.0, 7.0]), came, past)
    # errors 1 and 3; steps 2, 1, 4; the last value 6 misses by 1 and 2
    assert errors.mae == 2.0 and errors.rmse == pytest.approx(math.sqrt(5)) and errors.naive_mae == 1.5
    assert errors.mase == pytest.approx(2 / (7 / 3)) and errors.relative == pytest.approx(2 / 1.5)
    seasonal = m.forecast_errors(torch.tensor([6.0, 7.0]), came, past, season=2)
    # steps over a season: 1, 3; the last season 2, 6 misses by 5 and 2
    assert seasonal.mase == pytest.approx(2 / 2) and seasonal.naive_mae == 3.5
    whole = torch.sin(2 * torch.pi * torch.arange(48) / 12)
    perfect = m.forecast_errors(m.naive_forecast(whole[:40], 8, 12), whole[40:], whole[:40], season=12)
    assert perfect.mae < 1e-6
    assert m.forecast_errors(came, came, torch.zeros(4)).mae == 0.0


def test_forecast_messages():
    values = torch.zeros(4)
    with pytest.raises(ShapeError, match=r"`outputs` must have the shape of `targets`, \(4,\), got \(3,\)"):
        m.forecast_errors(values[:3], values, values)
    with pytest.raises(ArgumentError, match=r"`season` must be below the length of the history \(4\), got 4: give"):
        m.naive_forecast(values, 1, season=4)
    with pytest.raises(ArgumentError, match="`season` must be at least 1, got 0"):
        m.naive_forecast(values, 1, season=0)
    with pytest.raises(ArgumentError, match="`horizon` must be at least 1, got 0"):
        m.naive_forecast(values, 0)


# Labels and weights, against scikit-learn


def _drawn(seed, labels=3, count=40):
    g = torch.Generator().manual_seed(seed)
    targets = (torch.rand(count, labels, generator=g) < torch.tensor([0.5, 0.2, 0.8])[:labels]).long()
    scores = (torch.rand(count, labels, generator=g, dtype=torch.float64) * 20).round() / 20  # with ties
    weights = torch.rand(count, generator=g, dtype=torch.float64) * 3
    return scores, targets, weights.where(torch.arange(count) % 7 > 0, torch.zeros(()).double())


@pytest.mark.parametrize("weighted", (False, True))
@pytest.mark.parametrize("seed", range(5))
def test_labels_are_scored_as_by_scikit_learn(seed, weighted):
    scores, targets, weights = _drawn(seed)
    w = weights if weighted else None
    guesses = (scores >= 0.5).long()
    found, same = m.label_scores(guesses, targets, w), pytest.approx
    how = {"zero_division": 0, "sample_weight": w}
    kinds = zip((found.precision, found.recall, found.f1), ("precision", "recall", "f1"), strict=True)
    for ours, name in kinds:
        expected = getattr(sk, f"{name}_score")(targets, guesses, average=None, **how)
        assert ours.tolist() == same(expected.tolist(), rel=1e-12)
    assert found.micro_f1 == same(sk.f1_score(targets, guesses, average="micro", **how), rel=1e-12)
    assert found.macro_f1 == same(sk.f1_score(targets, guesses, average="macro", **how), rel=1e-12)
    assert found.exact == same(sk.accuracy_score(targets, guesses, sample_weight=w), rel=1e-12)
    assert found.accuracy == same(1 - sk.hamming_loss(targets, guesses, sample_weight=w), rel=1e-12)
    for k in range(3):
        ours = m.average_precision(scores[:, k], targets[:, k], w)
        expected = sk.average_precision_score(targets[:, k], scores[:, k], sample_weight=w)
        assert ours == same(expected, rel=1e-12)
        area = sk.roc_auc_score(targets[:, k], scores[:, k], sample_weight=w)
        assert m.auc(scores[:, k], targets[:, k], w) == same(area, rel=1e-12)


def test_labels_by_hand():
    targets = torch.tensor([[1, 0], [1, 0], [0, 0], [0, 0]])
    found = m.label_scores(torch.tensor([[1, 0], [0, 0], [1, 0], [0, 0]]), targets, torch.tensor([3.0, 1.0, 1.0, 1.0]))
    assert found.prevalence.tolist() == pytest.approx([4 / 6, 0]) and found.precision.tolist() == [3 / 4, 0]
    assert found.recall.tolist() == [3 / 4, 0] and found.f1.tolist() == [3 / 4, 0]
    assert found.exact == pytest.approx(4 / 6) and found.accuracy == pytest.approx((4 / 6 + 1) / 2)
    assert found.micro_f1 == 3 / 4 and found.macro_f1 == 3 / 8
    assert math.isnan(m.average_precision(torch.tensor([0.1, 0.2]), torch.tensor([0, 0])))
    # thresholds 0.9: precision 1, recall 1/2; 0.5 (two examples): precision 2/3, recall 1
    assert m.average_precision(torch.tensor([0.9, 0.5, 0.5]), torch.tensor([1, 1, 0])) == pytest.approx(1 / 2 + 1 / 3)


@pytest.mark.parametrize("seed", range(3))
def test_weighted_metrics_are_those_of_scikit_learn(seed):
    scores, targets, w = _drawn(seed, labels=2)
    guesses, labels, same = (scores[:, 0] > 0.4).long(), targets[:, 0], pytest.approx
    assert m.accuracy(guesses, labels, w) == same(sk.accuracy_score(labels, guesses, sample_weight=w), rel=1e-12)
    matrix = m.confusion(guesses, labels, 2, w)
    assert matrix.flatten().tolist() == same(sk.confusion_matrix(labels, guesses, sample_weight=w).ravel().tolist())
    # sums of weights below 1 are divided by as well
    small = m.f1_scores(m.confusion(guesses, labels, 2, w / 300)).tolist()
    assert small == same(sk.f1_score(labels, guesses, average=None, sample_weight=w).tolist(), rel=1e-12)
    y, S = scores, scores.flip(0) + targets
    assert m.r2(y, S, w) == same(sk.r2_score(S, y, sample_weight=w), rel=1e-12)
    mse, mae = m.mean_errors(y, S, w)
    assert mse == same(sk.mean_squared_error(S, y, sample_weight=w), rel=1e-12)
    assert mae == same(sk.mean_absolute_error(S, y, sample_weight=w), rel=1e-12)
