"""The columns of a table: numbers or categories, which one is the target, which ones only name the rows."""

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import torch

from lamina._errors import DataError, brief
from lamina._types import Tensor
from lamina.data._dates import MONTHS, Dates, find_dates, moment
from lamina.data._numbers import bare_numbers
from lamina.data.cells import Cells, Format, read_cells

if TYPE_CHECKING:
    import polars as pl

TARGETS = ("target", "label", "class")
FEW = 20  # at most so many different whole numbers are taken for classes
FEW_WORDS = 0.1  # at most this share of a column of numbers may be words, which count as missing
ALL_DIFFERENT = 0.9  # texts of which at least this share are different name the rows
LARGEST, LARGEST_TARGET = 1e150, 1e38  # numbers: their squares are summed, and targets have single precision
WORDY = 6  # words of a text that is free
_SHORT = 1000  # rows up to which Python finds the places of categories sooner than polars

_WHOLE, _COMMA = r"^[+-]?\d+$", r"^[+-]?\d+(,\d+)+$"
_ROW_NUMBERS = ("", "id", "index", "unnamed: 0", "row")
_IDENTIFIERS = ("id", "ids", "nr", "no", "number", "code", "key", "ticket", "uuid", "guid", "serial")


def open_table(what: Any, form: dict[str, Any], named: Sequence[tuple[str | None, str]]) -> Cells:
    """Read a table of two rows and columns or more that has all named columns, each given with its argument."""
    cells = read_cells(what, Format(**form))
    frame, file = cells.frame, cells.name
    if frame.width == 1 and "delimiter" in dict(cells.reading):
        tried = repr(form["delimiter"]) if form.get("delimiter") else "comma, semicolon, tab or bar"
        raise DataError(
            f"{file} has one column only when its cells are separated by {tried}: name the right character, "
            "for example delimiter=' '."
        )
    if frame.height < 2:
        raise DataError(f"{file} has too few rows ({frame.height}): at least 2 are needed to load and 6 to split.")
    for name, argument in named:
        if name is not None:
            check_column(name, frame.columns, file, argument)
    return cells


@dataclass(frozen=True)
class Column:
    """One column, decided: numbers, level numbers with the names of the levels, or dates; NaN where one is missing.

    Args:
        name: what the file calls it.
        values: numbers, places in `levels`, or seconds since 1970.
        levels: the names of the categories; () for numbers and dates.
        whole: whether all numbers are written as whole ones.
        date: how dates are written, as in `Spec.dates`.
        note: a sentence about values that are not what they seem.
    """

    name: str
    values: Tensor
    levels: tuple[str, ...]
    whole: bool
    date: str = ""
    note: str = ""

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
    if not isinstance(kind, pl.Categorical | pl.Enum):  # whose maker has decided: 10115 is a place, and no number
        numbers = there.cast(pl.Float64, strict=False)
        if numbers.null_count() == 0:
            return as_numbers(text, file)
        _no_commas(there, numbers, file)
        if numbers.null_count() <= FEW_WORDS * len(there) and numbers.n_unique() > FEW:
            return as_numbers(text, file)
    levels = tuple(sorted(there.unique().to_list()))
    return Column(name, level_numbers(text, levels), levels, False)


def as_numbers(text: "pl.Series", file: str) -> Column:
    """Read a column as one of numbers in which words are missing values."""
    import polars as pl

    numbers = text.cast(pl.Float64, strict=False)
    words = text.filter(numbers.is_null() & text.is_not_null())
    values = torch.from_numpy(numbers.fill_null(float("nan")).to_numpy().copy())
    _finite(values, text.name, file)
    note = _not_read(len(words), len(text.drop_nulls()), text.name, sorted(words), "a number")
    return Column(text.name, values, (), bool(text.filter(numbers.is_not_null()).str.contains(_WHOLE).all()), note=note)


