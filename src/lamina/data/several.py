"""Examples of several inputs: each is stored as one row of bytes, so that whatever moves examples moves them whole.

What a batch or an item of somebody else's dataset holds is taken apart here too: which entries are inputs, and which is
the target.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch

from lamina._errors import DataError, nearest
from lamina._types import Float, Int, Num, Tensor
from lamina.data.augment import Augment
from lamina.data.dataset import BaseDataset, Dataset, Spec, all_targets
from lamina.data.preprocess import Preprocess
from lamina.data.source import Source

TARGETS = ("target", "targets", "label", "labels", "y")
"""Names by which the target of a dict is known, unless it is said."""

Described = tuple[tuple[str, tuple[int, ...], str], ...]
"""Name ("" where inputs go by their order), shape and type of each input, as a `Spec` has them."""


class Apart(NamedTuple):
    """The inputs of a batch or an item with their names ("" where they go by their order), and its target with its."""

    names: tuple[str, ...]
    inputs: tuple[Any, ...]
    target: Any
    called: str = ""


def apart(item: Any, what: str, inputs: Sequence[str] | None = None, target: str | None = None) -> Apart:
    """Take a batch or an item apart: the last entry of a tuple is the target, and a dict names it.

    Args:
        item: (input, ..., target), (inputs, target) with a tuple or dict of inputs, or a dict.
        what: how a sentence calls it.
        inputs: the names of the inputs in a dict; all but the target by default.
        target: the name of the target in a dict; one of `TARGETS` by default.

    >>> apart((1.0, 2.0, "cat"), "the item")
    Apart(names=('', ''), inputs=(1.0, 2.0), target='cat', called='')
    >>> apart({"image": 1.0, "age": 2.0, "label": "cat"}, "the item").names
    ('image', 'age')
    """
    if isinstance(item, Mapping):
        target = _target_of(item, what, target)
        chosen = [name for name in item if name != target] if inputs is None else list(inputs)
        for name in chosen:
            if name not in item:
                raise DataError(
                    f"{what} has no entry {name!r}: it has {', '.join(map(str, item))}{nearest(name, item)}"
                )
        if not chosen:
            raise DataError(f"{what} has no entry but the target {target!r}: it needs at least 1 input.")
        return Apart(tuple(map(str, chosen)), tuple(item[name] for name in chosen), item[target], target)
    if not isinstance(item, tuple | list) or len(item) < 2:
        raise DataError(
            f"{what} must be a tuple such as (input, target) or (input, input, target), or a dict, got "
            f"{f'{type(item).__name__} of {len(item)}' if isinstance(item, tuple | list) else type(item).__name__}."
        )
    first = item[0]
    if len(item) == 2 and isinstance(first, Mapping):
        names = tuple(first) if inputs is None else tuple(inputs)
        return apart({**first, "": item[1]}, what, names, "")
    if inputs is not None or target is not None:
        raise DataError(
            f"`inputs` and `target` name entries of a dict, but {what} is a tuple: its last entry is the target."
        )
    if len(item) == 2 and isinstance(first, tuple | list) and len(first) and isinstance(first[0], Tensor):
        return Apart(("",) * len(first), tuple(first), item[1])
    return Apart(("",) * (len(item) - 1), tuple(item[:-1]), item[-1])


def _target_of(item: Mapping[str, Any], what: str, target: str | None) -> str:
    has = f"it has {', '.join(map(str, item))}"
    if target is not None:
        if target not in item:
            raise DataError(f"{what} has no target {target!r}: {has}{nearest(target, item)}")
        return target
    found = [name for name in TARGETS if name in item]
    if len(found) != 1:
        which = f"{' and '.join(found)} could be" if found else f"no entry is called {', '.join(TARGETS)}, so none is"
        raise DataError(f"{what} does not say what to learn, since {which} the target ({has}): name it with `target`.")
    return found[0]


class Layout:
    """Where the inputs of an example lie in its row of bytes.

    Args:
        described: name, shape and type of each.

    >>> layout = Layout((("image", (2,), "uint8"), ("age", (), "float32")))
    >>> rows = layout.pack([torch.tensor([[1, 2]], dtype=torch.uint8), torch.tensor([0.5])])
    >>> rows.shape, [part.tolist() for part in layout.unpack(rows)]
    (torch.Size([1, 6]), [[[1, 2]], [0.5]])
    """

    def __init__(self, described: Described) -> None:
        self.described = described
        self.names, self.shapes = tuple(name for name, _, _ in described), tuple(shape for _, shape, _ in described)
        self.dtypes: tuple[torch.dtype, ...] = tuple(getattr(torch, dtype) for _, _, dtype in described)
        pairs = zip(self.shapes, self.dtypes, strict=True)
        self.sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in pairs]

    @property
    def width(self) -> int:
        """How many bytes an example has."""
        return sum(self.sizes)

    @property
    def columns(self) -> dict[str, tuple[int, ...]]:
        """The bytes of each input, by its name."""
        ends = torch.tensor(self.sizes).cumsum(0).tolist()
        spans = zip(ends, self.sizes, strict=True)
        named = zip(self.called, (tuple(range(end - size, end)) for end, size in spans), strict=True)
        return dict(named)

    @property
    def called(self) -> tuple[str, ...]:
        """What people call each input: its name, or its number."""
        return tuple(name or f"input {place}" for place, name in enumerate(self.names, 1))

    def pack(self, parts: Sequence[Tensor]) -> Num[Tensor, "batch byte"]:
        """Put the inputs of some examples into rows of bytes."""
        ready = [part.to(dtype) for part, dtype in zip(parts, self.dtypes, strict=True)]
        return torch.cat([part.contiguous().reshape(len(part), -1).view(torch.uint8) for part in ready], 1)

    def unpack(self, rows: Num[Tensor, "batch byte"]) -> tuple[Tensor, ...]:
        """Take rows of bytes apart."""
        pieces = zip(rows.split(self.sizes, 1), self.shapes, self.dtypes, strict=True)
        fresh = torch.contiguous_format  # a piece of one row counts as contiguous wherever it begins
        return tuple(
            piece.clone(memory_format=fresh).view(dtype).reshape(len(rows), *shape) for piece, shape, dtype in pieces
        )

    def __str__(self) -> str:
        sizes = (" x ".join(map(str, shape)) or "1" for shape in self.shapes)
        types = (str(dtype).removeprefix("torch.") for dtype in self.dtypes)
        return ", ".join(f"{name} ({size}, {kind})" for name, size, kind in zip(self.called, sizes, types, strict=True))


def described(names: Sequence[str], parts: Sequence[Tensor]) -> Described:
    """Describe the inputs of some examples.

    >>> described(("image", "age"), (torch.zeros(5, 1, 8, 8), torch.zeros(5, dtype=torch.int64)))
    (('image', (1, 8, 8), 'float32'), ('age', (), 'int64'))
    """
    rows = zip(names, parts, strict=True)
    return tuple((name, tuple(part.shape[1:]), str(part.dtype).removeprefix("torch.")) for name, part in rows)


@dataclass(frozen=True)
class SeveralPreprocess:
    """A preparation of each input by itself, and of the targets; it travels with a run.

    Real numbers are standardized as if each input were alone: pictures (three axes) by channel, series (two axes) by
    feature, others by component. Whole numbers and truth values stay what they are.

    Args:
        spec: what the stored examples are.
        parts: how each input is prepared.

    >>> from lamina.data.arrays import from_arrays
    >>> data = from_arrays({"size": torch.tensor([1.0, 3.0, 1.0, 3.0]), "kind": torch.arange(4)}, [0, 1, 0, 1])
    >>> prepare = SeveralPreprocess.fit(data)
    >>> [part.tolist() for part in prepare.prepared.unpack(prepare.apply(data.inputs))]
    [[-1.0, 1.0, -1.0, 1.0], [0, 1, 2, 3]]
    """

    spec: Spec
    parts: tuple[Preprocess, ...]

    @classmethod
    def fit(cls, train: Dataset) -> "SeveralPreprocess":
        """Fit to the training part."""
        inputs = range(len(train.spec.several))
        return cls(train.spec, tuple(Preprocess.fit(_Only(train, place)) for place in inputs))

    @classmethod
    def none(cls, spec: Spec) -> "SeveralPreprocess":
        """Leave inputs and targets as they are."""
        zeros, ones = ((value,) * spec.outputs if spec.task == "regression" else (value,) for value in (0.0, 1.0))
        real = (zeros, ones) if spec.task in ("regression", "structured") else ((), ())
        specs = [_only(spec, place, "tokens") for place in range(len(spec.several))]
        return cls(spec, tuple(Preprocess(s, s.inputs, s.inputs, 1.0, (), (), (), (), (), *real) for s in specs))

    @property
    def layout(self) -> Layout:
        """Where the inputs of a stored example lie."""
        return Layout(self.spec.several)

    @property
    def prepared(self) -> Layout:
        """Where the inputs of a prepared example lie."""
        made = zip(self.spec.several, self.parts, strict=True)
        return Layout(tuple((name, shape, "float32" if part.mean else dtype) for (name, shape, dtype), part in made))

    @property
    def inputs(self) -> tuple[int, ...]:
        """The shape of one prepared example."""
        return (self.prepared.width,)

    kept = inputs

    @property
    def kept_dtype(self) -> torch.dtype:
        """Bytes."""
        return torch.uint8

    @property
    def target_mean(self) -> tuple[float, ...]:
        """The mean of real targets."""
        return self.parts[0].target_mean

    @property
    def target_std(self) -> tuple[float, ...]:
        """The standard deviation of real targets."""
        return self.parts[0].target_std

    def keep(self, inputs: Num[Tensor, "batch byte"]) -> Num[Tensor, "batch other"]:
        """Prepare stored examples."""
        if tuple(inputs.shape[1:]) != self.spec.inputs:
            raise DataError(
                f"examples must have {self.spec.inputs[0]} bytes, as in training, got {tuple(inputs.shape[1:])}."
            )
        pieces = zip(self.layout.unpack(inputs), self.parts, strict=True)
        return self.prepared.pack([part.apply(piece.reshape(-1, *part.spec.inputs)) for piece, part in pieces])

    apply = keep

    def finisher(self, device: torch.device | str) -> Callable[[Tensor], Tensor]:
        """Give the last step: nothing."""
        return lambda kept: kept

    def targets(self, targets: Num[Tensor, "batch ..."]) -> Num[Tensor, "batch ..."]:
        """Prepare targets, as `Preprocess` does."""
        return self.parts[0].targets(targets)

    def untargets(self, outputs: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch ..."]:
        """Give real outputs of a network in the units of the stored targets."""
        return self.parts[0].untargets(outputs)

    def unknown(self, inputs: Tensor) -> dict[str, int]:
        """Count nothing: there are no categories."""
        return {}

    def source(
        self,
        dataset: Dataset,
        device: torch.device | str = "cpu",
        budget: int = 2 * 2**30,
        augment: Augment | None = None,
    ) -> Source:
        """Give prepared batches of a dataset on a device; see `Source`."""
        return Source(dataset, self, device, budget, augment)

    def as_dict(self) -> dict[str, Any]:
        """Give plain JSON values; `from_dict` takes them back. `each` says for people what is done to each input."""
        kinds = {"image": "standardized by channel", "series": "standardized by feature", "vector": "standardized"}
        rows = zip(self.layout.called, self.spec.several, self.parts, strict=True)
        return {
            "spec": self.spec.as_dict(),
            "parts": [part.as_dict() for part in self.parts],
            "each": [
                [name, list(shape), dtype, kinds.get(part.spec.kind, "as it is")]
                for name, (_, shape, dtype), part in rows
            ],
            "target_mean": list(self.target_mean),
            "target_std": list(self.target_std),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "SeveralPreprocess":
        """Make a preparation of what `as_dict` gave."""
        return cls(Spec.from_dict(values["spec"]), tuple(Preprocess.from_dict(part) for part in values["parts"]))


def _only(spec: Spec, place: int, kind: str | None = None) -> Spec:
    """Say what one of several inputs would be if it were alone."""
    _, shape, dtype = spec.several[place]
    whole = not getattr(torch, dtype).is_floating_point and not (dtype == "uint8" and len(shape) == 3)
    usual = "tokens" if whole else {3: "image", 2: "series"}.get(len(shape), "vector")
    return replace(spec, kind=kind or usual, inputs=shape or (1,), several=())


class _Only(BaseDataset):
    """One of several inputs as a dataset of its own."""

    groups = official_test = None

    def __init__(self, dataset: Dataset, place: int) -> None:
        self._dataset, self._place, self._layout = dataset, place, Layout(dataset.spec.several)
        self.spec = _only(dataset.spec, place)

    @property
    def targets(self) -> Tensor:  # type: ignore[override]
        """Those of the whole."""
        return all_targets(self._dataset)

    def __len__(self) -> int:
        return len(self._dataset)

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give this input of some examples."""
        rows, targets = self._dataset.take(indices)
        return self._layout.unpack(rows)[self._place].reshape(-1, *self.spec.inputs), targets


