"""Tables from files and DataFrames: numbers, categories, dates and missing values.

Cells are read as text and decided column by column: a column whose values are numbers is one of numbers, one whose
values are dates one of dates, any other one of categories, whose values become level numbers in sorted order. Empty
cells, NA, N/A, nan, null and ? are missing, and so are a few words among numbers or dates. Columns from which nothing
can be learned are left out. What cannot be used as it is gets one sentence that names the file, the place, the value
and the way out.
"""

import csv
import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lamina._errors import DataError, DataWarning, brief, choice
from lamina._types import Float, Tensor
from lamina.data._columns import (
    FEW_WORDS,
    Column,
    as_days,
    as_moments,
    as_numbers,
    as_text,
    find_targets,
    hint,
    level_numbers,
    listed,
    open_table,
    plain_columns,
    read_column,
    read_features,
    read_groups,
    read_targets,
    read_times,
    read_weights,
    with_targets,
    with_values,
)
from lamina.data._dates import read_dates
from lamina.data.cells import Cells, Format, read_cells, source_of
from lamina.data.dataset import UNKNOWN, ArrayDataset, Dataset, Spec

if TYPE_CHECKING:
    import polars as pl


def load_table(
    path: Any,
    target: str | Sequence[str] | None = None,
    *,
    task: str | None = None,
    group: Sequence[str] | str | None = None,
    weight: str | None = None,
    drop: Sequence[str] | str = (),
    keep: Sequence[str] | str = (),
    time: str | None = None,
    day_first: bool | None = None,
    unknown: str = "other",
    stream: bool | None = None,
    **form: Any,
) -> Dataset:
    r"""Read a table as a dataset.

    Args:
        path: a file of a table (see `lamina.data.cells.SUFFIXES`), a folder of Parquet files or a pattern that names
            some, or a table that a program holds, such as a DataFrame.
        target: the column to predict; by default one named target, label or class, else the last one. Several, in a
            list or with commas between them, are a label each where they hold 0 and 1, else a number each.
        task: "classification", "multilabel" or "regression"; by default text and up to 20 whole numbers are classes,
            and cells such as "rain;snow" are lists of labels, if their parts come back in other lists.
        group: a column, or several, whose rows of one value stay together in a split; it is no feature.
        weight: a column of numbers that say how much each row counts, in training and in every score; it is no feature.
        drop: columns to leave out.
        keep: columns to learn from that would be left out: identifiers (a different text, or an identifier's name and
            a different whole number, in every row), free texts, and columns that are constant or empty.
        time: a column of dates or numbers that orders the rows: a split then trains on the past, validates on what
            came later and tests on the latest rows. It is a feature too, unless `drop` names it.
        day_first: whether 1/2/2024 is in February; by default a number above 12 in the column shows it.
        unknown: what to do with a category that no training row has: "other" counts it as one of the rare ones, or as
            none of the known where none is rare; "error" refuses it, in a split and in a prediction.
        stream: whether Parquet stays on disk and is read block by block while a network trains; by default when it
            would not fit in memory. See `lamina.data.large`.
        form: how to read the table, as in `Format`: `delimiter`, `encoding`, `decimal`, `quote`, `header`, `sheet`.

    Returns:
        float64 rows with NaN for a missing value and level numbers for categories. Classes are named by their values,
        in numeric order for numbers, else in alphabetic order. `spec.notes` says what was decided.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "pets.csv").write_text("weight,color,kind\n4.1,red,cat\n30,,dog\n")
    ...     data = load_table(Path(folder, "pets.csv"))
    >>> data.spec.features, data.spec.classes, data.inputs.tolist()
    (('weight', 'color'), ('cat', 'dog'), [[4.1, 0.0], [30.0, nan]])
    """
    choice("task", task, (None, "classification", "multilabel", "regression"))
    choice("unknown", unknown, UNKNOWN)
    drop, keep, together = (
        [names] if isinstance(names, str) else list(names) for names in (drop, keep, () if group is None else group)
    )
    if time is not None and together:
        raise DataError("`time` and `group` cannot both decide how to split: give one of them.")
    asked = [(name, word) for word, names in (("drop", drop), ("keep", keep), ("group", together)) for name in names]
    how: dict[str, Any] = {"task": task, "drop": drop, "keep": keep, "day_first": day_first, "unknown": unknown}
    from lamina.data.large import LargeTable, reads_blocks

    if reads_blocks(path, stream):
        whole = {"group": together, "time": time, "weight": weight}
        return LargeTable(path, target, refused=[name for name, given in whole.items() if given], asked=asked, **how)
    cells = open_table(path, form, [*asked, (time, "time"), (weight, "weight")])
    return decided(cells, source_of(path), target, group=together, weight=weight, time=time, **how)


