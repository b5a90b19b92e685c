"""The classical estimators agree with scikit-learn's in float64, and with `lamina.classical`."""

import numpy as np
import pytest
import torch
from sklearn import cluster, decomposition, linear_model
from sklearn.datasets import load_diabetes, load_iris, make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import lamina
from lamina.classical import polynomial
from lamina.estimators import PCA, KMeans, LinearRegression, PolynomialRegression

X, Y = load_diabetes(return_X_y=True)
POINTS = load_iris().data


def test_k_means_from_given_starts_is_scikit_learn_s():
    start = POINTS[[0, 60, 120]]
    ours = KMeans(3, init=start).fit(POINTS)
    theirs = cluster.KMeans(3, init=start, n_init=1, tol=0).fit(POINTS)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-12)
    assert (ours.labels_ == theirs.labels_).all() and np.isclose(ours.inertia_, theirs.inertia_, rtol=1e-12)
    np.testing.assert_allclose(ours.transform(POINTS), theirs.transform(POINTS), rtol=1e-6)
    assert np.isclose(ours.score(POINTS), -ours.inertia_, rtol=1e-12)
    assert (ours.predict(POINTS) == ours.labels_).all() and (ours.fit_predict(POINTS) == ours.labels_).all()


def test_k_means_finds_blobs_and_names_its_columns():
    points, truth = make_blobs(200, centers=[[0, 0], [9, 9], [0, 9]], random_state=0)
    found = KMeans(3, random_state=0).fit(points)
    assert all(len(set(found.labels_[truth == k])) == 1 for k in range(3)) and found.n_iter_ >= 1
    framed = KMeans(3, random_state=0).set_output(transform="pandas").fit_transform(points)
    assert list(framed.columns) == ["kmeans0", "kmeans1", "kmeans2"]
    with pytest.raises(lamina.ArgumentError, match="n_samples=2 should be >= n_clusters=3: ask for fewer clusters"):
        KMeans(3).fit(points[:2])


def test_a_run_of_k_means_that_is_cut_short_has_labels_of_its_last_centroids():
    found = KMeans(5, init="random", n_init=1, max_iter=1, random_state=1).fit(POINTS)
    assert (found.labels_ == found.predict(POINTS)).all() and found.n_iter_ == 1
    nearest = found.transform(POINTS).min(1)
    assert np.isclose(found.inertia_, (nearest**2).sum(), rtol=1e-12)


@pytest.mark.parametrize("components", [None, 1, 3])
def test_pca_is_scikit_learn_s(components):
    ours, theirs = PCA(components).fit(X), decomposition.PCA(components, svd_solver="full").fit(X)
    for name in ("mean_", "components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-7, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-12)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), theirs.inverse_transform(theirs.transform(X)))
    assert ours.n_components_ == theirs.n_components_ and ours.n_samples_ == len(X)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())


@pytest.mark.parametrize("intercept", [True, False])
def test_linear_regression_is_scikit_learn_s(intercept):
    for target in (Y, np.stack([Y, X[:, 0] ** 2], 1)):
        ours = LinearRegression(fit_intercept=intercept).fit(X, target)
        theirs = linear_model.LinearRegression(fit_intercept=intercept).fit(X, target)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8, atol=1e-10)
        assert ours.rank_ == theirs.rank_ == 10


def test_linear_regression_of_dependent_columns_has_least_norm():
    found = LinearRegression(fit_intercept=False).fit([[1.0, 1.0], [2.0, 2.0]], [2.0, 4.0])
    np.testing.assert_allclose(found.coef_, [1.0, 1.0], rtol=1e-12)
    assert found.rank_ == 1


def test_a_polynomial_of_one_input_is_that_of_the_notes():
    u = np.linspace(-1, 1, 20)
    s = np.sin(3 * u)
    for options in ({}, {"penalty": 1e-3}, {"penalty": 1e-2, "norm": 1}):
        ours = PolynomialRegression(5, **options).fit(u[:, None], s)
        theirs = polynomial.fit(torch.from_numpy(u), torch.from_numpy(s), 5, **options)
        np.testing.assert_allclose([ours.intercept_, *ours.coef_[0]], theirs.weight.numpy(), rtol=1e-10, atol=1e-12)
    assert (ours.coef_ == 0).any() and ours.n_iter_ == theirs.iterations > 1


def test_a_polynomial_of_several_inputs_is_a_sum_of_polynomials():
    U = X[:, :3]
    ours = PolynomialRegression(2).fit(U, Y)
    theirs = linear_model.LinearRegression().fit(np.hstack([U, U**2]), Y)
    np.testing.assert_allclose(ours.predict(U), theirs.predict(np.hstack([U, U**2])), rtol=1e-8)
    assert ours.coef_.shape == (3, 2)
    mixed = make_pipeline(PolynomialFeatures(2, include_bias=False), LinearRegression()).fit(U, Y)
    assert mixed.score(U, Y) > ours.score(U, Y)


def test_bad_numbers_are_refused_by_the_methods():
    with pytest.raises(lamina.ArgumentError, match="`penalty` must be at least 0, got -1"):
        PolynomialRegression(penalty=-1).fit(X, Y)
    with pytest.raises(lamina.ArgumentError, match="`components` must be in"):
        PCA(11).fit(X)
