"""Permutation importance: by hand, against scikit-learn with the same permutations, and its permutations."""

from collections import Counter

import numpy as np
import pytest
import torch
from sklearn.inspection import permutation_importance as theirs
from sklearn.linear_model import LinearRegression

from lamina._errors import ArgumentError
from lamina.functional.importance import permutation, permutation_importance


def test_the_same_permutations_give_the_numbers_of_scikit_learn():
    g = torch.Generator().manual_seed(0)
    U = torch.randn(30, 4, generator=g, dtype=torch.float64)
    y = U @ torch.tensor([3.0, 0.0, -1.0, 0.5], dtype=torch.float64) + torch.randn(30, generator=g)
    model = LinearRegression().fit(U.numpy(), y.numpy())
    seen = []

    def scoring(estimator, X, targets):
        seen.append(X.copy())
        return estimator.score(X, targets)

    found = theirs(model, U.numpy(), y.numpy(), scoring=scoring, n_repeats=3, random_state=5)
    shuffled = {(j, r): seen[1 + 3 * j + r][:, j] for j in range(4) for r in range(3)}  # first the data as they are

    def order(count, seed, column, repeat):
        place = {value: i for i, value in enumerate(U[:, column].tolist())}
        return torch.tensor([place[value] for value in shuffled[column, repeat].tolist()])

    mine = permutation_importance(lambda X: model.score(X.numpy(), y.numpy()), U, repeats=3, order=order)
    np.testing.assert_allclose(mine.numpy(), found.importances, rtol=1e-12, atol=1e-12)


def test_a_column_counts_and_what_stays_in_place_does_not():
    U = torch.arange(12.0).reshape(6, 2)
    drops = permutation_importance(lambda X: -(X[:, 1] - U[:, 1]).abs().sum().item(), U, repeats=2, seed=3)
    by_hand = [(U[permutation(6, 3, 1, r), 1] - U[:, 1]).abs().sum().item() for r in range(2)]
    assert drops.tolist() == [[0.0, 0.0], by_hand] and min(by_hand) > 0


def test_columns_are_shuffled_together_and_windows_as_a_whole():
    U = torch.arange(24.0).reshape(4, 2, 3)
    pairs, seen = {tuple(row) for row in U[:, :, 1:].flatten(1).tolist()}, []

    def score(X):
        seen.append(X)
        return 0.0

    assert permutation_importance(score, U, [[0], [1, 2]], repeats=2).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert torch.equal(seen[1][..., 1:], U[..., 1:]) and not torch.equal(seen[1][..., 0], U[..., 0])
    assert {tuple(row) for row in seen[3][:, :, 1:].flatten(1).tolist()} == pairs and torch.equal(seen[0], U)
    assert torch.equal(seen[3][..., 0], U[..., 0]) and not torch.equal(seen[3][..., 1], U[..., 1])


def test_permutations_are_a_pure_function_and_all_equally_likely():
    assert torch.equal(permutation(50, 1, 2, 3), permutation(50, 1, 2, 3))
    others = [permutation(50, 2, 2, 3), permutation(50, 1, 3, 3), permutation(50, 1, 2, 4)]
    assert all(not torch.equal(permutation(50, 1, 2, 3), other) for other in others)
    counts = Counter(tuple(permutation(3, seed, 1, 2).tolist()) for seed in range(1200))
    assert len(counts) == 6 and all(140 < n < 260 for n in counts.values())  # 200 +- 4.6 standard deviations


def test_repeats():
    with pytest.raises(ArgumentError, match="`repeats` must be at least 1, got 0"):
        permutation_importance(lambda X: 0.0, torch.zeros(3, 1), repeats=0)
