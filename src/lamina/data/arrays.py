"""Datasets from what a program already has: NumPy or torch arrays, and any torch `Dataset`."""

import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from lamina._errors import DataError, DataWarning, choice
from lamina._types import Int, Tensor
from lamina.data.dataset import KINDS, TASKS, ArrayDataset, BaseDataset, Spec
from lamina.data.several import Described, Layout, apart, joined
from lamina.data.streaming import Stream


def from_arrays(
    inputs: Any,
    targets: Any,
    *,
    kind: str | None = None,
    task: str | None = None,
    classes: Sequence[str] | None = None,
    features: Sequence[str] = (),
    groups: Any = None,
    weights: Any = None,
    source: str = "arrays",
) -> ArrayDataset:
    """Make a dataset of arrays, tensors or nested lists.

    Args:
        inputs: one example per row. Three axes are gray pictures, four pictures with the channels (1 or 3) second or
            last; bytes stay bytes. Everything else is vectors. A dict or a tuple of arrays is several inputs, which a
            network takes by their names or in their order; each keeps its shape.
        targets: whole numbers, truth values or text are classes; truth values [N, labels] are labels, of which an
            example may have several; floats [N] or [N, outputs] are real targets; floats or bytes with more axes
            (pictures) are structured targets.
        kind: "image" or "vector", when the rule above is wrong.
        task: "classification", "multilabel" for 0 and 1 in [N, labels], "regression" or "structured", when the rule
            above is wrong.
        classes: names of the classes in the order of the sorted labels, or of the labels.
        features: names of the components of a vector.
        groups: a value for each row; rows of one value stay in one part of a split.
        weights: how much each row counts, in training and in every score.
        source: what to call it.

    >>> data = from_arrays([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], ["dog", "cat", "dog"])
    >>> data.spec.classes, data.targets.tolist()
    (('cat', 'dog'), [1, 0, 1])
    """
    choice("kind", kind, (None, *KINDS[:3]))  # sequences and texts have loaders of their own
    choice("task", task, (None, *TASKS[:4]))
    labels, about = _targets(targets, task, classes)
    if _are_several(inputs, len(labels)):
        if kind is not None or features:
            raise DataError("`kind` and `features` are about one input, but there are several: leave them out.")
        kind = "several"
        examples, about["several"] = joined(inputs, _tensor)
    else:
        examples, kind = _inputs(inputs, kind)
    if len(examples) != len(labels):
        raise DataError(f"`targets` must have one entry for each of the {len(examples)} inputs, got {len(labels)}.")
    numbers = None if groups is None else torch.from_numpy(np.unique(np.asarray(groups), return_inverse=True)[1].copy())
    if weights is not None:
        about["weight"], weights = "weights", _weights(weights, about["task"])
    spec = Spec(kind=kind, inputs=tuple(examples.shape[1:]), features=tuple(features), source=source, **about)
    return ArrayDataset(examples, labels, spec, numbers, weights=weights)