def decided(
    cells: Cells,
    source: str,
    target: str | Sequence[str] | None,
    *,
    task: str | None,
    drop: Sequence[str],
    keep: Sequence[str],
    day_first: bool | None,
    unknown: str,
    group: Sequence[str] = (),
    weight: str | None = None,
    time: str | None = None,
) -> ArrayDataset:
    """Decide what the columns of a table hold; the arguments are those of `load_table`."""
    frame, file, together = cells.frame, cells.name, group
    names = [name for name in frame.columns if name not in (*drop, *together, weight)]
    if not names:
        raise DataError(
            f"{file} has no column left after `drop`, `group` and `weight`: keep a target and at least one column to "
            "learn from."
        )
    targets, notes = find_targets(target, names, file)
    frame, gone = with_targets(frame, targets, task, file)
    if time is not None:
        frame, timeless = with_values(frame, time, "the time", file)
        gone += timeless
    wanted = read_targets(frame, targets, task, file)
    kept, odd = read_features(frame, [name for name in names if name not in targets], file, keep, day_first)
    if not kept:
        why = f"{' '.join(odd)} Insist with `keep`." if odd else "Check the delimiter."
        also = f"target{'s' * (len(targets) > 1)} {', '.join(map(repr, targets))}"
        raise DataError(f"{file} has no column to learn from besides the {also}. {why}")
    said = [*gone, *odd]
    if len(kept) + len(targets) < len(names):
        said.append("Insist with `keep`.")
    if said:
        warnings.warn(f"{file}: {' '.join(said)}", DataWarning, stacklevel=3)
    spec = Spec(
        "table",
        wanted.task,
        (len(kept),),
        wanted.outputs,
        wanted.classes,
        tuple(column.name for column in kept),
        ", ".join(targets),
        source,
        levels=tuple(column.levels for column in kept),
        notes=(*cells.notes, *notes, *wanted.notes, *said),
        dates=tuple(column.date for column in kept),
        unknown=unknown,
        reading=cells.reading,
        weight=weight or "",
        group=", ".join(together),
    )
    rows = torch.stack([column.values for column in kept], 1)
    groups = read_groups(frame[list(together)], file) if together else None
    times = None if time is None else read_times(frame[time], file, day_first)
    weights = None if weight is None else read_weights(frame[weight], file)
    return ArrayDataset(rows, wanted.values, spec, groups, times=times, weights=weights)


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


def read_rows(path: Any, spec: Spec, **form: Any) -> Float[Tensor, "batch feature"]:
    r"""Read rows to predict, by the names of the columns that the training table had.

    Args:
        path: a table as for `load_table`; the order of its columns is free, others are ignored.
        spec: what the training data were, and how they were read.
        form: how to read the table, as in `Format`: `delimiter`, `encoding`, `decimal`, `quote`, `header`, `sheet`.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> spec = Spec("table", "regression", (2,), 1, features=("x", "color"), levels=((), ("blue", "red")))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "new.csv").write_text("color,y,x\nred,7,1.5\nblue,7,\n")
    ...     read_rows(Path(folder, "new.csv"), spec).tolist()
    [[1.5, 1.0], [nan, 0.0]]
    """
    return rows_of(open_rows(path, spec, **form), spec)


def open_rows(path: Any, spec: Spec, **form: Any) -> Cells:
    """Read a table as the training table was read, for `rows_of`; the arguments are those of `read_rows`."""
    return read_cells(path, Format(**{"before": spec.reading, **form}), number_columns(spec))


