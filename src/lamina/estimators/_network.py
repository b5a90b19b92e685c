"""What all estimators of networks share: parameters by flat names, a plan, a training by the house, and outputs."""

import copy
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from lamina._errors import ArgumentError, DataWarning, RunError, between
from lamina._types import Tensor
from lamina.architectures.table import TABLE
from lamina.data.arrays import from_arrays
from lamina.data.dataset import BaseDataset, Dataset, Subset
from lamina.data.splits import Sealed, Split, split
from lamina.estimators._frames import as_dataset, as_stored, mixed
from lamina.training.loop import Progress, drain
from lamina.training.plan import Plan, plan
from lamina.training.plan import option_types as plan_types
from lamina.training.recipe import option_names, with_options
from lamina.training.runtime import Runtime
from lamina.training.stopping import Row
from lamina.training.tasks.feed import batch_size
from lamina.training.tasks.kinds import task_for, task_of
from lamina.training.tasks.task import Task
from lamina.training.train import train

BLOCK = 256
"""Examples whose outputs a task computes at a time."""

Own = TypeVar("Own", bound="NetworkEstimator")
Kind = TypeVar("Kind", bound=type)
Factory = Callable[..., nn.Module]
"""Makes a network of `inputs`, `outputs`, and what else its parameters name."""