def as_text(series: "pl.Series", levels: Sequence[str] | None = None) -> "pl.Series":
    """Give a column as text; truth values are always written true and false.

    Args:
        series: the column.
        levels: the categories that it is known to have; else its values tell whether they are truth values.
    """
    import polars as pl

    numbered = levels is not None and series.dtype.is_float() and not any("." in level for level in levels)
    if numbered and (series.is_null() | (series == series.round())).all():
        series = series.cast(pl.Int64)  # pandas has no whole numbers in a column with a gap
    text = series.cast(pl.String)
    if levels is not None:
        return text.str.to_lowercase() if {"true", "false"}.issuperset(levels) else text
    first = text.first()
    if first is not None and str(first).lower() not in ("true", "false"):
        return text
    lower = text.str.to_lowercase()
    return lower if lower.drop_nulls().is_in(["true", "false"]).all() else text


def level_numbers(text: "pl.Series", levels: tuple[str, ...]) -> Tensor:
    """Give the place of each value in `levels`, -1 for another one, NaN for a missing one."""
    import polars as pl

    if len(text) <= _SHORT:  # in Python: polars takes longer to begin
        known: dict[str | None, float] = {level: float(i) for i, level in enumerate(levels)}
        known[None] = float("nan")
        return torch.tensor([known.get(value, -1.0) for value in text.to_list()], dtype=torch.float64)
    places = text.cast(pl.Enum(levels), strict=False).to_physical().cast(pl.Float64).fill_null(-1.0)
    return torch.from_numpy(places.set(text.is_null(), float("nan")).to_numpy().copy())


def _no_commas(there: "pl.Series", numbers: "pl.Series", file: str) -> None:
    """Refuse a column of numbers with a comma in them."""
    with_comma = there.filter(there.str.contains(_COMMA))
    if len(with_comma) >= 0.9 * numbers.null_count() and len(with_comma):
        raise DataError(
            f"{file}: column {there.name!r} holds numbers with a comma, such as {brief(with_comma[0])}: give "
            "decimal=',' if it is the decimal mark, else remove it."
        )


def _finite(values: Tensor, name: str, file: str, most: float = LARGEST) -> Tensor:
    """Give the numbers of a column, of which none may be infinite or larger than one can compute with."""
    bad = (values.abs() > most).nonzero()
    if not len(bad):
        return values
    row, value = int(bad[0]) + 1, float(values[bad[0, 0]])
    where = f"{file}: column {name!r} holds"
    if math.isinf(value):
        raise DataError(f"{where} infinity in row {row}: correct it or leave it empty.")
    raise DataError(f"{where} {value:g} in row {row}, which is too large to compute with: rescale the column.")


def _single(column: Column, file: str) -> Tensor:
    """Give real targets as numbers of single precision."""
    return _finite(column.values, column.name, file, LARGEST_TARGET).float()


_NAMED = 20
"""How many of the columns that are left out get a sentence of their own."""


def read_features(
    frame: "pl.DataFrame", names: list[str], file: str, keep: Sequence[str] = (), day_first: bool | None = None
) -> tuple[list[Column], list[str]]:
    """Decide all columns beside the target, leave out those from which nothing can be learned, and say what is odd."""
    kept, left_out, doubts = [], [], []
    plain = plain_columns(frame, names, file, dates=True)
    for name in names:
        column = plain[name] if name in plain else read_feature(frame[name], file, day_first)
        reason = "" if name in keep else _useless(column)
        if reason:
            left_out.append(f"Column {name!r} is left out: {reason}.")
        else:
            kept.append(column)
            doubts += [column.note] if column.note else []
    more = len(left_out) - _NAMED
    if more > 1:
        left_out[_NAMED:] = [f"{more:,} more columns are left out, because nothing can be learned from them."]
    return kept, [*doubts, *left_out]


