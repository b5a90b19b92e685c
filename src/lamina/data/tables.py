"""Tables from CSV, TSV and Parquet files: numbers, categories and missing values, with the target found by its name.

Cells are read as text and decided column by column: a column whose values are all numbers is one of numbers, any other
one of categories, whose values become level numbers in sorted order. Empty cells, NA, N/A, nan, null and ? are
missing. What cannot be used as it is gets one sentence that names the file, the place, the value and the way out.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from lamina._errors import DataError, DataWarning, choice
from lamina._types import Float, Tensor
from lamina.data.cells import Format, read_cells, shown
from lamina.data.dataset import ArrayDataset, Spec

if TYPE_CHECKING:
    import polars as pl

TARGETS = ("target", "label", "class")
FEW = 20  # at most so many different whole numbers are taken for classes
MANY = 1000  # more categories than this are not a category

_WHOLE, _COMMA = r"^[+-]?\d+$", r"^[+-]?\d+(,\d+)+$"
_ROW_NUMBERS = ("", "id", "index", "unnamed: 0", "row")


@dataclass(frozen=True)
class Column:
    """One column, decided: numbers, or level numbers with the names of the levels; NaN where a value is missing."""

    name: str
    values: Tensor
    levels: tuple[str, ...]
    whole: bool

    @property
    def missing(self) -> Tensor:
        """Which rows have no value."""
        return self.values.isnan()


def load_table(
    path: str | Path,
    target: str | None = None,
    *,
    task: str | None = None,
    group: str | None = None,
    drop: Sequence[str] = (),
    **form: Any,
) -> ArrayDataset:
    r"""Read a table as a dataset.

    Args:
        path: a .csv, .tsv, .txt or .parquet file.
        target: the column to predict; by default one named target, label or class, else the last one.
        task: "classification" or "regression"; by default text and up to 20 whole numbers are classes.
        group: a column whose rows of one value stay together in a split; it is no feature.
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
    choice("task", task, (None, "classification", "regression"))
    frame, file = read_cells(path, Format(**form)), shown(path)
    if frame.height < 2:
        raise DataError(
            f"{file} has {_rows(frame.height)} below its line of names: a table needs at least 2 to be loaded and 6 to "
            "be split."
        )
    for name in (*drop, *(() if group is None else (group,))):
        check_column(name, frame.columns, file, "drop" if name in drop else "group")
    names = [name for name in frame.columns if name not in drop and name != group]
    if not names:
        raise DataError(f"{file} has no column left after `drop` and `group`: keep a target and one to learn from.")
    target, notes = find_target(target, names, file)
    labels, outputs, classes, more = read_target(frame[target], task, file)
    kept, left_out = read_features(frame, [name for name in names if name != target], file)
    if not kept:
        raise DataError(f"{file} has no column to learn from beside the target {target!r}: check the delimiter.")
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
            f"{file} lacks {_columns(lacking)} of the training data{_hint(lacking[0], frame.columns)}: "
            f"it has {_columns(frame.columns)}."
        )
    wanted = zip(spec.features, spec.levels, strict=True)
    return torch.stack([_coded(frame[name], levels, file) for name, levels in wanted], 1)


# Columns


def read_column(series: "pl.Series", file: str) -> Column:
    """Decide whether a column is one of numbers or of categories."""
    import polars as pl

    name, kind = series.name, series.dtype
    if kind.is_temporal() or kind.is_nested() or kind in (pl.Binary, pl.Object):
        what = "dates or times" if kind.is_temporal() else f"values of type {kind}"
        raise DataError(f"{file}: column {name!r} holds {what}: turn them into numbers, or leave it out with `drop`.")
    if kind.is_numeric() or kind == pl.Null:
        values = torch.from_numpy(series.cast(pl.Float64).fill_null(float("nan")).to_numpy().copy())
        _finite(values, name, file)
        return Column(name, values, (), kind.is_integer())
    text = _as_text(series)
    there = text.drop_nulls()
    numbers = there.cast(pl.Float64, strict=False)
    if not len(there) or numbers.null_count() == 0:
        values = torch.from_numpy(text.cast(pl.Float64).fill_null(float("nan")).to_numpy().copy())
        _finite(values, name, file)
        return Column(name, values, (), bool(there.str.contains(_WHOLE).all()))
    _no_damaged_numbers(text, numbers, file)
    levels = tuple(sorted(there.unique().to_list()))
    return Column(name, _codes(text, levels), levels, False)


def _as_text(series: "pl.Series") -> "pl.Series":
    """Give a column as text; truth values are always written true and false."""
    import polars as pl

    text = series.cast(pl.String)
    lower = text.str.to_lowercase()
    return lower if lower.drop_nulls().is_in(["true", "false"]).all() else text


def _codes(text: "pl.Series", levels: tuple[str, ...]) -> Tensor:
    """Give the place of each value in `levels`, NaN for a missing one."""
    import polars as pl

    places = text.cast(pl.Enum(levels)).to_physical().cast(pl.Float64)
    return torch.from_numpy(places.fill_null(float("nan")).to_numpy().copy())


def _no_damaged_numbers(text: "pl.Series", numbers: "pl.Series", file: str) -> None:
    """Refuse a column that is meant to be one of numbers: a comma in them, or a few words between many of them."""
    there = text.drop_nulls()
    with_comma = there.filter(there.str.contains(_COMMA))
    if len(with_comma) >= 0.9 * numbers.null_count() and len(with_comma):
        raise DataError(
            f"{file}: column {text.name!r} holds numbers with a comma, such as {with_comma[0]!r}: give decimal=',' if "
            "it is the decimal mark, else remove it."
        )
    if numbers.null_count() <= 0.1 * len(there) and numbers.n_unique() > FEW:
        bad = there.filter(numbers.is_null())[0]
        row = text.index_of(bad)
        raise DataError(
            f"{file}: column {text.name!r} holds numbers, but {bad!r} in row {(row or 0) + 1}: "
            "correct it or leave it empty."
        )


