"""Networks as scikit-learn's classifiers and regressors."""

from lamina.estimators._network import Classifying, NetworkEstimator, Regressing


class NetworkClassifier(Classifying, NetworkEstimator):
    """Classify rows of numbers, or pictures, with a network; the parameters are those of `NetworkEstimator`.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> NetworkClassifier(hidden=8, epochs=20, learning_rate=0.03, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """


class NetworkRegressor(Regressing, NetworkEstimator):
    """Predict one number or several with a network; the parameters are those of `NetworkEstimator`.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> NetworkRegressor(hidden=8, epochs=20, learning_rate=0.03, random_state=0).fit(X, y).score(X, y) > 0.4
    True
    """
