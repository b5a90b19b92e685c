"""Cross-validation: every example validates once, fitted on the others only."""

import pytest
import torch

import lamina
from lamina._errors import ArgumentError
from lamina.training.cross_validation import cross_validate
from lamina.training.recipe import Adam, Recipe


def make(fold):
    return lamina.build("fnn", inputs=2, outputs=2, hidden=8, seed=fold)


def test_scores_are_those_of_separate_folds():
    data = lamina.load("moons", count=90, seed=0)
    found = cross_validate(make, data, Recipe(Adam(0.02), epochs=15, batch_size=16), k=3)
    assert len(found.scores) == 3 and found.mean == pytest.approx(sum(found.scores) / 3) and 0.7 < found.mean <= 1
    assert found.spread == pytest.approx(torch.tensor(found.scores, dtype=torch.float64).std().item())
    assert str(found).startswith("accuracy 0.") and str(found).endswith("over 3 folds")
    again = cross_validate(make, data, Recipe(Adam(0.02), epochs=15, batch_size=16), k=3)
    assert again.rows == found.rows


def test_one_fold_is_refused():
    with pytest.raises(ArgumentError, match="`k` must be at least 2, got 1"):
        cross_validate(make, lamina.load("moons"), Recipe(), k=1)