def joined(
    inputs: Mapping[str, Any] | tuple[Any, ...], tensor: Callable[[Any, str], Tensor]
) -> tuple[Tensor, Described]:
    """Put arrays of several inputs into rows of bytes, and describe them.

    Args:
        inputs: arrays by their names, or in order.
        tensor: makes a tensor of an array that a sentence calls by a name.
    """
    names = tuple(map(str, inputs)) if isinstance(inputs, Mapping) else ("",) * len(inputs)
    values = list(inputs.values()) if isinstance(inputs, Mapping) else list(inputs)
    parts = [_whole(tensor(value, label), label) for value, label in zip(values, _labels(names), strict=True)]
    for label, part in zip(_labels(names), parts, strict=True):
        if not part.ndim or len(part) != len(parts[0]):
            raise DataError(
                f"{label} must have a row for each of the {len(parts[0])} examples, got the shape {tuple(part.shape)}."
            )
    about = described(names, parts)
    return Layout(about).pack(parts), about


def _labels(names: Sequence[str]) -> Iterator[str]:
    return (f"input {name!r}" if name else f"input {place}" for place, name in enumerate(names, 1))


def _whole(part: Tensor, label: str) -> Tensor:
    """Refuse numbers that are not finite; whole numbers other than bytes become int64, as an embedding wants them."""
    if part.is_floating_point():
        if not bool(part.isfinite().all()):
            raise DataError(f"{label} must be finite, got NaN or infinity: correct or remove those examples.")
        return part
    return part if part.dtype in (torch.uint8, torch.bool) else part.long()