class NetworkEstimator(BaseEstimator):
    """A network behind scikit-learn's interface.

    A parameter that is None is chosen as `lamina train` chooses it, by the data and the architecture. Every other flat
    name of the recipe, of the architecture and of a dictionary is a parameter as well: `NetworkClassifier(clip=1.0,
    activation="tanh")`, and in a grid.

    Args:
        architecture: a name from `lamina list`, or a function of `inputs` and `outputs` that makes a torch module.
        hidden: the sizes of hidden layers.
        dropout: the probability of dropping a unit.
        learning_rate: of the optimizer.
        epochs: how often the training data are gone through at most.
        batch_size: examples per update.
        penalty: the strength of the weight penalty.
        patience: after how many checks without improvement training stops; None trains for all epochs. The weights of
            the best check are kept in either case.
        validation_fraction: the share of the training data that is set aside to choose the epoch; 0 for none.
        random_state: of that division, the initial weights, the order of batches and the dropout masks.
        runtime: device, threads and flags; a `lamina.Runtime`.
        input_shape: the shape of one example, where rows of numbers are pictures, such as (1, 8, 8).
        **options: further flat names.
    """

    _own: tuple[str, ...] = (
        "architecture", "epochs", "validation_fraction", "random_state", "runtime", "input_shape"
    )  # fmt: skip
    """Parameters that are no options of a recipe or a network."""

    _stacks = True
    """Whether `fit` trains one network, so that those of many estimators can be trained as one."""

    def __init__(
        self,
        architecture: str | Factory = "fnn",
        *,
        hidden: int | Sequence[int] | None = None,
        dropout: float | None = None,
        learning_rate: float | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        penalty: float | None = None,
        patience: int | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
        runtime: Runtime | None = None,
        input_shape: tuple[int, ...] | None = None,
        **options: Any,
    ) -> None:
        self.architecture = architecture
        self.hidden = hidden
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.penalty = penalty
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.runtime = runtime
        self.input_shape = input_shape
        self.__dict__.update(options)

    # parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give all parameters by name, those that were given as options too."""
        return {name: value for name, value in vars(self).items() if not (name.startswith("_") or name.endswith("_"))}

    def set_params(self: Own, **params: Any) -> Own:
        """Change parameters; any flat name that the architecture and the recipe know may be set."""
        names = self._names(params.get("architecture", self.architecture))
        options = {name: params.pop(name) for name in names if name in params}
        super().set_params(**params)
        self.__dict__.update(options)
        return self

    def _names(self, architecture: Any) -> set[str]:
        """Give the flat names that may be set."""
        own: Iterable[str] = inspect.signature(architecture).parameters if callable(architecture) else ()
        if isinstance(architecture, str) and architecture in TABLE:
            own = plan_types(architecture)
        return {*own, *option_names()} - {"inputs", "outputs", "seed"}

    def _options(self) -> dict[str, Any]:
        """Give the flat names that are set, for `training.plan`."""
        given = {name: value for name, value in self.get_params().items() if name not in self._own}
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
        return {name: value for name, value in plain.items() if value is not None}

    def _seed(self) -> int:
        """Give the seed of all that is drawn."""
        state = self.random_state
        if isinstance(state, int | np.integer) and not isinstance(state, bool) and state >= 0:
            return int(state)
        return int(check_random_state(state).randint(2**31 - 1))

    # data

    def _reading(self) -> dict[str, Any]:
        """Give the parameters that decide how data are read and divided."""
        return {"validation_fraction": self.validation_fraction, "input_shape": self.input_shape}

    def _dataset(self, X: Any, y: Any) -> BaseDataset:
        """Check what is to be learned, and make a dataset of it."""
        if self.input_shape is None and (frame := mixed(X)) is not None:
            validate_data(self, X, skip_check_array=True)  # for the names of the columns
            y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
            targets, about = self._targets(column_or_1d(y, warn=True) if is_classifier(self) else y)
            check_consistent_length(X, targets)
            return as_dataset(frame, targets, about)
        X, y = validate_data(self, X, y, **self._accepted(X, y))
        targets, about = self._targets(y)
        return from_arrays(self._shaped(X), targets, **about, features=self._features(X))

    def _accepted(self, X: Any, y: Any = None) -> dict[str, Any]:
        """Say what arrays scikit-learn shall let pass: bytes of pictures stay bytes."""
        pictures = self.input_shape is not None or getattr(X, "ndim", 2) > 2
        return {"dtype": "numeric" if pictures else (np.float64, np.float32), "allow_nd": True}

    def _shaped(self, X: Any) -> Any:
        return X if self.input_shape is None else X.reshape(len(X), *self.input_shape)

    def _features(self, X: Any) -> Sequence[str]:
        return tuple(getattr(self, "feature_names_in_", ())) if self._shaped(X).ndim == 2 else ()

    def _targets(self, y: Any) -> tuple[Any, dict[str, Any]]:
        """Give targets and what they are, as `from_arrays` takes them."""
        raise NotImplementedError

    def _stored(self, X: Any) -> Tensor:
        """Check new examples and store them as those of the training were."""
        if self.preprocess_.spec.levels:  # a table, as `_frames` made it
            validate_data(self, X, reset=False, skip_check_array=True)
            return as_stored(X, self.preprocess_.spec)
        # A table without a gap may have one in new rows, as in another fold: the mean of the training takes its place.
        gaps = self.input_shape is None and hasattr(self, "feature_names_in_") and mixed(X) is not None
        finite: Any = "allow-nan" if gaps else True
        X = validate_data(self, X, reset=False, ensure_all_finite=finite, **self._accepted(X))
        stored = torch.from_numpy(np.array(self._shaped(X))).reshape(len(X), *self.preprocess_.spec.inputs)
        return stored.where(~stored.isnan(), stored.new_tensor(self.preprocess_.mean)) if gaps else stored

    def _divided(self, X: Any, y: Any, seed: int) -> Split:
        """Make a dataset of arrays and set the validation part aside; without one where there are too few examples."""
        between("validation_fraction", self.validation_fraction, 0, 1, open_high=True)
        data = cast(Dataset, self._dataset(X, y))
        share = round(1000 * self.validation_fraction)
        if len(data) * share // 1000:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # what it says is about test parts
                return split(data, seed, (1000 - share, share, 0))
        nothing = Subset(data, torch.zeros(0, dtype=torch.int64))
        return Split(data, nothing, Sealed(nothing), f"{len(data)} training examples, none for validation.")

    # training

    def fit(self: Own, X: Any, y: Any) -> Own:
        """Train the network.

        Args:
            X: one example per row.
            y: the targets.
        """
        seed = self._seed()
        self._train(self._planned(self._divided(X, y, seed), seed), seed)
        return self

    def _planned(self, parts: Split | Task, seed: int) -> Plan:
        """Choose sizes and recipe for data, or for what is learned from them, and build the network."""
        given = self._options()
        if not callable(self.architecture):
            return plan(self.architecture, parts, options=given, epochs=self.epochs and int(self.epochs), seed=seed)
        task = task_of(parts)
        recipe = task.recommend("many-to-one" if task.reads_texts else "fnn", {}).recipe
        own = {key: given.pop(key) for key in list(given) if key in option_names(recipe)}
        epochs = {} if self.epochs is None else {"epochs": self.epochs}
        recipe = with_options(recipe, **own, **epochs, seed=seed)
        model = _made(self.architecture, task.sizes("fnn", {}), given, seed)
        _check_precise(model, task.for_network(model), task.split.train)
        return Plan(model, task.for_network(model), recipe, Path(), (), task.updates(recipe))

    def _train(self, plan: Plan, seed: int) -> None:
        """Train by `lamina.train`, and keep what it gives."""
        self._adopt(plan, *_alone(plan, self.runtime))

    def _adopt(self, plan: Plan, rows: Sequence[Row], weights: Mapping[str, Tensor]) -> None:
        """Become what a training gave."""
        self.network_ = _loaded(plan.model, weights)
        self.preprocess_ = plan.task.preprocess
        self.history_: Any = list(rows)
        self.loss_curve_: Any = [row["loss"] for row in rows]
        self.n_iter_ = int(rows[-1]["epoch"])

    # predicting

    def _answers(self, X: Any) -> Any:
        """Predict probabilities, or numbers in the units of the targets."""
        check_is_fitted(self)
        return self._precisely(self._stored(X), self.network_)

    def _precisely(self, stored: Tensor, network: nn.Module) -> Any:
        """Predict in float64, so that a row's prediction does not depend on the rows beside it."""
        work = 2 * BLOCK * sum(p.numel() for p in network.parameters())
        runtime = replace(self.runtime or Runtime(), flush_denormal=False).ready("float64").with_threads(work)
        task: Any = task_for(self.preprocess_)
        with runtime.applied("float64") as used:
            wide = copy.deepcopy(network).to(used.device, torch.float64).eval()
            return task.told((), task.outputs(wide, stored)).values.numpy()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


