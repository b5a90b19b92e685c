"""Somebody's own batches: a torch `DataLoader`, or a stream of examples, for each part of the data.

Batches are taken as they come, in the loader's order, made by its workers. What a loader draws (the order of a
`RandomSampler`, random changes in a dataset, the seeds of workers) is a function of the seed, the epoch and the number
of the batch, so that a run can be repeated and resumed; no generator outside is moved by that.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils import data as torch_data

from lamina._errors import ArgumentError, DataError, choice, whole
from lamina._markup import Markup
from lamina._types import Int, Seed, Tensor
from lamina.data.dataset import TASKS, BaseDataset, Dataset, Spec
from lamina.data.several import Apart, Layout, apart, described
from lamina.data.splits import Sealed, Split

Batches = Iterator[tuple[tuple[Tensor, ...], Tensor]]
"""Inputs and targets, batch by batch."""

_NUMPY: Any = np.random
_SPARE = np.random.MT19937(0)  # what a dataset draws from in place of NumPy's own
_SMALL = 64  # numbers of a target up to which the targets of a training part are remembered


def are_loaders(what: Any) -> bool:
    """Say whether this is a loader, a stream, or a tuple or list that begins with one.

    >>> are_loaders(torch_data.DataLoader([(0.0, 1)])), are_loaders("digits")
    (True, False)
    """
    kinds: Any = torch_data.DataLoader | torch_data.IterableDataset
    return isinstance(what[0] if isinstance(what, tuple | list) and len(what) else what, kinds)


class _Unread(BaseDataset):
    """Data that are not read through only to be shown."""

    groups = official_test = None

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "inputs", str(Layout(self.spec.several))

    def _picture(self) -> Markup | None:
        return None


class LoaderPart(_Unread):
    """The batches of one loader as a part of the data; they are read again whenever they are asked for.

    Args:
        loader: a `DataLoader`, an `IterableDataset`, or None for a part that is empty.
        inputs: the names of the inputs in batches that are dicts.
        target: the name of the target in such batches.
        task: what is learned; by the type of the targets by default.
        classes: the names of the classes.
        steps: how many batches make an epoch; those of the loader by default.
        like: the training part, for a part that is held back.
        role: what a sentence calls it.
    """

    counted: bool
    """Whether the number of classes is known, and not only that of the first batch."""

    def __init__(
        self,
        loader: Any,
        inputs: Sequence[str] | None = None,
        target: str | None = None,
        task: str | None = None,
        classes: Sequence[str] | None = None,
        steps: int | None = None,
        like: "LoaderPart | None" = None,
        role: str = "training",
    ) -> None:
        self.loader, self.steps, self._chosen, self._target = loader, steps, inputs, target
        self._targets: Tensor | None = None
        self._batch, self._like, self._role = 0, like, role
        names = _classes_of(loader) if classes is None else classes
        self.counted = like.counted if like is not None else names is not None
        self.spec = like.spec if like is not None else self._look(task, names)

    def _look(self, task: str | None, classes: Sequence[str] | None) -> Spec:
        """Learn from the first batch what the batches are."""
        first = next(self._raw(0, 0, 1), None)
        if first is None:
            raise DataError(f"{self.name()} gives no batch: it needs at least 1 example.")
        found = self._checked(first, 0)
        self._batch = len(found.target)
        about = _about(found.target, task, classes, self.name())
        several = described(found.names, found.inputs)
        source = type(getattr(self.loader, "dataset", self.loader)).__name__
        width, named = Layout(several).width, found.called
        return Spec("batches", inputs=(width,), target=named, source=source, several=several, **about)

    def name(self, index: int | None = None) -> str:
        """Say what a sentence calls the loader; single examples have no names."""
        if index is not None:
            return ""
        return f"the {self._role} loader" if self.streams is None else type(self.streams).__name__

    @classmethod
    def known(cls, spec: Spec) -> "LoaderPart":
        """Give an empty part of batches that are known, for others to be like."""
        part = cls.__new__(cls)
        part.counted, part.spec = True, spec
        return part

    def batch_size(self, given: int) -> int:
        """Give the number of examples in the first batch, or what is given for a stream without a loader."""
        return self._batch if self.streams is None else given

    @property
    def streams(self) -> Any:
        """The stream that has no loader, of which the recipe makes batches; None where there is a loader."""
        return self.loader if isinstance(self.loader, torch_data.IterableDataset) else None

    @property
    def batches(self) -> int | None:
        """How many batches make an epoch; None when that is not known before it has ended."""
        if self.steps is not None or self.loader is None:
            return self.steps or 0
        return None if self._endless else len(self.loader)

    @property
    def _endless(self) -> bool:
        """Whether only a stream knows where it ends."""
        stream = self.streams or getattr(self.loader, "dataset", None)
        return isinstance(stream, torch_data.IterableDataset) and (
            self.loader is stream or not hasattr(stream, "__len__")
        )

    @property
    def repeats(self) -> str:
        """A sentence about what of the batches a repeated run cannot repeat; "" when all of it can be."""
        if getattr(self.loader, "persistent_workers", False):
            return "Persistent workers go on drawing where they were: what they draw is another after a resume."
        return ""

    def walk(self, seed: int, epoch: int, batch_size: int, spec: Spec | None = None) -> Batches:
        """Give the batches of an epoch in their order; a part that is read to its end remembers its targets.

        Args:
            seed: of what is drawn.
            epoch: which one.
            batch_size: of a stream without a loader.
            spec: what the batches must be; like the first one by default.
        """
        seen: list[Tensor] = []
        for number, batch in enumerate(self._raw(seed, epoch, batch_size)):
            found = self._checked(batch, number, spec or self.spec, self.counted or spec is not None)
            if found.target[:1].numel() <= _SMALL:
                seen.append(found.target)
            yield found.inputs, found.target
            if number + 1 == self.steps:
                break
        if self._targets is None and seen:
            self._targets = torch.cat(seen)

    def _raw(self, seed: int, epoch: int, batch_size: int) -> Iterator[Any]:
        """Give the batches as the loader makes them, everything that it draws being seeded."""
        if self.loader is None:
            raise ArgumentError(
                f"there is no {self._role} loader: give one, as in Loaders(train, validation, test), or judge the "
                "network on another one by run.evaluate(loader)."
            )
        loader: Any = self.loader if self.streams is None else torch_data.DataLoader(self.streams, batch_size)
        for sampler in (loader.sampler, loader.batch_sampler):
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(epoch)
        generators = _generators(loader)
        with _seeded(generators, seed, epoch, -1):
            batches = iter(loader)
        number = 0
        while True:
            with _seeded(generators, seed, epoch, number):
                try:
                    batch = next(batches)
                except StopIteration:
                    return
                except TypeError as error:
                    if "default_collate" not in str(error):
                        raise
                    raise DataError(
                        f"{self.name()} cannot make batches of its examples ({str(error).splitlines()[-1]}): let the "
                        "dataset give tensors, such as pictures through a transform."
                    ) from error
            yield batch
            number += 1

    def _checked(self, batch: Any, number: int, spec: Spec | None = None, counted: bool = False) -> Apart:
        """Take a batch apart and see that it is like the others; labels, if the classes are counted."""
        what = f"batch {number + 1} of {self.name()}"
        found = apart(batch, what, self._chosen, self._target)
        named = [
            (name or f"input {place}", part)
            for place, (name, part) in enumerate(zip(found.names, found.inputs, strict=True), 1)
        ]
        for name, part in (*named, ("the target", found.target)):
            if not isinstance(part, Tensor) or not part.ndim:
                held = f"a tensor without axes ({part})" if isinstance(part, Tensor) else type(part).__name__
                raise DataError(
                    f"{name} of {what} must be a tensor with one row per example, got {held}: let the dataset or the "
                    "collate function give tensors, or choose the entries of a dict with `inputs`."
                )
            if len(part) != len(found.target):
                raise DataError(f"{name} of {what} has {len(part)} rows, but the target has {len(found.target)}.")
        if not len(found.target):
            raise DataError(f"{what} has no examples.")
        if spec is None:
            return found
        here = described(found.names, found.inputs)
        if [(name, dtype, len(shape)) for name, shape, dtype in here] != [
            (name, dtype, len(shape)) for name, shape, dtype in spec.several
        ]:
            raise DataError(
                f"{what} has {Layout(here)}, but the first one had "
                f"{Layout(spec.several)}: all batches must have the same inputs."
            )
        return found._replace(target=_as_targets(found.target, spec, counted, what))

    def __len__(self) -> int:
        """Count the examples; 0 for a training stream whose length nobody knows."""
        if self._targets is not None:
            return len(self._targets)
        if self.loader is None or self.streams is not None or (self._endless and self.steps is None):
            return 0 if self.loader is None or self._like is None else len(self.targets)
        loader = self.loader
        if self.steps is None and isinstance(getattr(loader, "batch_sampler", None), torch_data.BatchSampler):
            drawn, size = len(loader.sampler), loader.batch_size
            return drawn // size * size if loader.drop_last else drawn
        return (self.batches or 0) * self._batch

    @property
    def targets(self) -> Tensor:  # type: ignore[override]
        """All targets; the loader is read through, unless it was before."""
        if self._targets is None and self.loader is not None:
            for _ in self.walk(0, 0, 256):
                pass
        return torch.zeros(0) if self._targets is None else self._targets

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give examples by their places in the order of the first epoch; the loader is read up to the last of them."""
        read, many, wanted = [], 0, 1 + int(indices.max()) if len(indices) else 0
        for inputs, targets in self.walk(0, 0, 256):
            read.append((inputs, targets))
            many += len(targets)
            if many >= wanted:
                break
        shapes = {tuple(part.shape[1:] for part in inputs) for inputs, _ in read}
        if len(shapes) > 1:
            raise ArgumentError(
                f"the batches of {self.name()} have inputs of {len(shapes)} different shapes, so their examples cannot "
                "be put together: pad them to one shape in the collate function."
            )
        layout = Layout(described([name for name, _, _ in self.spec.several], read[0][0]))
        rows = torch.cat([layout.pack(inputs) for inputs, _ in read])
        return rows[indices], torch.cat([targets for _, targets in read])[indices]


