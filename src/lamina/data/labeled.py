"""New examples with their answers, read as those that a network was trained on: the same columns, classes and shapes.

A loader decides by what it sees which columns there are and which classes; here the spec of the training data decides.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from lamina._errors import DataError, DataWarning, brief
from lamina._types import Int, Tensor
from lamina.data._columns import as_text, check_column, level_numbers, read_column, read_label, read_lists, read_weights
from lamina.data.cells import Format, read_cells
from lamina.data.dataset import ArrayDataset, BaseDataset, Dataset, Spec, all_targets
from lamina.data.paths import shown
from lamina.data.tables import read_rows
from lamina.data.text.texts import TextDataset

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class _Renumbered(BaseDataset):
    """A dataset whose labels are numbered as in training."""

    dataset: Dataset
    targets: Tensor
    spec: Spec
    groups: None = None
    official_test: None = None

    def __len__(self) -> int:
        return len(self.dataset)

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give the inputs at `indices` and their labels."""
        return self.dataset.take(indices)[0], self.targets[indices]


def as_trained(data: Dataset, spec: Spec) -> Dataset:
    """Give a dataset with the classes of the training data, or say why it does not fit them.

    >>> from lamina.data.load import load
    >>> from dataclasses import replace
    >>> iris = load("iris")
    >>> other = replace(iris.spec, classes=("virginica", "versicolor", "setosa"))
    >>> all_targets(as_trained(iris, other))[0]
    tensor(2)
    """
    found = data.spec
    name = shown(found.source) if found.source else "the data"
    if not len(data):
        raise DataError(f"{name} has no examples: there is nothing to score.")
    if (found.kind, found.task) != (spec.kind, spec.task):
        raise DataError(
            f"the run was trained for {spec.task} of data of kind {spec.kind!r}, but {name} is for {found.task} of "
            f"data of kind {found.kind!r}: give data like those it was trained on."
        )
    if spec.kind not in ("text", "pairs") and found.inputs != spec.inputs:
        raise DataError(
            f"{name} has examples of shape {found.inputs}, but the run was trained on {spec.inputs}: give data like "
            "those it was trained on."
        )
    if (found.features, found.levels) != (spec.features, spec.levels):
        raise DataError(
            f"{name} must have the columns {', '.join(spec.features)} of the training data with the same categories, "
            f"got {', '.join(found.features)}."
        )
    if found.classes == spec.classes:
        return data
    labels = all_targets(data)
    present = {found.classes[k] for k in labels.unique().tolist() if 0 <= k < len(found.classes)}
    numbers = torch.tensor([_number(c, spec.classes, name) if c in present else -1 for c in found.classes])
    renumbered = torch.where(labels >= 0, numbers[labels.clamp(min=0)], labels)
    return _Renumbered(data, renumbered, spec)


def _number(label: str, classes: tuple[str, ...], name: str) -> int:
    if label not in classes:
        known = ", ".join(map(repr, classes[:10])) + (", ..." if len(classes) > 10 else "")
        raise DataError(
            f"{name} has the class {brief(label)}, which the run was not trained on (its classes are {known}): correct "
            "the class, remove its examples, or train again."
        )
    return classes.index(label)


def labeled_rows(path: Any, spec: Spec, options: Mapping[str, Any]) -> ArrayDataset:
    """Read rows and their targets, by the names of the columns that the training table had.

    Args:
        path: a table as for `load_table`.
        spec: what the training data were, and how they were read.
        options: what was said about reading the training data; `delimiter`, `encoding` and the like count.
    """
    frame, form = _frame(path, spec, options)
    file, rows = shown(path), read_rows(path, spec, **form)
    weights = None
    if spec.weight:
        check_column(spec.weight, frame.columns, file, "weight")
        weights = read_weights(frame[spec.weight], file)
    names = target_columns(spec, frame.columns, file)
    if spec.task == "multilabel" and names == (spec.target,) and spec.target not in spec.classes:
        return ArrayDataset(rows, _listed(frame[spec.target], spec, file), spec, weights=weights)
    there = _there(frame, names, file, numbers=spec.task == "regression")
    kept = torch.from_numpy(there.to_numpy().copy())
    targets = coded_targets(frame.filter(there), names, spec, file)
    return ArrayDataset(rows[kept], targets, spec, weights=None if weights is None else weights[kept])


def coded_targets(frame: "pl.DataFrame", names: Sequence[str], spec: Spec, file: str) -> Tensor:
    """Give the targets of rows that have all of them, as they are stored."""
    columns = [_targets(frame[name], spec, file) for name in names]
    return torch.stack(columns, 1) if len(columns) > 1 else columns[0]


