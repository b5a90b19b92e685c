"""Conformal quantiles and sets: by hand, and the finite-sample bound by enumeration."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError
from lamina.functional.conformal import conformal_quantile, conformal_set, label_scores


@pytest.mark.parametrize(
    ("n", "coverage", "rank"),
    [(9, 0.9, 9), (10, 0.9, 10), (19, 0.9, 18), (99, 0.9, 90), (100, 0.9, 91), (99, 0.07, 7), (4, 0.5, 3), (1, 0.5, 1)],
)
def test_the_rank_by_hand(n, coverage, rank):
    scores = torch.arange(1.0, n + 1)[torch.randperm(n, generator=torch.Generator().manual_seed(n))]
    assert conformal_quantile(scores, coverage).item() == rank
    both = torch.stack([scores, -scores], 1)
    assert conformal_quantile(both, coverage).tolist() == [rank, rank - n - 1]


@given(st.lists(st.integers(0, 12), min_size=3, max_size=12), st.integers(1, 99))
@settings(max_examples=100, deadline=None)
def test_every_example_once_the_new_one_is_covered_as_often_as_asked(values, percent):
    """Exchangeable scores are equally likely to be the new one, so the mean over all choices is the probability."""
    scores, coverage = torch.tensor(values, dtype=torch.float64), percent / 100
    n = len(scores) - 1
    if math.ceil((n + 1) * coverage - 1e-9) > n:
        with pytest.raises(ArgumentError, match="needs at least"):
            conformal_quantile(scores[1:], coverage)
        return
    others = [torch.cat([scores[:i], scores[i + 1 :]]) for i in range(n + 1)]
    share = sum(bool(scores[i] <= conformal_quantile(rest, coverage)) for i, rest in enumerate(others)) / (n + 1)
    assert share >= coverage - 1e-12
    if len(set(values)) == len(values):  # without ties the upper bound holds too, and the share is the rank's
        assert share < coverage + 1 / (n + 1) + 1e-12
        assert share == pytest.approx(math.ceil((n + 1) * coverage - 1e-9) / (n + 1))


def test_sets_by_hand():
    p = torch.tensor([[0.7, 0.2, 0.1], [0.4, 0.35, 0.25], [0.34, 0.33, 0.33]], dtype=torch.float64)
    assert label_scores(p, torch.tensor([0, 2, 1])).tolist() == pytest.approx([0.3, 0.75, 0.67])
    assert conformal_set(p, 0.65).tolist() == [[True, False, False], [True, True, False], [True, False, False]]
    assert conformal_set(p, 0.0).sum(1).tolist() == [1, 1, 1]  # the most likely class, never nothing
    assert conformal_set(p, 1.0).all()


@given(st.integers(0, 2**31), st.integers(5, 30), st.integers(2, 5))
@settings(max_examples=25, deadline=None)
def test_sets_hold_the_right_class_as_often_as_asked(seed, n, classes):
    g = torch.Generator().manual_seed(seed)
    p = torch.rand(n + 1, classes, generator=g, dtype=torch.float64)
    p, labels = p / p.sum(1, keepdim=True), torch.randint(classes, (n + 1,), generator=g)
    scores, held = label_scores(p, labels), 0
    for i in range(n + 1):
        rest = torch.arange(n + 1) != i
        held += int(conformal_set(p[i], conformal_quantile(scores[rest], 0.8))[labels[i]])
    assert held / (n + 1) >= 0.8


def test_too_few_examples():
    with pytest.raises(
        ArgumentError,
        match=r"`coverage` 0.9 needs at least 9 calibration examples \(n >= 1/alpha - 1 with alpha = 0.1\), got 8: "
        r"ask for at most 0.888, or calibrate on more\.",
    ):
        conformal_quantile(torch.arange(8.0), 0.9)
    with pytest.raises(
        ArgumentError, match=r"`coverage` 0.99 needs at least 99 calibration examples .* got 0: give some"
    ):
        conformal_quantile(torch.zeros(0), 0.99)
    assert conformal_quantile(torch.arange(8.0), 0.888).item() == 7  # what the sentence says is possible


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.5, 90, math.nan])
def test_coverage_is_a_probability(coverage):
    with pytest.raises(ArgumentError, match="`coverage` must be greater than 0 and less than 1, got"):
        conformal_quantile(torch.arange(20.0), coverage)
