"""The columns of a table: numbers or categories, which one is the target, which ones only name the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from lamina._errors import DataError
from lamina._types import Tensor
from lamina.data.cells import Format, read_cells, shown

if TYPE_CHECKING:
    import polars as pl

TARGETS = ("target", "label", "class")
FEW = 20  # at most so many different whole numbers are taken for classes
MANY = 1000  # more categories than this are not a category

_WHOLE, _COMMA = r"^[+-]?\d+$", r"^[+-]?\d+(,\d+)+$"
_ROW_NUMBERS = ("", "id", "index", "unnamed: 0", "row")


def open_table(
    path: str | Path, form: dict[str, Any], named: Sequence[tuple[str | None, str]]
) -> tuple["pl.DataFrame", str]:
    """Read a file of at least two rows that has all named columns, each given with its argument; and give its name."""
    frame, file = read_cells(path, Format(**form)), shown(path)
    if frame.height < 2:
        raise DataError(f"{file} has too few rows ({frame.height}): at least 2 are needed to load and 6 to split.")
    for name, argument in named:
        if name is not None:
            check_column(name, frame.columns, file, argument)
    return frame, file


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
    text = as_text(series)
    there = text.drop_nulls()
    numbers = there.cast(pl.Float64, strict=False)
    if not len(there) or numbers.null_count() == 0:
        values = torch.from_numpy(text.cast(pl.Float64).fill_null(float("nan")).to_numpy().copy())
        _finite(values, name, file)
        return Column(name, values, (), bool(there.str.contains(_WHOLE).all()))
    _no_damaged_numbers(text, numbers, file)
    levels = tuple(sorted(there.unique().to_list()))
    return Column(name, level_numbers(text, levels), levels, False)


def as_text(series: "pl.Series") -> "pl.Series":
    """Give a column as text; truth values are always written true and false."""
    import polars as pl

    text = series.cast(pl.String)
    lower = text.str.to_lowercase()
    return lower if lower.drop_nulls().is_in(["true", "false"]).all() else text


def level_numbers(text: "pl.Series", levels: tuple[str, ...]) -> Tensor:
    """Give the place of each value in `levels`, -1 for another one, NaN for a missing one."""
    import polars as pl

    places = text.cast(pl.Enum(levels), strict=False).to_physical().cast(pl.Float64).fill_null(-1.0)
    return torch.from_numpy(places.set(text.is_null(), float("nan")).to_numpy().copy())


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
            left_out.append(f"Column {name!r} is left out: it has a different text in every row, like a name.")
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
                f"{file}: the target {name!r} holds text, such as {column.levels[0]!r}, and cannot be a target "
                "of regression: choose a column of numbers or task='classification'."
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
    return level_numbers(text, tuple(sorted(text.unique().to_list()))).long()


def check_column(name: str, names: Sequence[str], file: str, argument: str) -> None:
    """Refuse a column that is not there and name those that are."""
    if name not in names:
        raise DataError(
            f"{file} has no column {name!r} for `{argument}`{hint(name, names)}: it has {listed(list(names))}."
        )


def _rows(count: int) -> str:
    return f"{count} row" + "s" * (count != 1)


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"the column{'s' * (len(names) > 1)} {', '.join(map(repr, names[:10]))}{more}"


def hint(name: str, names: Sequence[str]) -> str:
    lower = {other.lower(): other for other in names}
    close = get_close_matches(name.lower(), lower, n=3, cutoff=0.6)
    return f", did you mean {' or '.join(repr(lower[other]) for other in close)}?" if close else ""