def target_columns(spec: Spec, columns: list[str], file: str) -> tuple[str, ...]:
    """Name the columns of the targets: one, that of lists of labels, or one for each label or number."""
    if spec.target in columns or spec.outputs == 1 or spec.task == "classification":
        names: tuple[str, ...] = (spec.target,)
    else:
        names = spec.classes if spec.task == "multilabel" else tuple(spec.target.split(", "))
    for name in names:
        check_column(name, columns, file, "target")
    return names


def answered(frame: "pl.DataFrame", names: Sequence[str], file: str, numbers: bool) -> "pl.Series":
    """Say which rows have all targets, as numbers if they must be."""
    import polars as pl

    there = frame.select(pl.all_horizontal(pl.col(*names).is_not_null())).to_series()
    for name in names if numbers else ():
        there &= pl.Series((~read_column(frame[name], file).missing).numpy())
    return there


def _there(frame: "pl.DataFrame", names: tuple[str, ...], file: str, numbers: bool = False) -> "pl.Series":
    """Say which rows have all targets, as numbers if they must be; that others are left out is warned of."""
    there = answered(frame, names, file, numbers)
    gone = int((~there).sum())
    if gone == frame.height:
        raise DataError(f"{file} has no row with the target {', '.join(map(repr, names))}: there is nothing to score.")
    if gone:
        left = f"{gone} row{'s' * (gone > 1)} without the target {'are' if gone > 1 else 'is'} left out"
        warnings.warn(f"{file}: {left}.", DataWarning, stacklevel=4)
    return there


def _listed(series: "pl.Series", spec: Spec, file: str) -> Tensor:
    """Give rows of 0 and 1 for a column of lists of labels; one that is empty has none of them."""
    values = torch.zeros(len(series), spec.outputs)
    for i, row in enumerate(read_lists(series, file)):
        values[i, [_number(label, spec.classes, file) for label in row]] = 1
    return values


def labeled_texts(path: str | Path, spec: Spec, options: Mapping[str, Any]) -> TextDataset:
    """Read texts and their targets; the column of text is the one named in training, or the one with most words."""
    import polars as pl

    frame, _ = _frame(path, spec, options)
    file, text = shown(path), options.get("text")
    (target,) = target_columns(spec, frame.columns, file)
    frame = frame.filter(_there(frame, (target,), file))
    if text is not None:
        check_column(text, frame.columns, file, "text")
    others = [name for name in frame.columns if name != spec.target and frame[name].dtype == pl.String]
    if not others:
        raise DataError(f"{file} has no column of text besides the target {spec.target!r}.")
    text = text or max(others, key=lambda name: frame[name].str.count_matches(r"\S+").sum() or 0)
    texts = frame[text].cast(pl.String).fill_null("").to_list()
    labels = _targets(frame[spec.target], spec, file)
    return TextDataset.of(texts, labels, spec.classes, source=str(path), target=spec.target)


def reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """Take from options those that say how a text file is read."""
    return {field.name: options[field.name] for field in fields(Format) if field.name in options}


def _frame(path: Any, spec: Spec, options: Mapping[str, Any]) -> tuple["pl.DataFrame", dict[str, Any]]:
    form = reading(options)
    cells = read_cells(path, Format(**{"before": spec.reading, **form}))
    if cells.frame.height == 0:
        raise DataError(f"{cells.name} has no rows: there is nothing to score.")
    return cells.frame, form


def _targets(series: "pl.Series", spec: Spec, file: str) -> Tensor:
    """Give labels as they were numbered in training, 0 and 1, or numbers."""
    if spec.task == "classification":
        text = as_text(series, spec.classes)
        known = level_numbers(text, spec.classes)
        if bool((known >= 0).all()):
            return known.long()
        names = text.to_list()
        numbers = {name: _number(_written(name, spec.classes), spec.classes, file) for name in dict.fromkeys(names)}
        return torch.tensor([numbers[name] for name in names])
    column = read_column(series, file)
    if spec.task == "multilabel":
        return read_label(column, file)
    if column.levels:
        raise DataError(
            f"{file}: the target {series.name!r} holds text, such as {brief(column.levels[0])}, but the run was "
            "trained on numbers: correct it."
        )
    return column.values.float()


def _written(name: str, classes: tuple[str, ...]) -> str:
    """Write a number as the name of its class is written: 1.0 is the class "1"."""
    try:
        return name if name in classes else f"{float(name):.15g}"
    except ValueError:
        return name
