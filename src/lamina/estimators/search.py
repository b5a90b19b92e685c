"""A grid search whose networks, of all configurations and folds, are trained as one population."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import joblib
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable

from lamina._errors import ArgumentError, RunError
from lamina.estimators._network import NetworkEstimator, stacked_runtime
from lamina.populations.members import DIVERGED, Member, MemberResult, by_shape
from lamina.populations.population import train_population
from lamina.training.plan import Plan
from lamina.training.tasks.kinds import task_of
from lamina.training.tasks.task import Task


class LaminaSearchCV(GridSearchCV):
    """Search a grid as `GridSearchCV` does, with all configurations and folds trained as one population.

    Configurations that differ in what a stack carries (learning rate, momentum, penalty, dropout, clipping, stopping
    bounds, initialization and the like) are trained together; those of another shape (`hidden`, `batch_size`,
    `optimizer`, `epochs`) are a population of their own, one after the other. Each network is what `fit` by itself
    gives, up to rounding. What no stack trains (texts, functions that make a network, ensembles) is fitted one by one.

    `mean_fit_time` of `cv_results_` is the time of a population divided by its members. `trained_together_` has the
    number of networks of each population.

    Args:
        estimator: an estimator of networks, or a pipeline that ends in one.
        param_grid: lists of values by name, or several such grids.
        scoring: as in `GridSearchCV`, like all that follows.
        refit: whether to fit the best configuration to all data, alone; or the name of the score that decides, or a
            function of `cv_results_`.
        cv: the number of folds, or a splitter.
        error_score: the score of a network whose training diverges; "raise" for an error.
        return_train_score: whether training scores are computed as well.

    >>> from sklearn.datasets import load_iris
    >>> from lamina.estimators import NetworkClassifier
    >>> network = NetworkClassifier(hidden=8, epochs=10, random_state=0)
    >>> search = LaminaSearchCV(network, {"learning_rate": [1e-4, 1e-2], "dropout": [0.0, 0.1]}, cv=3)
    >>> search = search.fit(*load_iris(return_X_y=True))
    >>> search.best_params_["learning_rate"], search.trained_together_
    (0.01, (12,))
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        refit: Any = True,
        cv: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            refit=refit,
            cv=cv,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> "LaminaSearchCV":
        """Train and judge all configurations on all folds; then the best one on all data.

        Args:
            X: one example per row.
            y: the targets.
            groups: a value for each example, for splitters that keep groups together.
        """
        X, y, groups = indexable(X, y, groups)
        _last(self.estimator)  # refuse other estimators at once
        folds = list(check_cv(self.cv, y, classifier=is_classifier(self.estimator)).split(X, y, groups))
        trials = _trials(self.estimator, list(ParameterGrid(self.param_grid)), X, y, [train for train, _ in folds])
        self.trained_together_ = _train(trials)
        inner = GridSearchCV(
            _Replay(self.estimator, iter(trials)),
            self.param_grid,
            scoring=self.scoring,
            n_jobs=1,  # in the order of the trials
            refit=self.refit,
            cv=folds,
            error_score=self.error_score,
            return_train_score=self.return_train_score,
        ).fit(X, y)
        self.__dict__.update({name: value for name, value in vars(inner).items() if name.endswith("_")})
        if self.refit:
            self.best_estimator_ = inner.best_estimator_.estimator
        seconds = np.array([trial.seconds for trial in trials]).reshape(-1, len(folds))
        self.cv_results_["mean_fit_time"], self.cv_results_["std_fit_time"] = seconds.mean(1), seconds.std(1)
        return self


class _Read(NamedTuple):
    """The training data of a fold as a network reads them.

    Args:
        task: what is learned from them, the validation part set aside; how they are prepared is fitted once.
        steps: what was fitted before the network.
        learned: what the network learned about them, such as the classes.
    """

    task: Task
    steps: list[Any]
    learned: dict[str, Any]


