"""New examples with their answers, read as those that a network was trained on: the same columns, classes and shapes.

A loader decides by what it sees which columns there are and which classes; here the spec of the training data decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from lamina._errors import DataError
from lamina._types import Int, Tensor
from lamina.data._columns import as_text, check_column, read_column
from lamina.data.cells import Format, read_cells, shown
from lamina.data.dataset import ArrayDataset, BaseDataset, Dataset, Spec, all_targets
from lamina.data.tables import read_rows
from lamina.data.text.texts import TextDataset

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
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
            f"{name} has the class {label!r}, which the run was not trained on (its classes are {known}): correct the "
            "class, remove its examples, or train again."
        )
    return classes.index(label)


def labeled_rows(path: str | Path, spec: Spec, options: Mapping[str, Any]) -> ArrayDataset:
    """Read rows and their targets, by the names of the columns that the training table had.

    Args:
        path: a file as for `load_table`.
        spec: what the training data were.
        options: how the training data were read; `delimiter`, `encoding` and the like count.
    """
    frame, form = _frame(path, spec, options)
    return ArrayDataset(read_rows(path, spec, **form), _targets(frame[spec.target], spec, shown(path)), spec)


def labeled_texts(path: str | Path, spec: Spec, options: Mapping[str, Any]) -> TextDataset:
    """Read texts and their targets; the column of text is the one named in training, or the one with most words."""
    import polars as pl

    frame, _ = _frame(path, spec, options)
    file, text = shown(path), options.get("text")
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


def _frame(path: str | Path, spec: Spec, options: Mapping[str, Any]) -> tuple["pl.DataFrame", dict[str, Any]]:
    form = reading(options)
    frame, file = read_cells(path, Format(**form)), shown(path)
    if frame.height == 0:
        raise DataError(f"{file} has no rows: there is nothing to score.")
    check_column(spec.target, frame.columns, file, "target")
    return frame, form


def _targets(series: "pl.Series", spec: Spec, file: str) -> Tensor:
    """Give labels as they were numbered in training, or numbers."""
    gaps = series.is_null().arg_true()
    if len(gaps):
        raise DataError(
            f"{file}: the target {spec.target!r} is missing in {len(gaps)} row{'s' * (len(gaps) > 1)}, first in row "
            f"{gaps[0] + 1}: remove those rows or fill the target in."
        )
    if spec.task == "classification":
        names = as_text(series).to_list()
        numbers = {name: _number(_written(name, spec.classes), spec.classes, file) for name in dict.fromkeys(names)}
        return torch.tensor([numbers[name] for name in names])
    column = read_column(series, file)
    if column.levels:
        raise DataError(
            f"{file}: the target {spec.target!r} holds text, such as {column.levels[0]!r}, but the run was trained on "
            "numbers: correct it."
        )
    return column.values.float()


def _written(name: str, classes: tuple[str, ...]) -> str:
    """Write a number as the name of its class is written: 1.0 is the class "1"."""
    try:
        return name if name in classes else f"{float(name):.15g}"
    except ValueError:
        return name
