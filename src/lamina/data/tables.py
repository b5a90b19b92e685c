"""Tables from CSV, TSV and Parquet files: numbers, categories and missing values, with the target found by its name.

Cells are read as text and decided column by column: a column whose values are all numbers is one of numbers, any other
one of categories, whose values become level numbers in sorted order. Empty cells, NA, N/A, nan, null and ? are
missing. What cannot be used as it is gets one sentence that names the file, the place, the value and the way out.
"""

import csv
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from lamina._errors import DataError, DataWarning, choice
from lamina._types import Float, Tensor
from lamina.data._columns import (
    as_text,
    find_targets,
    hint,
    level_numbers,
    listed,
    open_table,
    read_column,
    read_features,
    read_groups,
    read_targets,
    read_weights,
)
from lamina.data.cells import Format, read_cells, shown
from lamina.data.dataset import ArrayDataset, Spec

if TYPE_CHECKING:
    import polars as pl


def load_table(
    path: str | Path,
    target: str | Sequence[str] | None = None,
    *,
    task: str | None = None,
    group: str | Sequence[str] | None = None,
    weight: str | None = None,
    drop: Sequence[str] = (),
    **form: Any,
) -> ArrayDataset:
    r"""Read a table as a dataset.

    Args:
        path: a .csv, .tsv, .txt or .parquet file.
        target: the column to predict; by default one named target, label or class, else the last one. Several, in a
            list or with commas between them, are a label each where they hold 0 and 1, else a number each.
        task: "classification", "multilabel" or "regression"; by default text and up to 20 whole numbers are classes,
            and cells such as "rain;snow" are lists of labels, if their parts come back in other lists.
        group: a column, or several, whose rows of one value stay together in a split; it is no feature.
        weight: a column of numbers that say how much each row counts, in training and in every score; it is no feature.
        drop: columns to leave out.
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
    choice("task", task, (None, "classification", "multilabel", "regression"))
    together = (group,) if isinstance(group, str) else tuple(group or ())
    others = [*((name, "drop") for name in drop), *((name, "group") for name in together), (weight, "weight")]
    frame, file = open_table(path, form, others)
    names = [name for name in frame.columns if name not in drop and name not in together and name != weight]
    if not names:
        raise DataError(
            f"{file} has no column left after `drop`, `group` and `weight`: keep a target and at least one column to "
            "learn from."
        )
    targets, notes = find_targets(target, names, file)
    wanted = read_targets(frame, targets, task, file)
    kept, left_out = read_features(frame, [name for name in names if name not in targets], file)
    if not kept:
        also = "targets" if len(targets) > 1 else "target"
        named = ", ".join(map(repr, targets))
        raise DataError(f"{file} has no column to learn from besides the {also} {named}: check the delimiter.")
    for note in left_out:
        warnings.warn(f"{file}: {note}", DataWarning, stacklevel=2)
    spec = Spec(
        "table",
        wanted.task,
        (len(kept),),
        wanted.outputs,
        wanted.classes,
        tuple(column.name for column in kept),
        ", ".join(targets),
        str(path),
        levels=tuple(column.levels for column in kept),
        notes=(*notes, *wanted.notes, *left_out),
        weight=weight or "",
        group=", ".join(together),
    )
    groups = read_groups(frame[list(together)], file) if together else None
    weights = None if weight is None else read_weights(frame[weight], file)
    return ArrayDataset(
        torch.stack([column.values for column in kept], 1), wanted.values, spec, groups, weights=weights
    )


def spell_targets(target: str | Sequence[str]) -> str:
    """Write target columns as `--target` reads them: commas between them, quotes around a name that holds one.

    >>> spell_targets("rain, heavy"), spell_targets(["wind", "rain, heavy"])
    ('rain, heavy', 'wind,"rain, heavy"')
    """
    if isinstance(target, str):
        return target
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(target)
    return line.getvalue()


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
    return torch.stack([_coded(frame[name], levels, file) for name, levels in wanted], 1)


def _coded(series: "pl.Series", levels: tuple[str, ...], file: str) -> Tensor:
    """Give new values as the training table would store them."""
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
    if len(new):
        known = ", ".join(map(repr, levels[:10])) + (", ..." if len(levels) > 10 else "")
        raise DataError(
            f"{file}: column {series.name!r} holds {new[0]!r}, which is not in the training data (known values are "
            f"{known}): correct the value or leave it empty."
        )
    return level_numbers(text.cast(pl.String), levels)