@dataclass
class _Trial:
    """One configuration on one fold.

    Args:
        estimator: with the parameters of the configuration.
        plan: the network, its data and its recipe; None where `fit` is to do everything.
        seed: of the network.
        seconds: how long its training took, or its share of that of a population.
        result: what became of it in a population.
    """

    estimator: Any
    plan: Plan | None = None
    seed: int = 0
    seconds: float = 0.0
    result: MemberResult | None = field(default=None, repr=False)

    def adopt(self, read: _Read) -> None:
        """Plan a network for data that were read."""
        network = _last(self.estimator)
        network.__dict__.update(read.learned)
        if read.steps:
            self.estimator.steps[:-1] = read.steps
        self.plan = network._planned(read.task, self.seed)

    @property
    def member(self) -> Member:
        """The network as a member of a population."""
        assert self.plan is not None
        return Member(self.plan.recipe, self.plan.model.config, self.seed)

    def fitted(self, X: Any, y: Any) -> Any:
        """Give the fitted estimator: trained before, or now."""
        if self.result is None:
            start = time.perf_counter()
            self.estimator.fit(X, y)
            self.seconds = time.perf_counter() - start
        elif self.result.state == DIVERGED:
            raise RunError(
                f"the training diverged at step {self.result.first_bad_step}: use a smaller `learning_rate`."
            )
        else:
            assert self.plan is not None
            _last(self.estimator)._adopt(self.plan, self.result.rows, self.result.weights)
        return self.estimator


def _last(estimator: Any) -> NetworkEstimator:
    """Give the estimator of networks that is meant, or that a pipeline ends in."""
    network = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(network, NetworkEstimator):
        raise ArgumentError(
            f"`estimator` must be an estimator of networks or a pipeline that ends in one, got {estimator!r}: use "
            "scikit-learn's GridSearchCV for others."
        )
    return network


def _trials(estimator: Any, grid: Sequence[Mapping[str, Any]], X: Any, y: Any, folds: Sequence[Any]) -> list[_Trial]:
    """Prepare every configuration on every fold; data that configurations read in the same way are read once."""
    shared = None if _last(estimator).random_state is not None else int(check_random_state(None).randint(2**31 - 1))
    known: dict[str, _Read] = {}
    trials = []
    for values in grid:
        for number, rows in enumerate(folds):
            trial = _Trial(clone(estimator).set_params(**clone(dict(values), safe=False)))
            trials.append(trial)
            network, before = _last(trial.estimator), getattr(trial.estimator, "steps", [None])[:-1]
            if callable(network.architecture) or not network._stacks:
                continue
            with contextlib.suppress(Exception):  # `fit` will say the same, and `error_score` what becomes of it
                trial.seed = network._seed() if shared is None else shared
                key = joblib.hash((number, trial.seed, network._reading(), before))
                if key not in known:
                    known[key] = _read(network, before, _safe_indexing(X, rows), _safe_indexing(y, rows), trial.seed)
                trial.adopt(known[key])
    return trials


def _read(network: NetworkEstimator, before: list[Any], X: Any, y: Any, seed: int) -> _Read:
    """Fit the steps before the network, and divide what they give."""
    fitted = Pipeline(before) if before else None
    split = network._divided(X if fitted is None else fitted.fit_transform(X, y), y, seed)
    learned = {name: value for name, value in vars(network).items() if name.endswith("_")}
    task = task_of(split)
    if task.stacks:
        task.preprocess  # noqa: B018 - fitted now, for all
    return _Read(task, fitted.steps if fitted is not None else [], learned)


def _train(trials: Sequence[_Trial]) -> tuple[int, ...]:
    """Train networks of one shape as one population; say how many there are in each."""
    planned = [trial for trial in trials if trial.plan is not None and trial.plan.task.stacks]
    groups = by_shape([trial.member for trial in planned])
    for places in groups:
        group = [planned[place] for place in places]
        plans = [cast(Plan, trial.plan) for trial in group]
        runtime = stacked_runtime(plans[0], len(group), _last(group[0].estimator).runtime)
        start = time.perf_counter()
        results = train_population([trial.member for trial in group], [plan.split for plan in plans], runtime=runtime)
        seconds = (time.perf_counter() - start) / len(group)
        for trial, result in zip(group, results, strict=True):
            trial.result, trial.seconds = result, seconds
    return tuple(len(places) for places in groups)


class _Replay:
    """An estimator whose fits were done before, in the order in which they are asked for; after that it fits itself.

    Args:
        estimator: what is searched.
        trials: the fits.
    """

    def __init__(self, estimator: Any, trials: Iterator[_Trial]) -> None:
        self.estimator, self.trials = estimator, trials

    def __sklearn_clone__(self) -> "_Replay":
        return _Replay(clone(self.estimator), self.trials)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)

    def set_params(self, **params: Any) -> "_Replay":
        self.estimator.set_params(**params)
        return self

    def fit(self, X: Any, y: Any = None) -> "_Replay":
        trial = next(self.trials, None)
        self.estimator = self.estimator.fit(X, y) if trial is None else trial.fitted(X, y)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.estimator, name)
