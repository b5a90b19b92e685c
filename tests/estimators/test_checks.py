"""Every check that the installed scikit-learn has for an estimator, for every estimator; none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lamina import estimators
from lamina.estimators import (
    PCA,
    EnsembleClassifier,
    EnsembleRegressor,
    KMeans,
    LaminaSearchCV,
    LinearRegression,
    NetworkClassifier,
    NetworkRegressor,
    PolynomialRegression,
    SequenceClassifier,
)

SMALL = {"hidden": 8, "epochs": 8, "learning_rate": 0.05}
ESTIMATORS = [
    NetworkClassifier(**SMALL),
    NetworkRegressor(**SMALL),
    SequenceClassifier(hidden=6, epochs=5, learning_rate=0.05),
    EnsembleClassifier(**SMALL, n_members=2),
    EnsembleRegressor(**SMALL, n_members=2),
    KMeans(),
    PCA(),
    LinearRegression(),
    PolynomialRegression(),
    PolynomialRegression(2, penalty=1e-3, norm=1, max_iter=1000),
]
SEARCH = LaminaSearchCV(NetworkClassifier(**SMALL, random_state=0), {"dropout": [0.0, 0.1]}, cv=2, error_score="raise")


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # else a check is skipped
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:invalid value encountered in cast:RuntimeWarning"
)  # scikit-learn's, for NaN targets
@parametrize_with_checks([SEARCH])
def test_scikit_learn_on_a_search(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


def test_every_estimator_is_checked():
    public = {getattr(estimators, name) for name in dir(estimators) if name[0].isupper()}
    assert public == {type(estimator) for estimator in [*ESTIMATORS, SEARCH]}