def plain_columns(frame: "pl.DataFrame", names: Sequence[str], file: str, *, dates: bool = False) -> dict[str, Column]:
    """Read the columns that hold nothing but numbers as `read_column` does, all at once: a table may have thousands.

    Args:
        frame: the table.
        names: the columns to look at.
        file: for the sentence about infinity.
        dates: whether a column such as 2024.01, 2024.02 is left to those who look for dates.
    """
    import polars as pl

    schema, bare = frame.schema, bare_numbers(frame.select(names))
    texts = frame.select([name for name in names if name in bare or schema[name].is_numeric()])
    if dates and (written := [name for name in texts.columns if name in bare]):
        months = texts.select(pl.col(written).str.contains(MONTHS).mean())
        texts = texts.drop([name for name, share in months.row(0, named=True).items() if share > 0.5])
    if not texts.width:
        return {}
    whole = {name: schema[name].is_integer() for name in texts.columns}
    if written := [name for name in texts.columns if name in bare]:
        whole |= texts.select(pl.col(written).str.contains(_WHOLE).all()).row(0, named=True)
    values = texts.select(pl.all().cast(pl.Float64).fill_null(float("nan"))).to_numpy(order="fortran")
    columns = {
        name: Column(name, torch.from_numpy(values[:, place].copy()), (), whole[name])
        for place, name in enumerate(texts.columns)
    }
    for name, column in columns.items():
        _finite(column.values, name, file)
    return columns


def read_feature(series: "pl.Series", file: str, day_first: bool | None = None) -> Column:
    """Decide whether a column is one of dates, of numbers or of categories."""
    dates = find_dates(series, day_first)
    return read_column(as_days(series), file) if dates is None else as_moments(series, dates)


def as_moments(series: "pl.Series", dates: Dates) -> Column:
    """Give a column of dates, with a sentence about those that cannot be read and about an order that is a guess."""
    bad = dates.unreadable
    note = _not_read(len(bad), len(series.drop_nulls()), series.name, bad, "a date")
    if dates.guessed:
        note += " " * bool(note) + (
            f"The dates in column {series.name!r} are read as {dates.spelling}, since no number above 12 shows which "
            f"is the day (day_first={dates.spelling == 'month-day-year'} for the other order)."
        )
    return Column(series.name, dates.seconds, (), False, dates.spelling, note)


def as_days(series: "pl.Series") -> "pl.Series":
    """Give durations as days, and any other column as it is."""
    import polars as pl

    return series.dt.total_microseconds() / 86400e6 if series.dtype == pl.Duration else series


def _not_read(bad: int, count: int, name: str, texts: Sequence[str], what: str) -> str:
    """Say how many values count as missing since they cannot be read."""
    if not bad:
        return ""
    verb = "count" if bad > 1 else "counts"
    read = f"{bad} of {count} values in column {name!r} cannot be read as {what}"
    return f"{read}, such as {brief(texts[0])}, and {verb} as missing."


def _useless(column: Column) -> str:
    """Say why nothing can be learned from a column: it is empty, constant, a name of the rows or a free text."""
    there = column.values[~column.missing]
    different, rows = len(there.unique()), len(column.values)
    if not len(there):
        return "it is empty"
    if different == 1 and len(there) == rows:
        value = float(there[0])
        text = column.levels[0] if column.levels else moment(value, column.date) if column.date else f"{value:g}"
        return f"it is {brief(text)} in every row"
    if _numbers_rows(column):
        return "it only numbers the rows"
    if rows < 10 or different < len(there) * (ALL_DIFFERENT if column.levels else 1):
        return ""
    if column.levels:
        words = sum(len(text.split()) for text in column.levels) / different
        if words >= WORDY:
            return f"it holds free texts of {words:.0f} words on average (kind='text' learns from texts)"
        if different == len(there):
            return "it has a different text in every row, like a name"
        return f"nearly all of its texts are different ({different} of {len(there)}), like names"
    return "it is named and numbered like an identifier" if column.whole and _is_identifier(column.name) else ""