def _finite(values: Tensor, name: str, file: str) -> None:
    bad = values.isinf().nonzero()
    if len(bad):
        raise DataError(
            f"{file}: column {name!r} holds infinity in row {int(bad[0]) + 1}: correct it or leave it empty."
        )


def read_features(frame: "pl.DataFrame", names: list[str], file: str) -> tuple[list[Column], list[str]]:
    """Decide all columns beside the target; leave out what only names rows, with a sentence each."""
    kept, left_out = [], []
    for name in names:
        column = read_column(frame[name], file)
        if column.missing.all():
            raise DataError(f"{file}: column {name!r} has no value in any row: leave it out with drop=[{name!r}].")
        count = len(column.levels)
        if frame.height >= 10 and count == int((~column.missing).sum()):
            left_out.append(f"Column {name!r} is left out: it has another text in every row, like a name.")
        elif _numbers_rows(column):
            left_out.append(f"Column {name!r} is left out: it only numbers the rows.")
        elif count > MANY:
            raise DataError(
                f"{file}: column {name!r} has {count} different texts, more than the {MANY} that a category may have: "
                f"group them, or leave it out with drop=[{name!r}]."
            )
        else:
            kept.append(column)
    return kept, left_out


def _numbers_rows(column: Column) -> bool:
    """Whether a column is called like a row number and counts the rows."""
    named = column.name.lower() in _ROW_NUMBERS or column.name == "column 1"
    return named and column.whole and bool((column.values.diff() == 1).all())


def find_target(target: str | None, names: list[str], file: str) -> tuple[str, list[str]]:
    """Find the column to predict: the one named, else one with a usual name, else the last; and say which."""
    if target is not None:
        check_column(target, names, file, "target")
        return target, []
    lower = {name.lower(): name for name in reversed(names)}
    for usual in TARGETS:
        if usual in lower:
            return lower[usual], [f"The target is the column {lower[usual]!r}, by its name."]
    return names[-1], [f"The target is the last column, {names[-1]!r}."]


def read_target(series: "pl.Series", task: str | None, file: str) -> tuple[Tensor, int, tuple[str, ...], list[str]]:
    """Give labels and classes, or real targets and no classes."""
    column, name = read_column(series, file), series.name
    gaps = column.missing.nonzero().flatten() + 1
    if len(gaps):
        raise DataError(
            f"{file}: the target {name!r} is missing in {_rows(len(gaps))}, first in row {int(gaps[0])}: "
            "remove those rows or fill the target in."
        )
    different, most = column.values.unique(), max(2, len(column.values) // 2)
    if len(different) == 1:
        value = column.levels[0] if column.levels else f"{different[0]:g}"
        raise DataError(f"{file}: the target {name!r} is {value!r} in every row: it needs at least 2 different values.")
    note = []
    if task is None:
        few = column.whole and len(different) <= min(FEW, most)
        task = "classification" if column.levels or few else "regression"
        if column.whole:
            kind, other = ("classes", "regression") if task == "classification" else ("numbers", "classification")
            note = [
                f"Its {len(different)} different whole numbers are taken for {kind} (task={other!r} for the other)."
            ]
    if task == "regression":
        if column.levels:
            raise DataError(
                f"{file}: the target {name!r} holds text, such as {column.levels[0]!r}, and cannot be one of "
                "regression: choose a column of numbers or task='classification'."
            )
        return column.values.float(), 1, (), note
    if len(different) > most:
        raise DataError(
            f"{file}: the target {name!r} has {len(different)} different values in {_rows(len(column.values))}, "
            "too many for classes: choose another target, or task='regression' for numbers."
        )
    classes = column.levels or tuple(f"{value:.15g}" for value in different.tolist())
    return torch.searchsorted(different, column.values), len(different), classes, note


def read_groups(series: "pl.Series", file: str) -> Tensor:
    """Give each row a number, equal for equal values of a column."""
    import polars as pl

    text = series.cast(pl.String)
    if text.null_count():
        raise DataError(f"{file}: the group {series.name!r} is missing in {_rows(text.null_count())}: fill it in.")
    return _codes(text, tuple(sorted(text.unique().to_list()))).long()


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
    text = _as_text(series)
    new = text.filter(text.is_not_null() & ~text.is_in(list(levels)))
    if len(new):
        known = ", ".join(map(repr, levels[:10])) + (", ..." if len(levels) > 10 else "")
        raise DataError(
            f"{file}: column {series.name!r} holds {new[0]!r}, which is not in the training data (known are {known}): "
            "correct the value or leave it empty."
        )
    return _codes(text.cast(pl.String), levels)


# Words


def check_column(name: str, names: Sequence[str], file: str, argument: str) -> None:
    """Refuse a column that is not there and name those that are."""
    if name not in names:
        raise DataError(
            f"{file} has no column {name!r} for `{argument}`{_hint(name, names)}: it has {_columns(list(names))}."
        )


def _hint(name: str, names: Sequence[str]) -> str:
    lower = {other.lower(): other for other in names}
    close = get_close_matches(name.lower(), lower, n=3, cutoff=0.6)
    return f", did you mean {' or '.join(repr(lower[other]) for other in close)}?" if close else ""


def _columns(names: Sequence[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"the column{'s' * (len(names) > 1)} {', '.join(map(repr, names[:10]))}{more}"


def _rows(count: int) -> str:
    return f"{count} row" + "s" * (count != 1)
