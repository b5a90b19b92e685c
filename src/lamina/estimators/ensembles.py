"""Ensembles: K networks that differ in their initial weights, trained as one stack; their mean, and their spread."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lamina._errors import RunError, whole
from lamina.estimators._network import (
    Classifying,
    NetworkEstimator,
    Regressing,
    _alone,
    _loaded,
    stacked_runtime,
    with_all_parameters,
)
from lamina.populations.members import DIVERGED, Member
from lamina.populations.population import train_population
from lamina.training.plan import Plan
from lamina.training.stopping import Row


@with_all_parameters
class _Ensemble(NetworkEstimator):
    """K networks whose predictions are averaged.

    Args:
        architecture: a name from `lamina list`, or a function of `inputs` and `outputs` that makes a torch module.
        n_members: the number K of networks. Those of a named architecture are trained as one stack.
        **options: what else `NetworkEstimator` takes.
    """

    _stacks = False
    _own = (*NetworkEstimator._own, "n_members")

    def __init__(self, architecture: Any = "fnn", *, n_members: int = 10, **options: Any) -> None:
        super().__init__(architecture, **options)
        self.n_members = n_members

    def _train(self, plan: Plan, seed: int) -> None:
        """Train all members, with one validation part and one order of batches."""
        whole("n_members", self.n_members, 1)
        seeds = range(seed, seed + self.n_members)
        found = self._apart(plan, seeds) if callable(self.architecture) else self._together(plan, seeds)
        histories, self.networks_ = zip(*found, strict=True)
        self.preprocess_ = plan.task.preprocess
        self.history_ = histories
        self.loss_curve_ = [[row["loss"] for row in rows] for rows in histories]
        self.n_iter_ = max(int(rows[-1]["epoch"]) for rows in histories)

    def _together(self, plan: Plan, seeds: Sequence[int]) -> list[Any]:
        members = [Member(plan.recipe, plan.model.config, each) for each in seeds]
        results = train_population(members, plan.split, runtime=stacked_runtime(plan, len(members), self.runtime))
        diverged = sum(result.state == DIVERGED for result in results)
        if diverged:
            raise RunError(
                f"{diverged} of {len(members)} members diverged: use a smaller `learning_rate`, or `clip` gradients."
            )
        pairs = zip(members, results, strict=True)
        return [(result.rows, _loaded(member.build(), result.weights)) for member, result in pairs]

    def _apart(self, plan: Plan, seeds: Sequence[int]) -> list[tuple[list[Row], Any]]:
        plans = [self._planned(plan.split, each) for each in seeds]
        trained = [_alone(each, self.runtime) for each in plans]
        return [(rows, _loaded(each.model, weights)) for each, (rows, weights) in zip(plans, trained, strict=True)]

    def _members(self, X: Any) -> Any:
        """Give what each member predicts: [members, examples, classes or outputs]."""
        check_is_fitted(self)
        stored = self._stored(X)
        return np.stack([self._precisely(stored, network) for network in self.networks_])


class EnsembleClassifier(Classifying, _Ensemble):
    """Classify by the mean probability of K networks; the parameters are `n_members` and those of `NetworkEstimator`.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ensemble = EnsembleClassifier(hidden=8, epochs=20, learning_rate=0.03, n_members=4, random_state=0).fit(X, y)
    >>> mean, spread = ensemble.predict_proba(X, return_std=True)
    >>> ensemble.score(X, y) > 0.9, mean.shape == spread.shape
    (True, True)
    """

    def predict_proba(self, X: Any, return_std: bool = False) -> Any:
        """Give the mean probability of each class, and the standard deviation over the members if wanted."""
        each = self._members(X)
        return (each.mean(0), each.std(0)) if return_std else each.mean(0)


class EnsembleRegressor(Regressing, _Ensemble):
    """Predict numbers by the mean of K networks; the parameters are `n_members` and those of `NetworkEstimator`.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ensemble = EnsembleRegressor(hidden=8, epochs=20, learning_rate=0.03, n_members=4, random_state=0).fit(X, y)
    >>> mean, spread = ensemble.predict(X, return_std=True)
    >>> ensemble.score(X, y) > 0.4, mean.shape == spread.shape
    (True, True)
    """

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Give the mean prediction, and the standard deviation over the members if wanted."""
        each = self._members(X)
        mean, spread = self._as_given(each.mean(0)), self._as_given(each.std(0))
        return (mean, spread) if return_std else mean