def _numbers_rows(column: Column) -> bool:
    """Whether a column is called like a row number and counts the rows, in whatever order they are."""
    named = column.name.lower() in _ROW_NUMBERS or column.name == "column 1"
    return named and column.whole and bool((column.values.sort().values.diff() == 1).all())


def _is_identifier(name: str) -> bool:
    """Whether a name says that a column only tells things apart.

    >>> [_is_identifier(name) for name in ("PassengerId", "order no", "ID", "Kundennummer", "width", "number_of_rooms")]
    [True, True, True, True, False, False]
    """
    words = [word.lower() for word in re.findall(r"[A-ZÄÖÜ]?[a-zäöüß]+|[A-ZÄÖÜ]+(?![a-zäöüß])", name)]
    return bool(words) and (words[-1] in _IDENTIFIERS or words[0] == "id" or words[-1].endswith("nummer"))


def find_target(target: str | Sequence[str] | None, names: list[str], file: str) -> tuple[str, list[str]]:
    """Find the column to predict: the one named, else one with a usual name, else the last; and say which."""
    if target is not None:
        if not isinstance(target, str):
            raise DataError(f"{file}: `target` must be one column here, got {', '.join(map(repr, target))}.")
        check_column(target, names, file, "target")
        return target, []
    lower = {name.lower(): name for name in reversed(names)}
    for usual in TARGETS:
        if usual in lower:
            return lower[usual], [f"The target is the column {lower[usual]!r}, by its name."]
    return names[-1], [f"The target is the last column, {names[-1]!r}."]


def find_targets(target: str | Sequence[str] | None, names: list[str], file: str) -> tuple[tuple[str, ...], list[str]]:
    """Find the columns to predict: those named, in a list or with commas between them, else one as `find_target`.

    >>> find_targets('wind,"rain, heavy"', ["wind", "rain, heavy", "y"], "a.csv")
    (('wind', 'rain, heavy'), [])
    """
    if target is None or (isinstance(target, str) and (target in names or "," not in target)):
        name, notes = find_target(target, names, file)
        return (name,), notes
    wanted = (
        next(csv.reader([" ".join(target.splitlines())], skipinitialspace=True), [])
        if isinstance(target, str)
        else list(target)
    )
    wanted = [name for name in wanted if name.strip() or name in names]
    for name in wanted:
        if name not in names:
            raise DataError(
                f"{file} has no column {name!r} for `target`{hint(name, names)}: it has {listed(names)}. In a list, a "
                "name that holds a comma is put in double quotes, such as --target '\"a, b\",c'."
            )
    if not wanted or len(set(wanted)) < len(wanted):
        raise DataError(f"{file}: `target` must name each column once, got {target!r}.")
    return tuple(wanted), []


@dataclass(frozen=True)
class Target:
    """What is to be predicted: labels with their classes, 0 and 1 for each label, or numbers; and what was decided."""

    values: Tensor
    task: str
    outputs: int
    classes: tuple[str, ...]
    notes: list[str]


def read_targets(frame: "pl.DataFrame", names: tuple[str, ...], task: str | None, file: str) -> Target:
    """Decide what the target columns hold: classes, numbers, lists of labels, or a label or a number in each."""
    if len(names) > 1:
        return _several(frame, names, task, file)
    series = frame[names[0]]
    if (lists := _lists(series, task, file)) is not None:
        return _labels(series.name, *lists, task, file)
    values, outputs, classes, notes = read_target(series, task, file)
    return Target(values, "classification" if classes else "regression", outputs, classes, notes)


def with_targets(
    frame: "pl.DataFrame", names: tuple[str, ...], task: str | None, file: str
) -> tuple["pl.DataFrame", list[str]]:
    """Leave out the rows that lack a target; an empty list of labels is one, too."""
    if len(names) == 1 and _lists(frame[names[0]], task, file) is not None:
        return frame, []
    notes = []
    for name in names:
        frame, left = with_values(frame, name, "the target", file)
        notes += left
    return frame, notes


