"""What is learned from data of a kind: everything that knows which kind they are is a method of its task."""

import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError
from lamina._types import Tensor
from lamina.data.dataset import Dataset, Spec
from lamina.data.labeled import as_trained
from lamina.data.load import load
from lamina.data.source import Source
from lamina.data.splits import Split
from lamina.training._look import Look, look
from lamina.training.deployment import Deployed
from lamina.training.objective import Objective
from lamina.training.predictions import Predictions
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks._baselines import Baseline
from lamina.training.tasks.feed import Feed, _steps_per_epoch, batch_size

if TYPE_CHECKING:
    from lamina.inspection.attribution import Choose
    from lamina.training.explanations import Seen
    from lamina.training.run import Run

SHOWN = 200
"""Characters of a text that a record shows."""

WORST = 24
"""Mistakes that a record shows."""


@dataclass(frozen=True)
class _Choice:
    """A recipe and the sentence that says why."""

    recipe: Recipe
    sentence: str


class Task:
    """What is learned from data of one kind.

    A task prepares the data, gives sizes and a recipe to an architecture, lays out the batches of an epoch and calls
    the network with one, owns loss, score and judgement, reads what is to be predicted, and is kept with a run.

    Args:
        preprocess: how examples are prepared, fitted to the training part.
        split: the data; None where only a trained network is used.
    """

    stacks: ClassVar[bool] = False
    """Whether networks of one shape can be trained as one."""

    says: ClassVar[tuple[str, ...]] = ()
    """Options of the recipe that depend on how many examples there are, so that a command must say them."""

    reads_texts: ClassVar[bool] = False
    """Whether what is to be predicted is a text."""

    writes: ClassVar[bool] = False
    """Whether a trained network continues a text instead of predicting."""

    plain: bool = False
    """Whether an answer is one class or some numbers, which has an interval or a set of classes."""

    _looked: "tuple[weakref.ref[nn.Module], Look] | None" = None

    wording: ClassVar[tuple[str, ...]] = ()
    """Options that say how texts become tokens."""

    def __init__(self, preprocess: Any, split: Split | None = None) -> None:
        self.preprocess, self._split = preprocess, split

    @property
    def spec(self) -> Spec:
        """What the stored examples are."""
        spec: Spec = self.preprocess.spec
        return spec

    @property
    def split(self) -> Split:
        """The data."""
        if self._split is None:
            raise ArgumentError("this task has no data: give a dataset or its split.")
        return self._split

    # from data to a network and a recipe

    @classmethod
    def fit(cls, split: Split, **wording: Any) -> "Task":
        """Fit the preparation to the training part."""
        raise NotImplementedError

    def for_network(self, model: nn.Module) -> "Task":
        """Give the task with examples of the shape that a network takes."""
        return self

    def on(self, split: Split) -> "Task":
        """Give the task with other data, prepared as before."""
        return type(self)(self.preprocess, split)

    def sizes(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Choose the sizes of an architecture, unless they are given."""
        raise NotImplementedError

    def recommend(self, name: str, sizes: Mapping[str, Any]) -> _Choice:
        """Choose a recipe for an architecture of some sizes."""
        raise NotImplementedError

    def notes(self, sizes: Mapping[str, Any]) -> tuple[str, ...]:
        """Say what was decided about the data, for people."""
        return ()

    def said(self) -> dict[str, Any]:
        """Give the options of a dictionary that a command must say to make it again."""
        return {}

    def updates(self, recipe: Recipe) -> int:
        """Return how many updates make an epoch."""
        return _steps_per_epoch(recipe, len(self.split.train))

    def examples(self, recipe: Recipe) -> int:
        """Return how many examples, or parts of a running text, an update takes."""
        return batch_size(recipe, len(self.split.train))

    def normalized(self, mean: Sequence[float], std: Sequence[float], scale: float) -> "Task | None":
        """Give the task with pictures normalized by the numbers of other weights; None if those are in other units.

        Args:
            mean: of each channel.
            std: the standard deviations.
            scale: what stored pictures are multiplied by first, 1/255 for bytes.
        """
        return self

    def columns(self) -> dict[str, tuple[int, ...]]:
        """Name the columns of the stored examples, with their places on the last axis; refuse where there are none."""
        raise ArgumentError(
            f"importance is for the columns of tables, vectors and series, but data of kind {self.spec.kind!r} have no "
            "columns that could be shuffled among the examples."
        )

    # training

    def example(self, model: nn.Module) -> tuple[Tensor, ...]:
        """Give what a network takes for one prepared example."""
        raise NotImplementedError

    def look(self, model: nn.Module) -> Look:
        """Run a network with one example, once."""
        if self._looked is None or self._looked[0]() is not model:
            found = self._seen(model)
            if not isinstance(found.outputs, Tensor) or len(found.outputs) != 1:
                raise ShapeError("the network must return one tensor with one row per example.")
            self._looked = weakref.ref(model), found
        return self._looked[1]

    def _seen(self, model: nn.Module) -> Look:
        return look(model, *self.example(model))

    def threads(self, runtime: Runtime, model: nn.Module, recipe: Recipe) -> Runtime:
        """Fill in the number of threads on the CPU, unless it is given."""
        raise NotImplementedError

    def objective(self, model: nn.Module, recipe: Recipe) -> Objective:
        """Choose the loss by what the network gives for one example, and check that it fits."""
        raise NotImplementedError

    def objective_again(self, model: nn.Module, recipe: Recipe) -> Objective:
        """Choose the objective of a run again, but for weights and smoothing, which only training needs."""
        raise NotImplementedError

    def source(self, part: Dataset, recipe: Recipe, device: torch.device | str, check: bool = False) -> Source:
        """Give the prepared examples of a part of the data.

        Args:
            part: of the data.
            recipe: says how batches are made.
            device: where they are wanted.
            check: whether the part is to be judged, not trained on.
        """
        raise NotImplementedError

    def feed(self, source: Source, model: nn.Module, recipe: Recipe) -> Feed:
        """Give the batches of the training part in their order."""
        return Feed(source, recipe)

    @classmethod
    def score_of(cls, spec: Spec) -> str:
        """Name the score of a check: the share of right words, unless it is something else."""
        return "token_accuracy"

    @classmethod
    def headline_of(cls, spec: Spec) -> str:
        """Name the metric of the test split to look at first."""
        return cls.score_of(spec)

    # a trained network

    def outputs(self, model: nn.Module, inputs: Tensor) -> Tensor:
        """Return what a network gives for stored examples, before any softmax."""
        raise NotImplementedError

    def judge(self, run: "Run", test: Dataset) -> dict[str, Any]:
        """Judge a trained network on data it has never seen: the parts of an `Evaluation`.

        `costs` and `answered` are no parts of it. What each example costs is compared with `baselines`; without costs
        the mean loss is. What is answered, with what is right, serves intervals and sets of classes, so that the
        network sees the data once.
        """
        raise NotImplementedError

    def usual(self, train: Dataset) -> dict[str, Any]:
        """Give what the training part answers without a look at an input, as plain values for `baselines`."""
        return {}

    def baselines(self, usual: Mapping[str, Any], test: Dataset) -> list[Baseline]:
        """Judge the simplest answers on some examples, as `judge` does a network.

        Args:
            usual: what `usual` gave for the training part.
            test: the examples.
        """
        return []

    def against_linear(self, run: "Run", split: Split) -> dict[str, Any] | None:
        """Compare a trained network with a linear model on the validation part; None where there is nothing to say."""
        return None

    def related(self, examples: int) -> int:
        """Return how many neighbors among so many test examples depend on each other."""
        return 1

    @property
    def unit(self) -> str:
        """What errors of a check are measured in: the name of the target; "" for shares of right answers."""
        return ""

    def labeled(self, what: Any, options: Mapping[str, Any]) -> Dataset:
        """Read new examples with their answers, as the training data were read.

        Args:
            what: a name, a path, a dataset or arrays.
            options: how the training data were read.
        """
        return as_trained(load(what, **(options if isinstance(what, str | Path) else {})), self.spec)

    def predict(self, run: "Run", what: Any, **options: Any) -> Predictions:
        """Predict what is given: files, texts or arrays."""
        raise NotImplementedError

    def blocks(self, what: Any) -> "Iterator[Any] | None":
        """Give a table that does not fit in memory block by block; None for anything else."""
        return None

    def say(self, run: "Run", texts: list[str], **options: Any) -> Predictions:
        """Predict texts, which are never taken for names of files; only tasks that read texts do."""
        raise NotImplementedError

    def answers(self, run: "Run", inputs: Tensor) -> Predictions:
        """Predict stored examples."""
        raise NotImplementedError

    def told(self, names: tuple[str, ...], outputs: Tensor) -> Predictions:
        """Make predictions of outputs."""
        raise NotImplementedError

    def compared(self, run: "Run", data: Dataset) -> tuple[Predictions, Tensor]:
        """Predict the examples of labeled data, and give their targets."""
        inputs, targets = data.take(torch.arange(len(data)))
        return self.answers(run, inputs), targets

    def truth(self, target: Tensor) -> str:
        """Say what is right for an example, in words."""
        raise NotImplementedError

    def write(self, run: "Run", prompt: str, steps: int, **options: Any) -> str:
        """Write on after a prompt; only language models do."""
        raise ArgumentError(
            f"only a language model continues a text, but the run was trained for {self.spec.task}: use `predict`."
        )

    def shown(self, example: Tensor) -> dict[str, Any]:
        """Give what a report shows of an example."""
        raise NotImplementedError

    def seen(self, model: nn.Module, what: Any) -> "list[Seen]":
        """Read what `predict` takes as a network takes it, one example after another, to be explained."""
        raise ArgumentError(
            "explanations are for one class, some labels or numbers as an answer, but the run was trained for "
            f"{self.spec.task}."
        )

    def aims(self) -> tuple[str, ...]:
        """Name what can be explained: classes, labels or targets."""
        raise NotImplementedError

    def aim(self, place: int) -> "tuple[Choose, str]":
        """Give what takes the number that stands for a class, label or target from the outputs, and its unit."""
        raise NotImplementedError

    # a network that leaves the house

    def deployed(self, model: nn.Module, prepared: bool = False) -> dict[str, Deployed]:
        """Say what a network reads and writes where it is used without Lamina, the whole under the name "".

        Args:
            model: the network.
            prepared: whether it reads stored examples and answers as `predict` does, not prepared ones and outputs.
        """
        raise NotImplementedError

    @property
    def pipeline(self) -> str:
        """What the Hub calls such a task."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, Any]:
        """Give plain JSON values, for a run's folder."""
        values: dict[str, Any] = self.preprocess.as_dict()
        return values


def _on_device(chosen: Objective, model: nn.Module, recipe: Recipe) -> Objective:
    """Bring the class weights of an objective to the network."""
    device = next(model.parameters()).device
    return chosen if chosen.weights is None else replace(chosen, weights=chosen.weights.to(device, recipe.dtype))


def wrong(order: Sequence[int], written: Sequence[str], answers: Sequence[str]) -> list[int]:
    """Take the first places of an order where what was written is not the answer."""
    return [i for i in order if written[i] != answers[i]][:WORST]
