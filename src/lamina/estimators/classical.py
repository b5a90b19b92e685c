"""The classical methods of the notes (§1) behind scikit-learn's interface; `lamina.classical` computes."""

from typing import Any

import numpy as np
import torch
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from lamina._errors import ArgumentError
from lamina._types import Tensor
from lamina.classical import kmeans, linear_regression, pca, polynomial

FLOATS = (np.float64, np.float32)


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Cluster points by k-means, from all starts at once.

    Args:
        n_clusters: the number k of clusters.
        init: "k-means++" or "random", or the first centroids.
        n_init: the number of starts, of which the best is kept.
        max_iter: the most updates of a run.
        empty: what happens to the centroid of an empty cluster: it moves to the "farthest" point, or is "keep".
        random_state: of the starts.

    >>> points = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> KMeans(2, random_state=0).fit(points).inertia_
    1.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        empty: str = "farthest",
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.empty = empty
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "KMeans":
        """Find the clusters of points, one per row."""
        X = validate_data(self, X, dtype=FLOATS)
        if len(X) < self.n_clusters:
            raise ArgumentError(
                f"n_samples={len(X)} should be >= n_clusters={self.n_clusters}: ask for fewer clusters."
            )
        found = kmeans.fit(
            _tensor(X),
            self.n_clusters,
            start=self.init if isinstance(self.init, str) else _tensor(np.asarray(self.init, X.dtype)),
            restarts=self.n_init,
            empty=self.empty,
            max_iterations=self.max_iter,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        self.cluster_centers_ = found.centroids.numpy()
        self.labels_ = self._nearest(X)  # a run that `max_iter` cut short moved its centroids once more
        self.inertia_ = float(kmeans.distortion(_tensor(X), torch.from_numpy(self.labels_).long(), found.centroids))
        self.n_iter_ = found.iterations
        return self

    def _nearest(self, X: Any) -> Any:
        return kmeans.assign(_tensor(X), _tensor(self.cluster_centers_)).numpy().astype(np.int32)

    def predict(self, X: Any) -> Any:
        """Give the nearest centroid of each point."""
        return self._nearest(self._checked(X))

    def transform(self, X: Any) -> Any:
        """Give the distance of each point from each centroid."""
        points, centroids = _tensor(self._checked(X)), _tensor(self.cluster_centers_)
        return (points[:, None] - centroids).square().sum(-1).sqrt().numpy()

    def score(self, X: Any, y: Any = None) -> float:
        """Give the distortion of points with the opposite sign, so that more is better."""
        points, centroids = _tensor(self._checked(X)), _tensor(self.cluster_centers_)
        return -float(kmeans.distortion(points, kmeans.assign(points, centroids), centroids))

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=FLOATS).astype(self.cluster_centers_.dtype)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        return _preserving(super().__sklearn_tags__())


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Find the directions in which data vary most.

    Variances divide by N - 1 as scikit-learn's do; those of `classical.pca` divide by N.

    Args:
        n_components: how many directions to keep; all when None.

    >>> found = PCA(1).fit([[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]])
    >>> found.components_.round(4).tolist(), found.explained_variance_.round(6).tolist()
    ([[0.7071, 0.7071]], [8.0])
    """

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> "PCA":
        """Find the directions of points, one per row."""
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        found = self._found = pca.fit(_tensor(X), self.n_components)
        bessel = len(X) / (len(X) - 1)
        self.mean_, self.components_ = found.mean.numpy(), found.components.numpy()
        self.explained_variance_ = found.explained_variance.numpy() * bessel
        self.explained_variance_ratio_ = found.explained_variance.numpy() / (found.total_variance or 1.0)
        self.singular_values_ = (found.explained_variance * len(X)).sqrt().numpy()
        self.n_components_, self.n_samples_ = len(self.components_), len(X)
        return self

    def transform(self, X: Any) -> Any:
        """Give the coordinates of points along the directions."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=FLOATS).astype(self.mean_.dtype)
        return self._found.transform(_tensor(X)).numpy()

    def inverse_transform(self, X: Any) -> Any:
        """Give the points that have these coordinates and lie at the mean in all other directions."""
        check_is_fitted(self)
        return self._found.reconstruct(_tensor(np.asarray(X, self.mean_.dtype))).numpy()

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        return _preserving(super().__sklearn_tags__())


