"""Ridge and logistic regression: as scikit-learn has them, and by hand."""

import pytest
import torch
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge

from lamina._errors import ArgumentError
from lamina.classical.penalized import logistic, ridge


def table(load):
    inputs, targets = map(torch.as_tensor, load(return_X_y=True))
    return (inputs - inputs.mean(0)) / inputs.std(0), targets


@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_is_that_of_scikit_learn(weighted):
    inputs, targets = table(load_diabetes)
    weights = torch.linspace(0.5, 2, len(inputs), dtype=torch.float64) if weighted else None
    found = ridge(inputs + 3, targets[:, None], 2.5, weights)
    expected = Ridge(2.5).fit(inputs + 3, targets, weights)
    assert found.weight.flatten().tolist() == pytest.approx(expected.coef_.tolist(), rel=1e-8)
    assert found.bias.item() == pytest.approx(expected.intercept_, rel=1e-8)
    expected_outputs = expected.predict(inputs.numpy()).tolist()
    assert found.predict(inputs).flatten().tolist() == pytest.approx(expected_outputs, rel=1e-8)


@pytest.mark.parametrize(("classes", "share"), [(3, 1.0), (2, 2.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_regression_is_that_of_scikit_learn(classes, share, weighted):
    inputs, labels = table(load_iris)
    inputs, labels = inputs[labels < classes], labels[labels < classes]
    weights = torch.linspace(0.5, 2, len(inputs), dtype=torch.float64) if weighted else None
    found = logistic(inputs, labels, classes, 0.7, weights)
    expected = LogisticRegression(C=share / 0.7, tol=1e-10, max_iter=5000).fit(inputs, labels, weights)
    p = found.predict(inputs).softmax(1).flatten().tolist()
    assert p == pytest.approx(expected.predict_proba(inputs).flatten().tolist(), abs=1e-3)  # it stops at a gradient


def test_logistic_regression_can_be_fitted_where_gradients_are_off():
    with torch.no_grad():
        found = logistic(torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1]), 2)
    assert found.weight[0, 1] > 0.1 and not found.weight.requires_grad


def test_without_a_penalty_there_may_be_no_minimum():
    with pytest.raises(ArgumentError, match="`penalty` must be greater than 0"):
        logistic(torch.ones(2, 1), torch.tensor([0, 1]), 2, 0.0)
    with pytest.raises(ArgumentError, match="`penalty` must be greater than 0"):
        ridge(torch.ones(2, 1), torch.ones(2, 1), 0.0)
    with pytest.raises(ArgumentError, match="`targets` must be finite"):
        ridge(torch.ones(2, 1), torch.tensor([[1.0], [torch.nan]]))