_TRUTHS = (("false", "true"), ("no", "yes"))
_SEPARATORS = ";|,"
LABELS = 100  # more different parts than this are no labels, unless task='multilabel' says so


def _several(frame: "pl.DataFrame", names: tuple[str, ...], task: str | None, file: str) -> Target:
    """Read a label per column, where all of them hold 0 and 1 (or false and true, no and yes), or a number each."""
    if task == "classification":
        raise DataError(
            f"{file}: `task` 'classification' has one target, got {listed(names)}: choose one of them, or leave `task` "
            "out."
        )
    columns = [read_column(frame[name], file) for name in names]
    for column in columns:
        _whole_target(column, file)
    odd = [column for column in columns if not _is_label(column)]
    if not odd and task != "regression":
        rows = torch.stack([column.values for column in columns], 1).float()
        return Target(rows, "multilabel", len(names), names, [])
    if task == "multilabel":
        check_label(odd[0], file)
    for column in columns:
        if column.levels:
            raise DataError(
                f"{file}: the target {column.name!r} holds text, such as {brief(_odd_value(column))}: several targets "
                "must all be labels (0 and 1, no and yes) or all be numbers."
            )
    return Target(torch.stack([_single(column, file) for column in columns], 1), "regression", len(names), (), [])


def _is_label(column: Column) -> bool:
    if column.levels:
        return tuple(level.lower() for level in column.levels) in _TRUTHS
    return bool(torch.isin(column.values, torch.tensor([0.0, 1.0], dtype=column.values.dtype)).all())


def _odd_value(column: Column) -> str:
    if column.levels:
        known = {word for pair in _TRUTHS for word in pair}
        return next((level for level in column.levels if level.lower() not in known), column.levels[0])
    return f"{next(v for v in column.values.tolist() if v not in (0, 1)):g}"


def _lists(series: "pl.Series", task: str | None, file: str) -> tuple[list[list[str]], str] | None:
    """Cut the cells of a column into parts, and say what is between them; None where they are no lists of labels.

    Without `task` that takes one separator throughout, lists of several lengths, and fewer different parts than
    different cells, each of them a word that comes back in another row: "London, UK" and "Yes, often" are no lists.
    """
    import polars as pl

    if series.dtype.is_nested():
        found = [[str(part) for part in cell or () if part is not None] for cell in series.to_list()]
        return found, "lists"
    if task not in (None, "multilabel"):
        return None
    if task is None and not series.cast(pl.String).str.contains(rf"[{_SEPARATORS}\[]").any():
        return None
    cells = series.cast(pl.String).fill_null("").str.strip_chars().to_list()
    parsed = [_json_list(cell) if cell else [] for cell in cells]
    if any(parsed) and all(part is not None for part in parsed):
        return [part or [] for part in parsed], "JSON lists"
    between = [mark for mark in _SEPARATORS if any(mark in cell for cell in cells)]
    if task is not None and len(between) > 1:
        raise DataError(
            f"{file}: the target {series.name!r} holds lists with {' and '.join(map(repr, between))} between their "
            "labels: use one separator throughout."
        )
    if task is None and len(between) != 1:
        return None
    mark = between[0] if between else _SEPARATORS[0]
    rows = [[part for part in map(str.strip, cell.split(mark)) if part] for cell in cells]
    return (rows, repr(mark)) if task is not None or _are_labels(rows) else None


def read_lists(series: "pl.Series", file: str) -> list[list[str]]:
    """Cut the cells of a column of lists of labels into labels."""
    lists = _lists(series, "multilabel", file)
    return [] if lists is None else lists[0]


def read_label(column: Column, file: str) -> Tensor:
    """Give 0 and 1 for a column of labels, also where only one of the two words occurs."""
    numbers = {word: i for pair in _TRUTHS for i, word in enumerate(pair)}
    words = [level.lower() for level in column.levels]
    if not words or not numbers.keys() >= set(words):
        check_label(column, file)
        return column.values.float()
    return torch.tensor([numbers[word] for word in words]).float()[column.values.long()]