class _Least(RegressorMixin, BaseEstimator):
    """Least squares: outputs are linear in some columns made of the inputs."""

    def _read(self, X: Any, y: Any) -> tuple[Tensor, Tensor]:
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, multi_output=self._several)
        return _tensor(X), _tensor(np.asarray(y, np.float64))

    def _points(self, X: Any) -> Tensor:
        check_is_fitted(self)
        return _tensor(validate_data(self, X, reset=False, dtype=np.float64))

    _several = False
    """Whether there may be several targets."""


class LinearRegression(_Least):
    """Fit a linear function by least squares; among several solutions the one of least norm.

    Args:
        fit_intercept: whether the function has a constant; the notes' has none.

    >>> found = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> found.coef_.round(6).tolist(), round(found.intercept_, 6)
    ([2.0], 1.0)
    """

    _several = True

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any) -> "LinearRegression":
        """Fit to examples, one per row, with one target or several."""
        U, S = self._read(X, y)
        means = (U.mean(0), S.mean(0)) if self.fit_intercept else (torch.zeros_like(U[0]), torch.zeros_like(S[0]))
        found = linear_regression.fit(U - means[0], S - means[1])
        self.coef_, self.rank_ = found.weight.T.numpy() if S.ndim > 1 else found.weight.numpy(), found.rank
        intercept = (means[1] - means[0] @ found.weight).numpy()
        self.intercept_ = intercept if S.ndim > 1 else float(intercept)
        return self

    def predict(self, X: Any) -> Any:
        """Give the value of the function for each example."""
        return (self._points(X) @ torch.from_numpy(self.coef_.T)).numpy() + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class PolynomialRegression(_Least):
    """Fit a polynomial by least squares, with a penalty on the size of its coefficients if wanted.

    Several inputs have a polynomial each, and their sum is fitted. For products of inputs put scikit-learn's
    `PolynomialFeatures` before `LinearRegression`.

    Args:
        degree: the degree r.
        penalty: the weight lambda of the norm of all coefficients.
        norm: 2, or 1, which sets some coefficients to exactly zero.
        max_iter: the most steps for norm 1.
        tol: norm 1 stops when a step changes no coefficient by more than this, per unit of step size.

    >>> found = PolynomialRegression(2).fit([[0.0], [1.0], [2.0]], [1.0, 6.0, 17.0])
    >>> round(found.intercept_, 6), found.coef_.round(6).tolist()
    (1.0, [[2.0, 3.0]])
    """

    def __init__(
        self, degree: int = 3, *, penalty: float = 0.0, norm: int = 2, max_iter: int = 100_000, tol: float = 1e-10
    ) -> None:
        self.degree = degree
        self.penalty = penalty
        self.norm = norm
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any) -> "PolynomialRegression":
        """Fit to examples, one per row, with one target each."""
        U, S = self._read(X, y)
        found = polynomial.fit_powers(self._powers(U), S, self.penalty, self.norm, self.max_iter, self.tol)
        self.intercept_ = float(found.weight[0])
        self.coef_ = found.weight[1:].reshape(U.shape[1], self.degree).numpy()
        self.n_iter_ = max(1, found.iterations)
        return self

    def _powers(self, points: Tensor) -> Tensor:
        """Put 1 and the powers of each column beside each other."""
        powers = [polynomial.vandermonde(column, self.degree)[:, 1:] for column in points.unbind(1)]
        return torch.cat([torch.ones_like(points[:, :1]), *powers], 1)

    def predict(self, X: Any) -> Any:
        """Give the value of the polynomial for each example."""
        powers = self._powers(self._points(X))
        return (powers[:, 1:] @ torch.from_numpy(self.coef_).flatten()).numpy() + self.intercept_


def _tensor(values: Any) -> Tensor:
    """Copy an array, since torch must not share memory that cannot be written."""
    return torch.from_numpy(np.array(values))


def _preserving(tags: Any) -> Any:
    """Say that float32 stays float32."""
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags
