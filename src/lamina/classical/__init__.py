"""Closed forms and classical algorithms of the notes, one module each: `classical.kmeans.fit(points, 3)`.

Regression, with a penalty or without, estimation, k-means, PCA and the perceptron rule; backpropagation by hand is in
`lamina.backprop`.
"""

from lamina.classical import (
    descent,
    estimation,
    kmeans,
    linear_regression,
    pca,
    penalized,
    perceptron_rule,
    polynomial,
    supervision,
)

__all__ = [
    "descent",
    "estimation",
    "kmeans",
    "linear_regression",
    "pca",
    "penalized",
    "perceptron_rule",
    "polynomial",
    "supervision",
]
