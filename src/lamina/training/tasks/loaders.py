"""Batches of somebody's own loader: they come as they are, and an epoch ends where the loader does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn
from torch.utils import data as torch_data

from lamina._errors import ArgumentError, DataError
from lamina._types import Tensor
from lamina.data.augment import Augment
from lamina.data.dataset import Dataset
from lamina.data.load import load
from lamina.data.loaders import Batches, LoaderPart, Loaders, are_loaders
from lamina.data.several import SeveralPreprocess
from lamina.data.source import Source
from lamina.training.objective import Objective
from lamina.training.predictions import Predictions
from lamina.training.recipe import GD, SGD, Recipe, Schedule
from lamina.training.runtime import Runtime, wide
from lamina.training.tasks._answers import Shown
from lamina.training.tasks._batches import divided
from lamina.training.tasks._labels import Labels
from lamina.training.tasks.feed import Batch, Feed
from lamina.training.tasks.several import Several, called
from lamina.training.tasks.task import Task

if TYPE_CHECKING:
    from lamina.training.run import Run

_USUAL = Recipe().batch_size
_READ = 256  # examples of a stream that are read together where the recipe says nothing


class LoaderSource(Source):
    """The batches of a loader on a device.

    Args:
        part: the loader.
        preprocess: prepares targets.
        recipe: its seed, and the batch size of a stream without a loader.
        device: where batches are wanted.
    """

    def __init__(self, part: LoaderPart, preprocess: SeveralPreprocess, recipe: Recipe, device: Any) -> None:
        self.part, self.preprocess, self.recipe, self.device = part, preprocess, recipe, torch.device(device)
        self.inputs = self.targets = self.augment = self.affine = None
        self._open: Any = None

    def __len__(self) -> int:
        return len(self.part)

    def walk(self, epoch: int) -> Batches:
        """Give the batches of an epoch."""
        self.close()
        spec = self.preprocess.spec
        self._open = walk = self.part.walk(self.recipe.seed, epoch, self.recipe.batch_size, spec)
        for inputs, targets in walk:
            ready = self.preprocess.targets(targets)
            yield tuple(part.to(self.device, non_blocking=True) for part in inputs), ready.to(self.device)

    def close(self) -> None:
        """Stop reading."""
        if self._open is not None:
            self._open.close()
            self._open = None


class LoaderFeed(Feed):
    """The batches of a loader; one is read ahead, which tells whether it is the last of its epoch.

    Args:
        source: the loader.
        recipe: how.
        names: those by which the network is called; () calls it in order.
    """

    even = False

    def __init__(self, source: LoaderSource, recipe: Recipe, names: Sequence[str]) -> None:
        self.source = self.loader = source
        self.recipe, self.names = recipe, names
        self.batch_size, self.micro_batch = source.part.batch_size(recipe.batch_size), recipe.micro_batch
        self.order = torch.empty(0, dtype=torch.int64)
        self.cursor = self.seen = 0
        self._walk: Batches = iter(())
        self._ahead: tuple[Any, Tensor] | None = None
        self._begun = False

    @property
    def batches(self) -> int:  # type: ignore[override]
        """How many updates make the present epoch, as far as that is known."""
        if self._begun and self._ahead is None:
            return self.cursor
        return max(self.loader.part.batches or 1, self.cursor + 1)

    @property
    def gathers(self) -> bool:
        """No: batches come from outside."""
        return False

    def begin(self, epoch: int, batch: int, step: int) -> None:
        """Begin an epoch; batches that were trained on before are read again and passed over."""
        self._walk, self._begun = self.loader.walk(epoch), True
        self.cursor, self.seen = batch, sum(len(targets) for _, targets in islice(self._walk, batch))
        self._ahead = next(self._walk, None)
        if self._ahead is None:
            raise DataError(
                f"{self.loader.part.name()} gives no {'more ' if batch else ''}batch in epoch {epoch + 1}: it must "
                "begin anew whenever it is iterated."
            )

    def next(self, step: int) -> Batch:
        """Give the next batch."""
        assert self._ahead is not None
        batch, self._ahead = self._ahead, next(self._walk, None)
        self.cursor += 1
        self.seen += len(batch[1])
        return divided(self.ranks, *batch)

    def outputs(self, model: Any, inputs: Any, targets: Tensor) -> Tensor:
        """Call a network with a batch."""
        return called(model, inputs, self.names, self.recipe.dtype)

    def answered(self, model: nn.Module, source: Source) -> Iterator[tuple[Tensor, Tensor]]:
        """Give outputs and targets of all batches of a loader."""
        for inputs, targets in cast(LoaderSource, source).walk(0):
            if len(targets := targets[own := self.ranks.part(len(targets))]):
                yield self.outputs(model, tuple(each[own] for each in inputs), targets), targets

    def means(self, answered: Any, source: Source, objective: Objective) -> tuple[float, float]:
        """Return the mean loss and score of outputs and targets, over as many examples as there were."""
        sums = torch.zeros(3, dtype=wide(source.device), device=source.device)
        for outputs, targets in answered:
            count = len(targets)
            found = objective.loss(outputs, targets) * count, objective.score(outputs, targets)
            sums = sums + torch.stack([*(each.to(sums) for each in found), sums.new_tensor(count)])
        loss, score, count = self.ranks.sum_(sums).tolist()
        return loss / count, score / count


class Loaded(Several):
    """Batches of a loader, with a class, numbers or a structure to learn."""

    @property
    def preprocess(self) -> SeveralPreprocess:
        """How inputs are prepared: not at all."""
        self._given = self._given or SeveralPreprocess.none(self.split.train.spec)
        return cast(SeveralPreprocess, self._given)

    @property
    def part(self) -> LoaderPart:
        """The training loader."""
        return cast(LoaderPart, self.split.train)

    def for_network(self, model: nn.Module) -> "Loaded":
        """Count as many classes as the network has outputs, where the loader does not name them."""
        if self.spec.task != "classification" or self.part.counted:
            return self
        given = max(2, self.look(model).outputs[0].numel())
        classes = tuple(map(str, range(given)))
        return type(self)(SeveralPreprocess.none(replace(self.spec, outputs=given, classes=classes)), self.split)

    def updates(self, recipe: Recipe) -> int:
        """Return how many updates make an epoch; 0 when only the loader will know."""
        return self.part.batches or 0

    def threads(self, runtime: Runtime, model: nn.Module, recipe: Recipe) -> Runtime:
        """Fill in the number of threads on the CPU, unless it is given."""
        return runtime.with_threads(self.look(model).operations * self.part.batch_size(recipe.batch_size))

    def objective(self, model: nn.Module, recipe: Recipe) -> Objective:
        """Choose the loss by what the network gives for one example, and refuse what a loader decides instead."""
        _allowed(self.part, recipe)
        return super().objective(model, recipe)

    def source(self, part: Dataset, recipe: Recipe, device: torch.device | str, check: bool = False) -> Source:
        """Give the batches of a part."""
        return LoaderSource(cast(LoaderPart, part), self.preprocess, recipe, device)

    def feed(self, source: Source, model: nn.Module, recipe: Recipe) -> Feed:
        """Give the batches of the training part in their order."""
        return LoaderFeed(cast(LoaderSource, source), recipe, self.names(model))

    @torch.no_grad()
    def examined(self, model: nn.Module, test: Dataset) -> tuple[Any, Tensor, Tensor, Tensor | None, Shown]:
        """Give targets and outputs of the batches of a loader, which may have different shapes."""
        parameter, names = next(model.parameters()), self.names(model)
        outputs, targets = [], []
        for inputs, wanted in cast(LoaderPart, test).walk(0, 0, _READ, self.spec):
            ready = [each.to(parameter.device) for each in inputs]
            outputs.append(called(model, ready, names, parameter.dtype).cpu())
            targets.append(wanted)
        found = torch.cat(targets)
        return range(len(found)), found, torch.cat(outputs), None, lambda place: {}

    def compared(self, run: "Run", data: Dataset) -> tuple[Predictions, Tensor]:
        """Predict the batches of a loader, and give their targets."""
        _, targets, outputs, *_ = self.examined(run.model, data)
        return self.told(tuple(map(str, range(len(targets)))), outputs), targets

    def columns(self) -> dict[str, tuple[int, ...]]:
        """Refuse: the inputs of a loader cannot be shuffled among its examples."""
        return Task.columns(self)

    def labeled(self, what: Any, options: Mapping[str, Any]) -> Dataset:
        """Take a loader or what can be loaded like the training data."""
        if isinstance(what, Loaders):
            return what.train
        if isinstance(what, LoaderPart):
            return what
        if not are_loaders(what):
            data = load(what)
            raise DataError(
                f"the run was trained with a loader, but {data.spec.source or 'the data'} is none: give a DataLoader."
            )
        names = [name for name, _, _ in self.spec.several if name]
        return LoaderPart(what, names or None, self.spec.target or None, like=LoaderPart.known(self.spec), role="given")

    @torch.no_grad()
    def predict(self, run: "Run", what: Any, **options: Any) -> Predictions:
        """Predict the batches of a loader, which may lack a target, or arrays."""
        if not are_loaders(what):
            return super().predict(run, what, **options)
        loader = what if isinstance(what, torch_data.DataLoader) else torch_data.DataLoader(what, _READ)
        outputs = [self.outputs(run.model, self.read(self._inputs(batch)).inputs) for batch in loader]
        if not outputs:
            raise DataError("the loader gives no batch: there is nothing to predict.")
        found = torch.cat(outputs)
        return self.told(tuple(map(str, range(len(found)))), found)

    def _inputs(self, batch: Any) -> Any:
        """Take the inputs out of a batch that may also have a target."""
        if not isinstance(batch, tuple | list):
            return batch
        if isinstance(batch[0], Mapping | tuple | list):
            return batch[0]
        return batch[0] if len(self.spec.several) == 1 else tuple(batch[: len(self.spec.several)])


class LoadedLabels(Loaded, Labels):
    """Batches of a loader whose examples have any number of labels."""


def _allowed(part: LoaderPart, recipe: Recipe) -> None:
    """Refuse what a recipe cannot decide about batches that come from outside."""
    if part.streams is None and recipe.batch_size != _USUAL:
        raise ArgumentError(
            f"`batch_size` is the loader's, which gives batches of {part.batch_size(0)}, but the recipe says "
            f"{recipe.batch_size}: leave it out of the recipe."
        )
    if isinstance(recipe.optimizer, GD | SGD) or recipe.sampling != "epoch":
        what = f"sampling={recipe.sampling!r}" if recipe.sampling != "epoch" else type(recipe.optimizer).__name__
        raise ArgumentError(
            f"{what} decides which examples make a batch, but a loader does that: use MiniBatch or Adam."
        )
    if recipe.augment not in (None, Augment()):
        raise ArgumentError(
            "`augment` changes pictures that Lamina reads, but a loader gives batches: let it change them."
        )
    if part.batches is None and recipe.schedule != Schedule():
        raise ArgumentError(
            f"the schedule {recipe.schedule.kind!r} needs the number of updates, but {part.name()} has no length: say "
            "how many batches make an epoch with Loaders(..., steps_per_epoch=100)."
        )