def check_label(column: Column, file: str) -> None:
    """Refuse a column that holds anything but 0 and 1, or no and yes."""
    if not _is_label(column):
        value = _odd_value(column)
        raise DataError(f"{file}: the target {column.name!r} holds {brief(value)}, but labels are 0 or 1: correct it.")


def _json_list(cell: str) -> list[str] | None:
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return None if any(isinstance(part, list | dict) for part in found) else [str(part) for part in found]


def _are_labels(rows: list[list[str]]) -> bool:
    """Say whether cells that were cut into parts look like lists of labels."""
    counts = Counter(part for row in rows for part in row)
    different = {tuple(row) for row in rows if row}
    numbers = all(re.fullmatch(r"[+-]?[\d.]+", part) for part in counts)
    return (
        len({len(row) for row in rows if row}) > 1
        and len(counts) < len(different)
        and len(counts) <= min(LABELS, max(2, len(rows) // 2))
        and min(counts.values()) > 1
        and not numbers
        and all(len(set(row)) == len(row) for row in rows)
    )


def _labels(name: str, rows: list[list[str]], how: str, task: str | None, file: str) -> Target:
    """Write lists of labels as rows of 0 and 1."""
    if task not in (None, "multilabel"):
        raise DataError(f"{file}: the target {name!r} holds lists, which are no target of {task}: leave `task` out.")
    classes = tuple(sorted({part for row in rows for part in row}))
    most = max(2, len(rows) // 2)
    if not 0 < len(classes) <= most:
        raise DataError(
            f"{file}: the lists in {name!r} hold {len(classes)} different labels in {_rows(len(rows))}: they need at "
            f"least 1 and at most {most}."
        )
    places = {label: place for place, label in enumerate(classes)}
    values = torch.zeros(len(rows), len(classes))
    for i, row in enumerate(rows):
        values[i, [places[part] for part in row]] = 1
    full = [label for label, share in zip(classes, values.mean(0).tolist(), strict=True) if share == 1]
    if full:
        raise DataError(f"{file}: every list in {name!r} holds {full[0]!r}: there is nothing to learn about it.")
    shown = ", ".join(classes[:10]) + (f" and {len(classes) - 10} more" if len(classes) > 10 else "")
    form, between = (how, "") if how.endswith("lists") else ("lists", f" separated by {how}")
    said = f"The cells of {name!r} are read as {form} of {len(classes)} labels{between}: {shown}"
    way = " (task='classification' makes each different list a class)" if task is None and between else ""
    none = sum(not row for row in rows)
    return Target(
        values,
        "multilabel",
        len(classes),
        classes,
        [f"{said}{way}.", *([f"{_rows(none)} {'has' if none == 1 else 'have'} none of them."] if none else [])],
    )


def _whole_target(column: Column, file: str) -> None:
    """Refuse a target with gaps, or one that never changes."""
    gaps = column.missing.nonzero().flatten() + 1
    if len(gaps):
        raise DataError(
            f"{file}: the target {column.name!r} is missing in {_rows(len(gaps))}, first in row {int(gaps[0])}: "
            "remove those rows or fill the target in."
        )
    if len(column.values.unique()) == 1:
        value = column.levels[0] if column.levels else f"{column.values[0]:g}"
        raise DataError(
            f"{file}: the target {column.name!r} is {brief(value)} in every row: it needs at least 2 different values."
        )


def read_target(series: "pl.Series", task: str | None, file: str) -> tuple[Tensor, int, tuple[str, ...], list[str]]:
    """Give labels and classes, or real targets and no classes."""
    import polars as pl

    numbers = task == "regression" and isinstance(series.dtype, pl.Categorical | pl.Enum)
    column, name = read_column(series.cast(pl.String) if numbers else series, file), series.name
    _whole_target(column, file)
    different, most = column.values.unique(), max(2, len(column.values) // 2)
    note = []
    if task is None:
        few = column.whole and len(different) <= min(FEW, most)
        task = "classification" if column.levels or few else "regression"
        if column.whole:
            kind, other = ("classes", "regression") if task == "classification" else ("numbers", "classification")
            note = [
                f"The {len(different)} different whole numbers of {name!r} are taken for {kind} (task={other!r} for "
                "the other)."
            ]
    if task == "regression":
        if column.levels:
            raise DataError(
                f"{file}: the target {name!r} holds text, such as {brief(column.levels[0])}, and cannot be a target "
                "of regression: choose a column of numbers or task='classification'."
            )
        return _single(column, file), 1, (), note
    if len(different) > most:
        lists = any(mark in level for level in column.levels for mark in _SEPARATORS)
        way = "task='multilabel' for lists of labels" if lists else "task='regression' for numbers"
        raise DataError(
            f"{file}: the target {name!r} has {len(different)} different values in {_rows(len(column.values))}, "
            f"too many for classes: choose another target, or {way}."
        )
    classes = column.levels or tuple(f"{value:.15g}" for value in different.tolist())
    return torch.searchsorted(different, column.values), len(different), classes, note


def with_values(frame: "pl.DataFrame", name: str, what: str, file: str) -> tuple["pl.DataFrame", list[str]]:
    """Leave out the rows in which a column has no value, such as the target, and say how many they are."""
    import polars as pl

    series = frame[name]
    column = None if series.dtype.is_nested() else read_feature(series, file)
    gone = series.is_null() if column is None else pl.Series(column.missing.numpy())
    count = int(gone.sum())
    if frame.height - count < 2:
        raise DataError(
            f"{file}: {what} {name!r} is missing in {count} of {_rows(frame.height)}: at least 2 rows must have it."
        )
    notes = [column.note] if column is not None and column.note else []
    left = f"{_rows(count)} without {what} {name!r} {'are' if count > 1 else 'is'} left out."
    return (frame.filter(~gone), [*notes, left]) if count else (frame, [])


def read_times(series: "pl.Series", file: str, day_first: bool | None = None) -> Tensor:
    """Give the order of rows in time, as numbers."""
    column = read_feature(series, file, day_first)
    if column.levels:
        raise DataError(
            f"{file}: column {series.name!r} holds neither dates nor numbers, such as {brief(column.levels[0])}: "
            "choose another column for `time`."
        )
    return column.values


def read_groups(frame: "pl.DataFrame", file: str) -> Tensor:
    """Give each row a number, equal for equal values of a column, or of all columns together."""
    import polars as pl

    for series in frame:
        if series.null_count():
            raise DataError(
                f"{file}: the group {series.name!r} is missing in {_rows(series.null_count())}: fill it in."
            )
    text = frame.select(pl.concat_str(pl.all().cast(pl.String), separator="\0")).to_series()
    return level_numbers(text, tuple(sorted(text.unique().to_list()))).long()


def read_weights(series: "pl.Series", file: str) -> Tensor:
    """Give the weight of each row: a number that is not negative, and not 0 in all of them."""
    column = read_column(series, file)
    if column.levels:
        raise DataError(
            f"{file}: the weight {series.name!r} holds text, such as {brief(column.levels[0])}: give numbers."
        )
    for wrong, what in ((column.missing, "missing"), (column.values < 0, "negative")):
        if bool(wrong.any()):
            row = int(wrong.nonzero()[0]) + 1
            raise DataError(
                f"{file}: the weight {series.name!r} is {what} in {_rows(int(wrong.sum()))}, first in row {row}: every "
                "row needs a number that is at least 0."
            )
    if not bool(column.values.any()):
        raise DataError(f"{file}: the weight {series.name!r} is 0 in every row: some rows must count.")
    return column.values


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
