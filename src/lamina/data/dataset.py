"""What data are: a `Spec` that says what they hold, and anything with `spec`, `len` and `take(indices)`.

A dataset gives *stored* examples: pictures as bytes, table rows with NaN for a missing value and level numbers for
categories (-1 for a category that has no number), texts as code points. What a network wants is made of them by
`preprocess`, or for texts by `tokens`, which are fitted on the training part alone.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np
import torch

from lamina._errors import ArgumentError, DataError, at_least, choice
from lamina._markup import Markup
from lamina._shown import Shown
from lamina._types import Float, Int, Num, Seed, Tensor

if TYPE_CHECKING:
    import lamina.data.splits

KINDS = ("image", "table", "vector", "series", "tokens", "text", "pairs", "several", "batches")
UNKNOWN = ("other", "error")
TASKS = (
    "classification",
    "multilabel",
    "regression",
    "structured",
    "tagging",
    "translation",
    "language",
    "description",
)


@dataclass(frozen=True)
class Spec:
    """What a dataset holds, as plain values.

    Args:
        kind: "image" (channels, height, width), "table" (named columns, some of them categories), "vector", "series"
            (time, feature), "tokens" (whole numbers along time), "text" or "pairs" (code points along time; the
            targets of pairs are texts too), "several" (inputs of their own shapes, in one row of bytes), or "batches",
            which a loader makes of such examples.
        task: "classification", "multilabel" for any number of labels per example, "regression", "structured" for
            targets that are pictures or other tensors, "tagging" for a label at every step, "translation" for texts
            as targets, "language" for the next characters of a text, "description" for texts as targets of things that
            are no texts.
        inputs: the shape of one stored example; of texts the longest one.
        outputs: the number of classes, of real outputs, of all entries of a structured target, or of labels at a step;
            1 for texts, whose dictionary comes later.
        classes: the names of the classes or labels in their order; "0", "1", ... when not given.
        features: the names of the columns; "x1", "x2", ... for a table when not given.
        target: the name of the target column, several joined by ", ", or "".
        source: the name or path as the user gave it.
        target_shape: the shape of one structured target.
        levels: for each column of a table the names of its categories; () for a column of numbers.
        notes: sentences about decisions made while reading, for people.
        resize: how pictures of other proportions were brought to one shape when read ("crop", "fit", "stretch"), or "".
        complete: whether these are all possible inputs, as in a truth table: then nothing is held back in a split.
        symbols: what the numbers of tokens stand for.
        reading: how the file of a table was read (delimiter, encoding, decimal mark, ...), for the next file.
        dates: for each column of a table how its dates are written, such as "day-month-year", or ""; its values are
            then seconds since 1970. () is the same as "" for every column.
        unknown: what a category of a table counts as that the training part does not have: "other", or "error".
        weight: the name of the column that weighs the examples; "" when all weigh the same.
        group: the name of the column whose rows of one value stay in one part of a split, or "".
        time: the name of the column with the moments of a series, or "".
        horizon: how many moments of a series are predicted, or how far ahead every step looks; 0 for other data.
        several: of examples with several inputs the name ("" where they go by their order), the shape and the type of
            each.

    >>> Spec("vector", "classification", inputs=(2,), outputs=2).classes
    ('0', '1')
    """

    kind: str
    task: str
    inputs: tuple[int, ...]
    outputs: int
    classes: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    target: str = ""
    source: str = ""
    target_shape: tuple[int, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    resize: str = ""
    complete: bool = False
    symbols: tuple[str, ...] = ()
    reading: tuple[tuple[str, Any], ...] = ()
    dates: tuple[str, ...] = ()
    unknown: str = "other"
    weight: str = ""
    group: str = ""
    time: str = ""
    horizon: int = 0
    several: tuple[tuple[str, tuple[int, ...], str], ...] = ()

    def __post_init__(self) -> None:
        choice("kind", self.kind, KINDS)
        choice("task", self.task, TASKS)
        choice("unknown", self.unknown, UNKNOWN)
        at_least("outputs", self.outputs, 1)
        if self.kind == "table" and len(self.inputs) == 1:
            width = self.inputs[0]
            object.__setattr__(self, "levels", self.levels or ((),) * width)
            object.__setattr__(self, "dates", self.dates or ("",) * width)
            object.__setattr__(self, "features", self.features or tuple(f"x{i + 1}" for i in range(width)))
        if self.kind == "image" and len(self.inputs) != 3:
            raise ArgumentError(f"`inputs` of pictures must be (channels, height, width), got {self.inputs}.")
        labeled = self.task in ("classification", "multilabel", "tagging")
        if labeled and not self.classes:
            object.__setattr__(self, "classes", tuple(map(str, range(self.outputs))))
        if labeled and len(self.classes) != self.outputs:
            raise ArgumentError(f"`classes` must name {self.outputs} classes, as `outputs` says, got {self.classes}.")
        for name in ("features", "levels", "dates"):
            given = len(getattr(self, name))
            axes = self.inputs[-1:] if self.kind == "series" else self.inputs
            if given and (given,) != axes:
                raise ArgumentError(f"`{name}` must have one entry for each of the inputs {self.inputs}, got {given}.")
        if self.task == "structured" and math.prod(self.target_shape) != self.outputs:
            raise ArgumentError(
                f"`outputs` must be the size of `target_shape` {self.target_shape}, got {self.outputs}."
            )

    @property
    def measured(self) -> str:
        """The target and its unit, as far as the file wrote one behind its numbers.

        >>> Spec("table", "regression", (1,), 1, target="size", reading=(("units", (("size", "m²"),)),)).measured
        'size in m²'
        """
        units = dict(dict(self.reading).get("units", ()))
        names = [f"{name} in {units[name]}" if name in units else name for name in self.target.split(", ")]
        return ", ".join(names)

    def as_dict(self) -> dict[str, Any]:
        """Give plain JSON values; `from_dict` takes them back."""
        plain: dict[str, Any] = _as_list(asdict(self))
        return plain

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Spec":
        """Make a spec of what `as_dict` gave.

        >>> spec = Spec("vector", "regression", inputs=(3,), outputs=1, features=("a", "b", "c"))
        >>> Spec.from_dict(spec.as_dict()) == spec
        True
        """
        _check_fields(cls, values, "description of data")
        return cls(**{name: _as_tuple(value) for name, value in values.items()})


@runtime_checkable
class Dataset(Protocol):
    """Anything that knows its `spec` and length and gives the examples at some indices."""

    @property
    def spec(self) -> Spec:
        """What the examples are."""
        ...

    def __len__(self) -> int:
        """Count the examples."""
        ...

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give stored inputs and targets: labels as int64, real targets as floats [batch] or [batch, outputs].

        Of a multi-label task they are floats [batch, outputs]: 1 for each label that an example has, else 0.
        """
        ...


