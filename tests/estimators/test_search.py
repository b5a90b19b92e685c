"""A search as one population gives what GridSearchCV gives, fit by fit."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from torch import nn

import lamina
from lamina.estimators import (
    EnsembleClassifier,
    LaminaSearchCV,
    NetworkClassifier,
    NetworkRegressor,
    SequenceClassifier,
)

X, Y = load_iris(return_X_y=True)
NETWORK = NetworkClassifier(hidden=8, epochs=6, learning_rate=0.03, random_state=0)
GRID = {"learning_rate": [1e-3, 3e-2], "dropout": [0.0, 0.2]}


def both(estimator, grid, X=X, y=Y, **options):
    ours = LaminaSearchCV(estimator, grid, **options).fit(X, y)
    return ours, GridSearchCV(estimator, grid, **options).fit(X, y)


def assert_same(ours, theirs, rounding=1e-9):
    times = {f"{what}_{name}_time" for what in ("mean", "std") for name in ("fit", "score")}
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    for name in set(ours.cv_results_) - times:
        found, wanted = ours.cv_results_[name], theirs.cv_results_[name]
        if isinstance(wanted, np.ndarray) and wanted.dtype.kind == "f":
            np.testing.assert_allclose(found, wanted, rtol=rounding, err_msg=name)
        else:
            assert list(found) == list(wanted), name
    for name in ("best_index_", "best_params_", "n_splits_", "multimetric_"):
        assert getattr(ours, name) == getattr(theirs, name), name


def test_one_population_gives_what_single_fits_give():
    ours, theirs = both(NETWORK, GRID, cv=3, return_train_score=True)
    assert_same(ours, theirs)  # accuracies are counts
    assert ours.trained_together_ == (12,) and set(ours.cv_results_["std_fit_time"]) == {0.0}
    assert (ours.predict_proba(X) == theirs.predict_proba(X)).all() and ours.score(X, Y) == theirs.score(X, Y)
    assert type(ours.best_estimator_) is NetworkClassifier and ours.classes_.tolist() == [0, 1, 2]


def test_probabilities_of_a_fold_are_those_of_a_single_fit():
    def loss(estimator, X, y):
        return -np.log(estimator.predict_proba(X)[np.arange(len(X)), y]).mean()

    ours, theirs = both(NETWORK, GRID, cv=2, scoring=loss, refit=False)
    assert_same(ours, theirs, rounding=1e-3)  # float32 in another order, over some updates
    assert not hasattr(ours, "best_estimator_")


def test_shapes_are_populations_of_their_own():
    ours, theirs = both(NETWORK, {"hidden": [4, 8], "learning_rate": [1e-3, 3e-2], "batch_size": [16]}, cv=2)
    assert_same(ours, theirs)
    assert ours.trained_together_ == (4, 4)
    listed = LaminaSearchCV(NETWORK, [{"dropout": [0.0, 0.1]}, {"hidden": [3]}], cv=2).fit(X, Y)
    assert listed.trained_together_ == (4, 2) and len(listed.cv_results_["params"]) == 3


def test_a_pipeline_is_searched_and_its_steps_see_their_fold_alone():
    pipeline = Pipeline([("scale", StandardScaler()), ("net", NETWORK)])
    grid = {"net__learning_rate": [1e-3, 3e-2], "scale": [StandardScaler(), MinMaxScaler(), "passthrough"]}
    ours, theirs = both(pipeline, grid, cv=2)
    assert ours.trained_together_ == (12,) and type(ours.best_estimator_) is Pipeline
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_folds_of_groups_and_of_any_size():
    groups = np.arange(len(X)) % 7
    ours = LaminaSearchCV(NETWORK, GRID, cv=GroupKFold(3)).fit(X, Y, groups=groups)
    theirs = GridSearchCV(NETWORK, GRID, cv=GroupKFold(3)).fit(X, Y, groups=groups)
    assert_same(ours, theirs)
    assert sum(ours.trained_together_) == 12


def test_regression_with_several_scores():
    X, y = load_diabetes(return_X_y=True)
    network = NetworkRegressor(hidden=8, epochs=5, random_state=0)
    options = {"cv": KFold(2), "scoring": ["r2", "neg_mean_absolute_error"], "refit": "r2"}
    ours, theirs = both(network, {"learning_rate": [1e-4, 1e-2], "penalty": [0.0, 1e-2]}, X, y, **options)
    assert_same(ours, theirs, rounding=1e-3)
    assert ours.best_params_["learning_rate"] == 1e-2


def test_without_a_random_state_all_networks_have_one_seed():
    network = NetworkClassifier(hidden=8, epochs=2)
    search = LaminaSearchCV(network, {"penalty": [0.0, 0.0]}, cv=2).fit(X, Y)
    scores = search.cv_results_["split0_test_score"]
    assert scores[0] == scores[1] and search.trained_together_ == (4,)


def test_a_network_that_diverges_has_the_error_score():
    network = NetworkRegressor(hidden=4, epochs=3, optimizer="minibatch", random_state=0)
    grid = {"learning_rate": [1e30, 1e-3]}
    with (
        pytest.warns(FitFailedWarning, match="2 fits failed out of a total of 4"),
        pytest.warns(UserWarning, match="scores are non-finite"),
    ):
        search = LaminaSearchCV(network, grid, cv=2).fit(X, X[:, 0])
    assert np.isnan(search.cv_results_["mean_test_score"][0]) and search.best_params_ == {"learning_rate": 1e-3}
    with pytest.raises(lamina.LaminaError, match="the training diverged at step .*: use a smaller `learning_rate`"):
        LaminaSearchCV(network, grid, cv=2, error_score="raise").fit(X, X[:, 0])


def test_what_a_fit_refuses_a_search_refuses():
    with pytest.raises(lamina.ArgumentError, match="`dropout` must be"):
        LaminaSearchCV(NETWORK, {"dropout": [0.1, 2.0]}, cv=2, error_score="raise").fit(X, Y)
    with pytest.raises(lamina.ArgumentError, match="`estimator` must be an estimator of networks .*LogisticRegression"):
        LaminaSearchCV(LogisticRegression(), {"C": [1.0]}).fit(X, Y)


def make(inputs, outputs, width=4):
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, outputs))


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (NetworkClassifier(make, epochs=2, random_state=0), {"width": [2, 4]}),
        (EnsembleClassifier(hidden=4, epochs=2, n_members=2, random_state=0), {"dropout": [0.0, 0.1]}),
    ],
)
def test_what_no_stack_trains_is_fitted_one_by_one(estimator, grid):
    ours, theirs = both(estimator, grid, cv=2)
    assert_same(ours, theirs)
    assert ours.trained_together_ == () and (ours.cv_results_["mean_fit_time"] > 0).all()


def test_texts_are_fitted_one_by_one_and_series_together():
    texts, labels = ["good", "bad"] * 10, [1, 0] * 10
    search = LaminaSearchCV(SequenceClassifier(hidden=4, epochs=1, random_state=0), {"penalty": [0.0, 0.1]}, cv=2)
    assert search.fit(texts, labels).trained_together_ == () and search.predict(["good"]).shape == (1,)
    assert search.fit(X, Y).trained_together_ == (4,)
