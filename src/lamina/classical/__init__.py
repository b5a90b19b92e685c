"""Closed forms and classical algorithms of the notes, a module each: `classical.kmeans.fit(points, 3)`.

Regression, estimation, k-means, PCA, the perceptron rule, and backpropagation by hand with its variants.
"""

from lamina.classical import (
    autograd_graph,
    backpropagation,
    bptt,
    descent,
    estimation,
    kmeans,
    linear_regression,
    on_the_fly,
    pca,
    perceptron_rule,
    polynomial,
    reuse,
    supervision,
)

__all__ = [
    "autograd_graph",
    "backpropagation",
    "bptt",
    "descent",
    "estimation",
    "kmeans",
    "linear_regression",
    "on_the_fly",
    "pca",
    "perceptron_rule",
    "polynomial",
    "reuse",
    "supervision",
]