class BaseDataset(Shown):
    """What every dataset of this package offers beside the three things of the protocol.

    A class that inherits it has `spec`, `__len__`, `take`, and all targets at once in `targets` (they are small, and
    splitting needs them without touching a picture). `groups` numbers rows that belong together, `weights` says how
    much each example counts; `official_test` is a test set that came with the data; `origin` says how `load` made it,
    if it did.
    """

    spec: Spec
    groups: Tensor | None
    weights: Tensor | None = None
    official_test: Dataset | None
    targets: Tensor
    origin: Mapping[str, Any] | None = None

    def fingerprints(self) -> Int[Tensor, " batch"] | None:
        """Give a 64-bit number for each example, equal for equal inputs, or None when that would be too costly."""
        return None

    def name(self, index: int) -> str:
        """Give what people call an example, such as the path of its file; "" when it has no name."""
        return ""

    def divide(self, seed: Seed, ratios: tuple[int, int, int]) -> "tuple[Dataset, Dataset, Dataset, str] | None":
        """Give training, validation and test part and how they were made, if this data has a rule of its own."""
        return None

    def earliest(self, part: int, of: int) -> "Dataset | None":
        """Give the first `part` of `of` equal stretches of time; None for data that do not run in time."""
        return None

    def split(
        self, seed: Seed = 0, ratios: tuple[int, int, int] = (4, 1, 1), groups: Int[Tensor, " batch"] | None = None
    ) -> "lamina.data.splits.Split":
        """Split into training, validation and test part; see `lamina.data.splits.split`."""
        from lamina.data.splits import split

        return split(cast(Dataset, self), seed, ratios, groups)

    def _headline(self) -> str:
        from lamina.data.describe import what

        return f"{type(self).__name__}({self.spec.source or 'data'}: {what(cast(Dataset, self))})"

    def _facts(self) -> Iterator[tuple[str, str]]:
        from lamina.data.describe import balance

        yield from (line.split(": ", 1) for line in balance(cast(Dataset, self)))  # type: ignore[misc]
        yield from (("note", note) for note in self.spec.notes)

    def _picture(self) -> Markup | None:
        from lamina.data.describe import sample_card

        return sample_card(cast(Dataset, self))

    def describe(self, samples: int = 5) -> list[str]:
        """Say in lines of text what this is; see `lamina.data.describe.describe`."""
        from lamina.data.describe import describe

        return describe(cast(Dataset, self), samples)


