"""Metrics against hand-computed numbers and scikit-learn."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from lamina._errors import ShapeError
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