def number_columns(spec: Spec) -> list[str]:
    """Name the columns that hold numbers: neither categories nor dates."""
    wanted = zip(spec.features, spec.levels, spec.dates, strict=True)
    return [name for name, levels, date in wanted if not levels and not date]


def as_written(cells: Cells) -> "pl.DataFrame":
    """Give the columns of a table as they are written beside predictions: numbers as numbers."""
    import polars as pl

    def typed(series: "pl.Series") -> "pl.Series":
        for kind in (pl.Int64, pl.Float64) if series.dtype == pl.String else ():
            number = series.cast(kind, strict=False)
            if number.null_count() == series.null_count():
                return number
        return series

    return cells.frame.select(typed(series) for series in cells.frame)


def rows_of(cells: Cells, spec: Spec) -> Float[Tensor, "batch feature"]:
    """Give the rows of a table as those of the training table are stored."""
    frame, file = cells.frame, cells.name
    if frame.height == 0:
        raise DataError(f"{file} has no rows: there is nothing to predict.")
    there = set(frame.columns)
    lacking = [name for name in spec.features if name not in there]
    if lacking:
        raise DataError(
            f"{file} lacks {listed(lacking)} of the training data{hint(lacking[0], frame.columns)}: "
            f"it has {listed(frame.columns)}."
        )
    rows, notes = coded_rows(frame, spec, file)
    if notes:
        warnings.warn(f"{file}: {' '.join(notes)}", DataWarning, stacklevel=2)
    return rows


def coded_rows(frame: "pl.DataFrame", spec: Spec, file: str) -> tuple[Float[Tensor, "batch feature"], list[str]]:
    """Give the rows of a tidied frame that has all columns, as they are stored, and what is odd about them."""
    import polars as pl

    schema = frame.schema
    plain = [name for name in number_columns(spec) if schema[name].is_numeric()]
    numbers = frame.select(pl.col(plain).cast(pl.Float64).fill_null(float("nan"))).to_numpy()
    if len(plain) == len(spec.features) and not np.isinf(numbers).any():  # typed numbers: nothing to find out
        return torch.from_numpy(np.array(numbers, order="C")), []
    rows, notes = torch.empty(frame.height, len(spec.features), dtype=torch.float64), []
    together = {name: i for i, name in enumerate(plain)} if not np.isinf(numbers).any() else {}
    texts = plain_columns(frame, [name for name in number_columns(spec) if name not in together], file)
    for j, (name, levels, date) in enumerate(zip(spec.features, spec.levels, spec.dates, strict=True)):
        if name in together:
            rows[:, j] = torch.from_numpy(numbers[:, together[name]].copy())
        else:
            column = texts[name] if name in texts else _coded(frame[name], levels, date, file, spec.unknown)
            rows[:, j] = column.values
            notes += [column.note] if column.note else []
    return rows, notes


def _coded(series: "pl.Series", levels: tuple[str, ...], date: str, file: str, unknown: str) -> Column:
    """Give new values as the training table would store them, -1 for a category that it did not have."""
    import polars as pl

    if not levels:
        column = as_moments(series, read_dates(series, date)) if date else read_column(as_days(series), file)
        column = as_numbers(as_text(series), file) if column.levels else column
        bad = series.is_not_null() & pl.Series(column.missing.numpy()) if column.note else series[:0].is_null()
        if bad.sum() > FEW_WORDS * len(series.drop_nulls()):
            row, what = bad.arg_true()[0], f"dates ({date})" if date else "numbers"
            raise DataError(
                f"{file}: column {series.name!r} must hold {what} as in training, got {brief(series[row])} in row "
                f"{row + 1}: correct it or leave it empty."
            )
        return column
    text = as_text(series, levels)
    new = text.filter(text.is_not_null() & ~text.is_in(list(levels)))
    if len(new) and unknown == "error":
        known = ", ".join(map(repr, levels[:10])) + (", ..." if len(levels) > 10 else "")
        raise DataError(
            f"{file}: column {series.name!r} holds {brief(new[0])}, which is not in the training data (known values "
            f"are {known}): correct the value or leave it empty."
        )
    return Column(series.name, level_numbers(text.cast(pl.String), levels), levels, False)