@dataclass(frozen=True, eq=False, repr=False)
class ArrayDataset(BaseDataset):
    """Examples that lie in memory.

    Args:
        inputs: one example per row: bytes or floats for pictures, float64 for a table, floats for vectors.
        targets: int64 labels, real targets, or tensors.
        spec: what they are.
        groups: a number for each row; rows of one number stay in one part of a split.
        official_test: a test set that came with the data and stays the test part.
        times: a number for each row, by which a split puts the past before the future.
        weights: how much each example counts, where `spec.weight` names them.

    >>> spec = Spec("vector", "classification", inputs=(2,), outputs=2)
    >>> data = ArrayDataset(torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.tensor([0, 1]), spec)
    >>> data.take(torch.tensor([1]))
    (tensor([[2., 3.]]), tensor([1]))
    """

    inputs: Num[Tensor, "batch ..."]
    targets: Num[Tensor, "_ ..."]
    spec: Spec
    groups: Int[Tensor, " _"] | None = None
    official_test: Dataset | None = None
    times: Float[Tensor, " _"] | None = None
    weights: Float[Tensor, " _"] | None = None

    def __post_init__(self) -> None:
        if tuple(self.inputs.shape[1:]) != self.spec.inputs:
            raise DataError(
                f"`inputs` must have examples of shape {self.spec.inputs}, as `spec` says, "
                f"got {tuple(self.inputs.shape[1:])}."
            )
        for name in ("targets", "groups", "times", "weights"):
            other = getattr(self, name)
            if other is not None and len(other) != len(self.inputs):
                raise DataError(
                    f"`{name}` must have one entry for each of the {len(self.inputs)} inputs, got {len(other)}."
                )

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give the stored inputs and targets at `indices`."""
        return self.inputs[indices], self.targets[indices]

    def divide(self, seed: Seed, ratios: tuple[int, int, int]) -> "tuple[Dataset, Dataset, Dataset, str] | None":
        """Train on the past and test on the latest rows, if they have times."""
        if self.times is None:
            return None
        from lamina.data.splits import in_time

        train, validation, test = (Subset(self, part) for part in in_time(self.times, ratios))
        return train, validation, test, "in order of time"

    def fingerprints(self) -> Int[Tensor, " batch"]:
        """Give a 64-bit number for each example, equal for equal inputs."""
        return _fingerprints(self.inputs)


@dataclass(frozen=True, eq=False, repr=False)
class Subset(BaseDataset):
    """A view of some examples of a dataset.

    >>> spec = Spec("vector", "classification", inputs=(1,), outputs=2)
    >>> data = ArrayDataset(torch.tensor([[5.0], [6.0], [7.0]]), torch.tensor([0, 1, 0]), spec)
    >>> Subset(data, torch.tensor([2, 0])).take(torch.tensor([0]))
    (tensor([[7.]]), tensor([0]))
    """

    dataset: Dataset
    indices: Int[Tensor, " batch"]

    def __post_init__(self) -> None:
        if len(self.indices) and not (0 <= int(self.indices.min()) and int(self.indices.max()) < len(self.dataset)):
            raise DataError(
                f"`indices` must be in [0, {len(self.dataset)}), got values from {int(self.indices.min())} "
                f"to {int(self.indices.max())}."
            )

    @property
    def spec(self) -> Spec:  # type: ignore[override]
        """The same as of the whole."""
        return self.dataset.spec

    @property
    def groups(self) -> Tensor | None:  # type: ignore[override]
        """The groups of these examples."""
        groups = getattr(self.dataset, "groups", None)
        return None if groups is None else groups[self.indices]

    @property
    def weights(self) -> Tensor | None:  # type: ignore[override]
        """The weights of these examples."""
        weights = getattr(self.dataset, "weights", None)
        return None if weights is None else weights[self.indices]

    @property
    def official_test(self) -> None:  # type: ignore[override]
        """None: the test set belongs to the whole."""
        return None

    @property
    def targets(self) -> Tensor:  # type: ignore[override]
        """The targets of these examples."""
        return all_targets(self.dataset)[self.indices]

    def __len__(self) -> int:
        return len(self.indices)

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give the stored inputs and targets at `indices` of this view."""
        return self.dataset.take(self.indices[indices])

    def name(self, index: int) -> str:
        """Give what the whole calls an example."""
        return self.dataset.name(int(self.indices[index])) if isinstance(self.dataset, BaseDataset) else ""

    def fingerprints(self) -> Int[Tensor, " batch"] | None:
        """Give the numbers of these examples, if the whole has them."""
        found = self.dataset.fingerprints() if isinstance(self.dataset, BaseDataset) else None
        return None if found is None else found[self.indices]