class Loaders(_Unread):
    """Your own loaders for training, validation and test, as data that `lamina.fit` takes.

    A batch is (input, target), (input, input, target), (inputs, target), or a dict. A network is called with the inputs
    in their order, or with those of a dict by their names. Nothing is standardized, and the recipe's batch size does
    not apply.

    Args:
        train: a `DataLoader`, or a torch `IterableDataset`, of which batches are made as the recipe says.
        validation: looked at after every epoch; without it the training loss decides which weights are the best.
        test: opened once, by `Run.evaluate`.
        inputs: the names of the inputs in batches that are dicts; all but the target by default.
        target: the name of the target in such batches; "target", "label" or "y" by default.
        steps_per_epoch: how many batches make an epoch; those of the loader by default.
        task: "classification", "multilabel", "regression" or "structured", when the rule for targets is wrong: whole
            numbers are classes, truth values [batch, labels] are labels, floats are numbers.
        classes: the names of the classes; by default those of the loader's dataset, else numbers.

    >>> rows = [(torch.tensor([0.5 * i]), i % 2) for i in range(10)]
    >>> Loaders(torch_data.DataLoader(rows, 4), torch_data.DataLoader(rows[:3], 3)).split().note
    'the loaders of list: 10 training examples in 3 batches, 3 validation examples, no test examples.'
    """

    def __init__(
        self,
        train: Any,
        validation: Any = None,
        test: Any = None,
        *,
        inputs: Sequence[str] | None = None,
        target: str | None = None,
        steps_per_epoch: int | None = None,
        task: str | None = None,
        classes: Sequence[str] | None = None,
    ) -> None:
        for name, loader in (("train", train), ("validation", validation), ("test", test)):
            missing = loader is None and name != "train"
            if isinstance(loader, tuple | list) or not (missing or are_loaders(loader)):
                raise DataError(
                    f"`{name}` must be a torch DataLoader or IterableDataset, got {type(loader).__name__}: wrap a "
                    "dataset in a DataLoader, or give it to `lamina.fit` as it is."
                )
        choice("task", task, (None, *TASKS[:4]))
        if steps_per_epoch is not None:
            whole("steps_per_epoch", steps_per_epoch, 1)
        self.train = LoaderPart(train, inputs, target, task, classes, steps_per_epoch)
        self.spec = self.train.spec
        self.validation = LoaderPart(validation, inputs, target, like=self.train, role="validation")
        self.test = LoaderPart(test, inputs, target, like=self.train, role="test")

    def __len__(self) -> int:
        return len(self.train)

    @property
    def targets(self) -> Tensor:  # type: ignore[override]
        """The targets of the training part."""
        return self.train.targets

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give training examples."""
        return self.train.take(indices)

    def split(
        self, seed: Seed = 0, ratios: tuple[int, int, int] = (4, 1, 1), groups: Int[Tensor, " batch"] | None = None
    ) -> Split:
        """Give the parts: they are those of the loaders."""
        if ratios != (4, 1, 1) or groups is not None:
            raise ArgumentError("loaders are parts already: leave `ratios` and `groups` out.")
        train = self.train
        size = f"{len(train)} training examples" if len(train) else "a training stream of unknown length"
        many = "" if train.batches is None else f" in {train.batches} batches"
        held = (self.validation, "validation"), (self.test, "test")
        rest = [f"{len(part) or 'no'} {name} examples" for part, name in held]
        note = f"the loaders of {self.spec.source}: {', '.join([size + many, *rest])}."
        return Split(train, self.validation, Sealed(self.test), " ".join(filter(None, (note, train.repeats))))

    def divide(self, seed: Seed, ratios: tuple[int, int, int]) -> tuple[Dataset, Dataset, Dataset, str]:
        """Give the parts of the loaders."""
        return self.train, self.validation, self.test, "by the loaders"


def _classes_of(loader: Any) -> Sequence[str] | None:
    """Give the names of the classes that the dataset of a loader knows, also through `random_split`."""
    dataset = getattr(loader, "dataset", None)
    while isinstance(dataset, torch_data.Subset):
        dataset = dataset.dataset
    return getattr(dataset, "classes", None)


def _about(target: Tensor, task: str | None, classes: Sequence[str] | None, name: str) -> dict[str, Any]:
    """Say what is learned from targets like these, as fields of a `Spec`; the number of classes is a first guess."""
    shape = tuple(target.shape[1:])
    if task is None:
        real = target.is_floating_point()
        single = target.ndim == 1 or (target.ndim == 2 and shape == (1,))
        several = "multilabel" if target.dtype == torch.bool and target.ndim == 2 else "structured"
        task = ("regression" if target.ndim <= 2 else "structured") if real else "classification" if single else several
        if task == "structured" and not real:
            raise DataError(
                f"the targets of {name} are whole numbers of shape {tuple(target.shape)}, but a class is one number "
                "per example: give floats for numbers, or truth values [batch, labels] for several labels."
            )
    if task == "classification":
        many = len(classes) if classes is not None else max(2, int(target.max()) + 1)
        return {"task": task, "outputs": many, "classes": tuple(map(str, classes or ()))}
    if task == "multilabel":
        return {"task": task, "outputs": shape[-1], "classes": tuple(map(str, classes or ()))}
    outputs = int(np.prod(shape))
    return {"task": task, "outputs": outputs, "target_shape": shape if task == "structured" else ()}


def _as_targets(target: Tensor, spec: Spec, counted: bool, what: str) -> Tensor:
    """Bring targets into the stored form, and refuse what the network could not learn."""
    if spec.task == "classification":
        labels = target.reshape(len(target), -1)
        if labels.shape[1] != 1 or (target.is_floating_point() and not bool((labels == labels.round()).all())):
            raise DataError(f"{what} must have one class per example, got targets of shape {tuple(target.shape)}.")
        low, high = int(labels.min()), int(labels.max())
        if low < 0 or (counted and high >= spec.outputs):
            raise DataError(
                f"{what} has the label {low if low < 0 else high}, but there are {spec.outputs} classes, from 0 on: "
                "give the network as many outputs as there are classes, or correct the labels."
            )
        return labels[:, 0].long()
    wanted = spec.target_shape if spec.task == "structured" else (spec.outputs,)
    if tuple(target.shape[1:]) != wanted and not (wanted == (1,) and target.ndim == 1):
        raise DataError(
            f"{what} has targets of shape {tuple(target.shape[1:])}, but those of the first batch had {wanted}."
        )
    return target.float().reshape(len(target), *wanted)


def _generators(loader: Any) -> list[torch.Generator]:
    """Find the generators that a loader and its samplers draw from."""
    inner = getattr(loader.batch_sampler, "sampler", None)
    holders = (loader, loader.sampler, loader.batch_sampler, inner)
    found = [getattr(holder, "generator", None) for holder in holders]
    return list({id(each): each for each in found if isinstance(each, torch.Generator)}.values())


@contextmanager
def _seeded(generators: Sequence[torch.Generator], seed: int, epoch: int, batch: int) -> Iterator[None]:
    """Let everything that is drawn be a function of seed, epoch and batch; all generators are left as they were.

    A generator of the caller's counts by the seed that it was given, so that another one is another order.
    """
    every = [torch.default_generator, *generators]
    states, python, numpy = [each.get_state() for each in every], random.getstate(), _NUMPY.get_bit_generator()
    number = _number([seed, epoch, batch + 1])
    try:
        for own in generators:
            own.manual_seed(_number([own.initial_seed(), epoch, batch + 1]))
        torch.default_generator.manual_seed(number)
        random.seed(number)
        _NUMPY.set_bit_generator(_SPARE)  # a hundred times as fast as taking its state out and putting it back
        np.random.seed(number)
        yield
    finally:
        for each, state in zip(every, states, strict=True):
            each.set_state(state)
        random.setstate(python)
        _NUMPY.set_bit_generator(numpy)


def _number(key: Sequence[int]) -> int:
    """Mix numbers into one of 32 bits, which is all that torch's generator reads of a seed."""
    return int(np.random.SeedSequence(key).generate_state(1)[0])
