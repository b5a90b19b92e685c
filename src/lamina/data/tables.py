"""Tables from CSV, TSV and Parquet files: numbers, categories and missing values, with the target found by its name.

Cells are read as text and decided column by column: a column whose values are all numbers is one of numbers, any other
one of categories, whose values become level numbers in sorted order. Empty cells, NA, N/A, nan, null and ? are
missing. What cannot be used as it is gets one sentence that names the file, the place, the value and the way out.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from lamina._errors import DataError, DataWarning, choice
from lamina._types import Float, Tensor
from lamina.data._columns import (
    as_text,
    find_target,
    hint,
    level_numbers,
    listed,
    open_table,
    read_column,
    read_features,
    read_groups,
    read_target,
)
from lamina.data.cells import Format, read_cells, shown
from lamina.data.dataset import UNKNOWN, ArrayDataset, Spec

if TYPE_CHECKING:
    import polars as pl


def load_table(
    path: str | Path,
    target: str | None = None,
    *,
    task: str | None = None,
    group: str | None = None,
    drop: Sequence[str] = (),
    unknown: str = "other",
    **form: Any,
) -> ArrayDataset:
    r"""Read a table as a dataset.

    Args:
        path: a .csv, .tsv, .txt or .parquet file.
        target: the column to predict; by default one named target, label or class, else the last one.
        task: "classification" or "regression"; by default text and up to 20 whole numbers are classes.
        group: a column whose rows of one value stay together in a split; it is no feature.
        drop: columns to leave out.
        unknown: what to do with a category that no training row has: "other" counts it as one of the rare ones, or as
            none of the known where none is rare; "error" refuses it, in a split and in a prediction.
        form: `delimiter`, `encoding`, `decimal`, `header` of a text file, as in `Format`.

    Returns:
        float64 rows with NaN for a missing value and level numbers for categories. Classes are named by their values,
        in numeric order for numbers, else in alphabetic order. `spec.notes` says what was decided.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "pets.csv").write_text("weight,color,kind\n4.1,red,cat\n30,,dog\n")
    ...     data = load_table(Path(folder, "pets.csv"))
    >>> data.spec.features, data.spec.classes, data.inputs.tolist()
    (('weight', 'color'), ('cat', 'dog'), [[4.1, 0.0], [30.0, nan]])
    """
    choice("task", task, (None, "classification", "regression"))
    choice("unknown", unknown, UNKNOWN)
    frame, file = open_table(path, form, [*((name, "drop") for name in drop), (group, "group")])
    names = [name for name in frame.columns if name not in drop and name != group]
    if not names:
        raise DataError(
            f"{file} has no column left after `drop` and `group`: keep a target and at least one column to learn from."
        )
    target, notes = find_target(target, names, file)
    labels, outputs, classes, more = read_target(frame[target], task, file)
    kept, left_out = read_features(frame, [name for name in names if name != target], file)
    if not kept:
        raise DataError(f"{file} has no column to learn from besides the target {target!r}: check the delimiter.")
    for note in left_out:
        warnings.warn(f"{file}: {note}", DataWarning, stacklevel=2)
    spec = Spec(
        "table",
        "classification" if classes else "regression",
        (len(kept),),
        outputs,
        classes,
        tuple(column.name for column in kept),
        target,
        str(path),
        levels=tuple(column.levels for column in kept),
        notes=(*notes, *more, *left_out),
        unknown=unknown,
    )
    groups = None if group is None else read_groups(frame[group], file)
    return ArrayDataset(torch.stack([column.values for column in kept], 1), labels, spec, groups)


def read_rows(path: str | Path, spec: Spec, **form: Any) -> Float[Tensor, "batch feature"]:
    r"""Read rows to predict, by the names of the columns that the training table had.

    Args:
        path: a file as for `load_table`; the order of its columns is free, others are ignored.
        spec: what the training data were.
        form: `delimiter`, `encoding`, `decimal`, `header` of a text file, as in `Format`.

    >>> from tempfile import TemporaryDirectory
    >>> spec = Spec("table", "regression", (2,), 1, features=("x", "color"), levels=((), ("blue", "red")))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "new.csv").write_text("color,y,x\nred,7,1.5\nblue,7,\n")
    ...     read_rows(Path(folder, "new.csv"), spec).tolist()
    [[1.5, 1.0], [nan, 0.0]]
    """
    frame, file = read_cells(path, Format(**form)), shown(path)
    if frame.height == 0:
        raise DataError(f"{file} has no rows: there is nothing to predict.")
    lacking = [name for name in spec.features if name not in frame.columns]
    if lacking:
        raise DataError(
            f"{file} lacks {listed(lacking)} of the training data{hint(lacking[0], frame.columns)}: "
            f"it has {listed(frame.columns)}."
        )
    wanted = zip(spec.features, spec.levels, strict=True)
    return torch.stack([_coded(frame[name], levels, file, spec.unknown) for name, levels in wanted], 1)


def _coded(series: "pl.Series", levels: tuple[str, ...], file: str, unknown: str) -> Tensor:
    """Give new values as the training table would store them, -1 for a category that it did not have."""
    import polars as pl

    if not levels:
        column = read_column(series, file)
        if column.levels:
            bad = series.is_not_null() & series.cast(pl.String).cast(pl.Float64, strict=False).is_null()
            row = bad.arg_true()[0]
            raise DataError(
                f"{file}: column {series.name!r} must hold numbers as in training, got {series[row]!r} in row "
                f"{row + 1}: correct it or leave it empty."
            )
        return column.values
    text = as_text(series)
    new = text.filter(text.is_not_null() & ~text.is_in(list(levels)))
    if len(new) and unknown == "error":
        known = ", ".join(map(repr, levels[:10])) + (", ..." if len(levels) > 10 else "")
        raise DataError(
            f"{file}: column {series.name!r} holds {new[0]!r}, which is not in the training data (known values are "
            f"{known}): correct the value or leave it empty."
        )
    return level_numbers(text.cast(pl.String), levels)