def all_targets(dataset: Dataset) -> Tensor:
    """Give the targets of all examples, without reading inputs where the dataset allows it.

    >>> spec = Spec("vector", "classification", inputs=(1,), outputs=2)
    >>> all_targets(ArrayDataset(torch.zeros(2, 1), torch.tensor([1, 0]), spec))
    tensor([1, 0])
    """
    known = getattr(dataset, "targets", None)
    if isinstance(known, Tensor):
        return known
    return torch.cat([dataset.take(part)[1] for part in torch.arange(len(dataset)).split(256)])


def weights_of(dataset: Dataset) -> Float[Tensor, " batch"] | None:
    """Give the weights of all examples, scaled to a mean of 1, if `spec.weight` says that they have some.

    A mean over the examples, each times its weight, is then the weighted mean, and the plain mean of as many copies of
    each example as its weight says.

    >>> spec = Spec("vector", "regression", inputs=(1,), outputs=1, weight="w")
    >>> weights_of(ArrayDataset(torch.zeros(2, 1), torch.zeros(2), spec, weights=torch.tensor([1.0, 3.0]))).tolist()
    [0.5, 1.5]
    """
    name = dataset.spec.weight
    if not name:
        return None
    weights = getattr(dataset, "weights", None)
    if weights is None:
        raise DataError(f"`spec.weight` names {name!r}, but the dataset has no `weights`: give one for each example.")
    if not bool(weights.any()):
        raise DataError(
            f"all {len(dataset)} examples of a part have the weight 0 in {name!r}: split with another seed, or leave "
            "rows without weight out."
        )
    return weights.double() / weights.double().mean()


def _fingerprints(inputs: Num[Tensor, "batch ..."]) -> Int[Tensor, " batch"]:
    """Hash each example to 64 bits: equal examples have equal numbers, different ones practically never."""
    if not inputs.numel():
        return torch.zeros(len(inputs), dtype=torch.int64)
    return torch.cat([_hash_rows(part) for part in inputs.split(max(1, 2**22 // inputs[0].numel()))])


def _hash_rows(rows: Tensor) -> Tensor:
    """Sum the 64-bit words of each row, each times a number of its own, modulo 2^64."""
    if rows.is_floating_point():
        rows = torch.where(rows.isnan(), torch.full_like(rows, torch.nan), rows) + 0.0  # one NaN, no -0.0
    flat = rows.contiguous().reshape(len(rows), -1).view(torch.uint8)
    words = torch.nn.functional.pad(flat, (0, -flat.shape[1] % 8)).numpy().view(np.uint64)
    factors = np.arange(1, words.shape[1] + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        factors = (factors ^ (factors >> np.uint64(shift))) * np.uint64(factor)
    # Small whole numbers as floats differ in high bits only, which the products would push out.
    mixed = (words ^ (words >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(29)
    return torch.from_numpy((mixed @ (factors | np.uint64(1))).view(np.int64))


def _check_fields(kind: type[Any], values: Mapping[str, Any], what: str) -> None:
    """Refuse stored values that a record has no fields for."""
    unknown = sorted(set(values) - {field.name for field in fields(kind)})
    if unknown:
        raise DataError(f"a {what} has the unknown fields {unknown}: a newer Lamina may have written it.")


def _as_list(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_list(part) for name, part in value.items()}
    return [_as_list(part) for part in value] if isinstance(value, (list, tuple)) else value


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(part) for part in value) if isinstance(value, (list, tuple)) else value