class Classifying(ClassifierMixin):
    """What classifiers have: classes, and probabilities of them."""

    def _targets(self: Any, y: Any) -> tuple[Any, dict[str, Any]]:
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ArgumentError(f"`y` has one class only, {self.classes_[0]}: a classifier needs at least 2 classes.")
        names = tuple(map(str, self.classes_))
        return labels, {"task": "classification", "classes": names}

    def predict_proba(self: Any, X: Any) -> Any:
        """Give the probability of each class, in the order of `classes_`."""
        return self._answers(X)

    def predict(self: Any, X: Any) -> Any:
        """Give the most likely class of each example."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(1)]


class Regressing(RegressorMixin):
    """What regressors have: one real target or several."""

    def _accepted(self: Any, X: Any, y: Any = None) -> dict[str, Any]:
        accepted = super()._accepted(X, y)
        return accepted if y is None else {**accepted, "multi_output": True, "y_numeric": True}

    def _targets(self: Any, y: Any) -> tuple[Any, dict[str, Any]]:
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        return np.asarray(y, np.float64), {"task": "regression"}

    def predict(self: Any, X: Any) -> Any:
        """Give the predicted number of each example, or numbers where it has several."""
        return self._as_given(self._answers(X))

    def _as_given(self: Any, values: Any) -> Any:
        return values[:, 0] if self.n_outputs_ == 1 else values

    def __sklearn_tags__(self: Any) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def with_all_parameters(kind: Kind) -> Kind:
    """Let the constructor of an estimator name the parameters that it hands on, as scikit-learn wants to read them."""
    made: Any = kind.__init__  # type: ignore[misc]
    own, base = inspect.signature(made), inspect.signature(NetworkEstimator.__init__)
    merged = {**own.parameters, **{name: each for name, each in base.parameters.items() if name not in own.parameters}}
    order = sorted(merged.values(), key=lambda each: each.kind)
    made.__signature__ = own.replace(parameters=order)
    return kind


def _alone(plan: Plan, runtime: Runtime | None) -> tuple[list[Row], dict[str, Tensor]]:
    """Train one network and give its history and its best weights."""
    at = Progress()
    reason = drain(train(plan.model, plan.task, plan.recipe, runtime=runtime, at=at))
    if reason.failed:
        raise RunError(f"the training failed: {reason.sentence}.")
    return at.rows, at.best


def stacked_runtime(plan: Plan, members: int, runtime: Runtime | None) -> Runtime:
    """Choose the threads for members that are trained as one, by their work; with little of it threads only wait."""
    work = members * plan.task.look(plan.model).operations * batch_size(plan.recipe, len(plan.split.train))
    return (runtime or Runtime()).ready(plan.recipe.precision, stacked=True).with_threads(work)


def _loaded(model: nn.Module, weights: Mapping[str, Tensor]) -> nn.Module:
    """Give a network its best weights, on the CPU, ready to predict."""
    model.load_state_dict({**model.state_dict(), **weights})
    return model.cpu().eval().requires_grad_(True)


def _made(factory: Factory, sizes: Mapping[str, Any], options: Mapping[str, Any], seed: int) -> nn.Module:
    """Call a function of the user's that makes a network; what it draws depends on the seed alone."""
    known = inspect.signature(factory).parameters
    unknown = [name for name in options if name not in known]
    if unknown:
        raise ArgumentError(f"{factory!r} has no parameter {unknown[0]!r}: it has {', '.join(known)}.")
    given = {name: value for name, value in {**sizes, "seed": seed, **options}.items() if name in known}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return factory(**given)


def _check_precise(model: nn.Module, task: Any, train: Dataset) -> None:
    """Refuse a network that cannot compute in float64 before it is trained."""
    try:
        task.outputs(copy.deepcopy(model).double().eval(), train.take(torch.arange(1))[0])
    except RuntimeError as error:
        raise ArgumentError(
            f"`architecture` makes a network that cannot compute in float64, in which estimators predict ({error}): "
            "make tensors of the type of the inputs, for example by `inputs.new_zeros`."
        ) from error