class WrappedDataset(BaseDataset):
    """Any map-style dataset of (input, target) pairs; examples are read when they are asked for.

    Inputs are tensors, arrays or Pillow pictures of one shape; the rules of `from_arrays` hold. An item may also have
    several inputs: (input, input, target), (inputs, target) or a dict; see `lamina.data.several.apart`. The targets are
    read once at the beginning: from an attribute `targets`, if there is one and nothing changes them, else from the
    items. Random changes belong into `Augment`, where they are a function of the seed, or into a `DataLoader`, which
    asks for them in every epoch; a dataset that makes its own is warned of.

    Args:
        dataset: what to wrap; it has a length and can be indexed.
        task: as in `from_arrays`.
        classes: the names of the classes; by default the attribute `classes` of the dataset, else the labels.
        workers: threads that may read at once; 1 for a dataset that must not be asked by several.
        inputs: the names of the inputs in items that are dicts; all but the target by default.
        target: the name of the target in such items; "target", "label" or "y" by default.

    >>> pairs = torch.utils.data.TensorDataset(torch.arange(6.0).reshape(3, 2), torch.tensor([0, 1, 0]))
    >>> data = WrappedDataset(pairs)
    >>> len(data), data.take(torch.tensor([2]))
    (3, (tensor([[4., 5.]]), tensor([0])))
    """

    def __init__(
        self,
        dataset: Any,
        *,
        task: str | None = None,
        classes: Sequence[str] | None = None,
        workers: int = 1,
        inputs: Sequence[str] | None = None,
        target: str | None = None,
    ) -> None:
        self._dataset, self._workers, self._lock = dataset, workers, threading.Lock()
        self._chosen, self._target = inputs, target
        self._count = _length(dataset)
        self._name = type(dataset).__name__
        first = self._item(0)
        if not _equal(first, self._item(0)):
            warnings.warn(
                f"{self._name} gives a different example at index 0 each time it is asked, so no run could be "
                "repeated: leave its random changes out and use `augment`, or give a DataLoader of it.",
                DataWarning,
                stacklevel=2,
            )
        self._several = first.several
        examples, kind = (first.example[None], "several") if first.several else _inputs(first.example[None], None)
        self._shape, self._dtype = tuple(examples.shape[1:]), examples.dtype
        names = classes if classes is not None else getattr(dataset, "classes", None)
        self.targets, about = _targets(self._read_targets(), task, names)
        self.groups, self.official_test = None, None
        self.spec = Spec(kind=kind, inputs=self._shape, source=self._name, several=self._several, **about)

    def _item(self, index: int) -> "_Item":
        """Ask for one item, its input as an array, several of them as a row of bytes."""
        what = f"{self._name}[{index}]"
        with self._lock if self._workers == 1 else threading.Lock():
            found = apart(self._dataset[index], what, self._chosen, self._target)
        if len(found.inputs) == 1:
            return _Item(_array(found.inputs[0], what), found.target, ())
        named = dict(zip(found.names, found.inputs, strict=True)) if found.names[0] else found.inputs
        rows, about = joined(named, lambda value, label: _tensor(value, f"{label} of {what}")[None])
        return _Item(rows[0], found.target, about)

    def _read_targets(self) -> Any:
        known = getattr(self._dataset, "targets", None)
        changed = getattr(self._dataset, "target_transform", None) or getattr(self._dataset, "transforms", None)
        if known is not None and changed is None and len(known) == self._count:
            return known
        return [self._item(index).target for index in range(self._count)]

    def _example(self, index: int) -> Tensor:
        item = self._item(index)
        example = item.example if item.several else _inputs(item.example[None], self.spec.kind)[0][0]
        if item.several != self._several:
            raise DataError(
                f"{self._name}[{index}] has {Layout(item.several)}, but index 0 has {Layout(self._several)}: bring all "
                "examples to one shape."
            )
        if tuple(example.shape) != self._shape or example.dtype != self._dtype:
            raise DataError(
                f"{self._name}[{index}] has the shape {tuple(example.shape)} ({example.dtype}), but index 0 has "
                f"{self._shape} ({self._dtype}): resize all examples to one shape."
            )
        return example

    def __len__(self) -> int:
        return self._count

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Read the examples at `indices`."""
        examples = [self._example(index) for index in indices.tolist()]
        empty = torch.zeros((0, *self._shape), dtype=self._dtype)
        return torch.stack(examples) if examples else empty, self.targets[indices]

    def prefetch(self, order: Sequence[Int[Tensor, " _"]], *, ahead: int = 2) -> Stream:
        """Begin to read batches of a known order in the background."""
        shape, dtype, workers = self._shape, self._dtype, self._workers
        return Stream(self._example, self.targets, order, shape=shape, dtype=dtype, workers=workers, ahead=ahead)


class _Item(NamedTuple):
    """An item of a dataset: its input, its target, and what the inputs are where there are several."""

    example: Any
    target: Any
    several: Described


def _are_several(inputs: Any, examples: int) -> bool:
    """Say whether these are several inputs: a dict, or a tuple of arrays with a row for every example."""
    if isinstance(inputs, Mapping):
        return bool(inputs)
    arrays = isinstance(inputs, tuple) and inputs and all(hasattr(each, "shape") and each.shape for each in inputs)
    return bool(arrays) and all(len(each) == examples for each in inputs)


def _length(dataset: Any) -> int:
    if not hasattr(dataset, "__len__"):
        raise DataError(
            f"{type(dataset).__name__} has no length: give it a __len__, or make it a torch IterableDataset, which is "
            "streamed."
        )
    count = len(dataset)
    if not count:
        raise DataError(f"{type(dataset).__name__} is empty: it needs at least 1 example.")
    return count


def _equal(first: _Item, second: _Item) -> bool:
    one, other = first.example, second.example
    return one.shape == other.shape and bool((np.asarray(one) == np.asarray(other)).all())


def _array(values: Any, name: str) -> Any:
    """Give a tensor or an array of numbers; a Pillow picture becomes bytes (channels, height, width)."""
    if isinstance(values, Tensor):
        if values.is_meta or values.layout is not torch.strided or values.is_quantized or _narrow(values.dtype):
            raise DataError(
                f"{name} must be an ordinary tensor of numbers, got one of type {values.dtype} and layout "
                f"{values.layout} on {values.device}: convert it, for example with .to_dense().float()."
            )
        return values.detach().cpu()
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise DataError(f"{name} has masked values: fill them in, or load a table, where cells may be empty.")
    if hasattr(values, "getbands"):
        picture = values if values.mode in ("L", "RGB") else values.convert("L" if values.mode == "1" else "RGB")
        return np.moveaxis(np.asarray(picture).reshape(picture.height, picture.width, -1), -1, 0)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{name} must have rows of one length, got ragged ones: pad or cut them.") from error
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} must be numbers, got values of type {array.dtype}: convert them, or load a table.")
    return array


def _narrow(dtype: torch.dtype) -> bool:
    """Whether numbers of a type have 8 bits or fewer and are not whole: torch cannot compute with them."""
    return dtype.is_floating_point and dtype.itemsize < 2


def _tensor(values: Any, name: str) -> Tensor:
    array = _array(values, name)
    if isinstance(array, Tensor):
        if array.is_complex():
            raise DataError(f"{name} must be numbers, got values of type {array.dtype}: convert them, or load a table.")
        return array
    if array.dtype.kind == "u" and array.dtype.itemsize > 1:
        array = array.astype(np.int64)
    if array.dtype.kind == "f":
        array = array.astype(np.float64 if array.dtype.itemsize > 4 else np.float32)
    return torch.from_numpy(np.asarray(array.astype(array.dtype.newbyteorder("=")), order="C"))


def _inputs(inputs: Any, kind: str | None) -> tuple[Tensor, str]:
    """Bring inputs into the stored form and say what kind they are."""
    examples = _tensor(inputs, "`inputs`")
    if not examples.ndim or not examples.numel():
        raise DataError(f"`inputs` must have at least 1 example with 1 number, got the shape {tuple(examples.shape)}.")
    if examples.is_floating_point() and not bool(examples.isfinite().all()):
        row = int((~examples.flatten(1).isfinite()).any(1).nonzero()[0]) if examples.ndim > 1 else 0
        raise DataError(
            f"`inputs` must be finite, got NaN or infinity in row {row}: correct it, or load a table file, where empty "
            "cells are missing values."
        )
    kind = kind or ("image" if examples.ndim in (3, 4) else "vector")
    if kind == "image":
        return _pictures(examples), kind
    examples = examples if examples.is_floating_point() else examples.float()
    return (examples[:, None] if examples.ndim == 1 else examples), kind


def _pictures(images: Tensor) -> Tensor:
    """Put the channels second; keep bytes, make bytes of whole numbers from 0 to 255, floats of everything else."""
    if images.ndim == 3:
        images = images[:, None]
    if images.ndim != 4:
        raise DataError(
            "pictures must have the axes (example, height, width), with or without channels, got "
            f"{tuple(images.shape)}."
        )
    if images.shape[1] not in (1, 3) and images.shape[3] in (1, 3):
        images = images.permute(0, 3, 1, 2).contiguous()
    if images.shape[1] not in (1, 3):
        raise DataError(
            f"pictures must have 1 or 3 channels, got the shape {tuple(images.shape)}: convert them to gray or RGB."
        )
    if images.dtype == torch.bool:
        return images.to(torch.uint8) * 255
    if images.is_floating_point():
        return images.float()
    if images.dtype == torch.uint8 or (int(images.min()) >= 0 and int(images.max()) <= 255):
        return images.to(torch.uint8)
    return images.float()


def _targets(targets: Any, task: str | None, classes: Sequence[str] | None) -> tuple[Tensor, dict[str, Any]]:
    """Bring targets into the stored form and describe them as fields of a `Spec`."""
    values = targets.detach().cpu().numpy() if isinstance(targets, Tensor) else _stacked(targets)
    kind = values.dtype.kind
    if task is None:
        named = kind in "biuUO" and values.ndim == 1
        several = kind == "b" and values.ndim == 2
        task = "structured" if values.ndim > 2 else "multilabel" if several else "regression"
        task = "classification" if named else task
    if task == "classification":
        return _labels(values, classes)
    if task == "multilabel":
        return _many_labels(values, classes)
    numbers = _tensor(values, "`targets`")
    if numbers.is_floating_point() and not bool(numbers.isfinite().all()):
        raise DataError("`targets` must be finite, got NaN or infinity: correct or remove those examples.")
    if task == "structured":
        shape = tuple(numbers.shape[1:])
        stored = numbers if numbers.dtype == torch.uint8 else numbers.float()
        return stored, {"task": task, "outputs": int(np.prod(shape)), "target_shape": shape}
    if numbers.ndim > 2:
        raise DataError(f"targets of regression must be [N] or [N, outputs], got the shape {tuple(numbers.shape)}.")
    return numbers.float(), {"task": task, "outputs": 1 if numbers.ndim == 1 else numbers.shape[1]}


def _many_labels(values: Any, classes: Sequence[str] | None) -> tuple[Tensor, dict[str, Any]]:
    """Give 0 and 1 for each example and label."""
    if values.ndim != 2 or values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise DataError(
            "`targets` of several labels must be 0 and 1 in an array [N, labels], got the shape "
            f"{values.shape} ({values.dtype}): give a column per label."
        )
    constant = np.flatnonzero(values.min(0) == values.max(0))
    if len(constant):
        raise DataError(
            f"`targets` have the same value for label {constant[0]} in every example: leave that label out."
        )
    names = tuple(map(str, range(values.shape[1]) if classes is None else classes))
    if len(names) != values.shape[1]:
        raise DataError(f"`classes` must name the {values.shape[1]} labels that `targets` have, got {len(names)}.")
    return torch.from_numpy(values.astype(np.float32)), {"task": "multilabel", "outputs": len(names), "classes": names}


def _weights(weights: Any, task: str) -> Tensor:
    """Check the weights of examples."""
    if task == "structured":
        raise DataError(
            "`weights` are for classes, labels and numbers, but the targets are structured: leave them out."
        )
    values = _tensor(weights, "`weights`").double()
    if values.ndim != 1 or not bool((values.isfinite() & (values >= 0)).all()) or not bool(values.any()):
        raise DataError(
            "`weights` must be one number for each example, none of them negative or NaN and not all 0, got "
            f"{str(values.tolist())[:60]}."
        )
    return values


def _stacked(targets: Any) -> Any:
    """Make one array of targets, also of a list of tensors or pictures."""
    if isinstance(targets, (list, tuple)) and len(targets) and isinstance(targets[0], Tensor):
        targets = [target.detach().cpu().numpy() for target in targets]
    try:
        return np.asarray(targets)
    except ValueError as error:
        raise DataError("`targets` must all have one shape, got several: bring them to one shape.") from error


def _labels(values: Any, classes: Sequence[str] | None) -> tuple[Tensor, dict[str, Any]]:
    """Give the different values numbers in sorted order."""
    if values.ndim != 1:
        raise DataError(
            f"there must be one label for each example, got the shape {values.shape}: give numbers or names."
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise DataError("`targets` must be finite, got NaN or infinity: correct or remove those examples.")
    values = values.astype(str) if values.dtype.kind == "O" else values
    found, labels = np.unique(values, return_inverse=True)
    if classes is not None and values.dtype.kind in "iu" and len(classes) > int(values.max()) and values.min() >= 0:
        found, labels = np.arange(len(classes)), values  # the names number the labels, also those that do not occur
    if len(found) < 2:
        raise DataError(f"`targets` have one class only, {found[0]!s}: a classifier needs at least 2.")
    if classes is None and len(found) > max(2, len(values) // 2):
        raise DataError(
            f"`targets` have {len(found)} classes in {len(values)} examples, too many: give floats or "
            "task='regression'."
        )
    names = tuple(map(str, found)) if classes is None else tuple(map(str, classes))
    if len(names) != len(found):
        raise DataError(f"`classes` must name the {len(found)} classes that `targets` have, got {len(names)}.")
    about = {"task": "classification", "outputs": len(names), "classes": names}
    return torch.from_numpy(labels.astype(np.int64)), about
