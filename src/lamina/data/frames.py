"""Tables that a program holds: pandas and polars DataFrames, structured arrays, lists of dicts, dicts of columns."""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._errors import DataError

if TYPE_CHECKING:
    import polars as pl


def as_frame(what: Any) -> "pl.DataFrame | None":
    """Give a table that a program holds as a polars DataFrame, or None if it is none.

    Args:
        what: a pandas or polars DataFrame, a structured NumPy array, a list of dicts or a dict of columns.

    >>> as_frame([{"a": 1, "b": "x"}, {"a": 2.5}]).rows()
    [(1.0, 'x'), (2.5, None)]
    >>> as_frame({"a": [1, None], "b": ["x", "y"]}).rows()
    [(1, 'x'), (None, 'y')]
    """
    library = type(what).__module__.partition(".")[0]
    if library == "polars" and hasattr(what, "lazy"):
        return what.lazy().collect()
    if library == "pandas" and hasattr(what, "columns"):
        names = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in what.columns]
        return _frame([_of_pandas(name, what.iloc[:, i]) for i, name in enumerate(names)])
    if isinstance(what, np.ndarray) and what.dtype.names:
        return _frame([_of_array(name, np.atleast_1d(what[name])) for name in what.dtype.names])
    if isinstance(what, list | tuple) and what and all(isinstance(row, Mapping) for row in what):
        return from_rows(what)
    if isinstance(what, Mapping) and what and not any(np.isscalar(column) for column in what.values()):
        return from_columns(what, "the table")
    return None


def from_rows(rows: Sequence[Mapping[Any, Any]]) -> "pl.DataFrame":
    """Make a table of dicts; what a row lacks is missing."""
    names = dict.fromkeys(name for row in rows for name in row)
    return _frame([_of_values(_whole(str(name)), [row.get(name) for row in rows]) for name in names])


def from_columns(columns: Mapping[Any, Any], file: str) -> "pl.DataFrame":
    """Make a table of columns: lists, arrays, or series of pandas or polars."""
    made = [_of_column(_whole(str(name)), column) for name, column in columns.items()]
    lengths = {column.name: len(column) for column in made}
    other = next((name for name, length in lengths.items() if length != len(made[0])), None)
    if other is not None:
        raise DataError(
            f"{file} has {len(made[0])} values in column {made[0].name!r} but {lengths[other]} in {other!r}: all "
            "columns need one value per row."
        )
    return _frame(made)


def _frame(columns: "list[pl.Series]") -> "pl.DataFrame":
    import polars as pl

    names = [column.name for column in columns]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise DataError(f"the table has more than one column named {twice!r}: give every column its own name.")
    return pl.DataFrame(columns)


def _of_column(name: str, column: Any) -> "pl.Series":
    import polars as pl

    if isinstance(column, pl.Series):
        return column.alias(name)
    if type(column).__module__.startswith("pandas") and hasattr(column, "dtype"):
        return _of_pandas(name, column)
    if hasattr(column, "__array__"):
        return _of_array(name, np.asarray(column))
    return _of_values(name, list(column))


def _of_pandas(name: str, column: Any) -> "pl.Series":
    """Convert a pandas Series without pyarrow."""
    import polars as pl

    kind = str(column.dtype)
    if kind == "category":
        levels = _of_values(name, column.cat.categories.tolist()).cast(pl.String)
        codes = pl.Series(column.cat.codes.to_numpy().astype(np.int64)).replace(-1, None)
        return levels.gather(codes).cast(pl.Categorical).alias(name)
    if kind.startswith("datetime64"):  # a moment with a zone keeps the time of its clock
        return pl.Series(name, column.dt.tz_localize(None).to_numpy("datetime64[us]"))
    if kind.startswith("timedelta64"):
        return pl.Series(name, column.to_numpy("timedelta64[us]"))
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
        return _of_array(name, column.to_numpy())
    if getattr(column.dtype, "kind", "O") in "iuf":  # Int64 and its like, with missing values
        numbers = pl.Series(name, column.to_numpy("float64", na_value=np.nan)).fill_nan(None)
        return numbers.cast(pl.Int64) if column.dtype.kind in "iu" else numbers
    gaps = column.isna().to_numpy()
    return _of_values(name, [None if gap else value for value, gap in zip(column.tolist(), gaps, strict=True)])


def _of_array(name: str, array: Any) -> "pl.Series":
    import polars as pl

    if array.dtype.kind in "iub":
        return pl.Series(name, np.ascontiguousarray(array))
    if array.dtype.kind == "f":
        return pl.Series(name, np.ascontiguousarray(array.astype(np.float64))).fill_nan(None)
    if array.dtype.kind in "mM":
        return pl.Series(name, array.astype(f"{array.dtype.kind}8[us]"))
    values = array.tolist()
    return _of_values(
        name, [value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in values]
    )


def _whole(text: str) -> str:
    """Give a text without halves of characters, as JSON has them where a text was cut within an emoji."""
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


def _of_values(name: str, values: list[Any]) -> "pl.Series":
    """Make a column of Python values: of one type if they have one, of numbers if all are, else of text."""
    import polars as pl

    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    plain = [None if isinstance(value, float) and math.isnan(value) else value for value in plain]
    plain = [_whole(value) if isinstance(value, str) else value for value in plain]
    kinds = {type(value) for value in plain} - {type(None)}
    if kinds <= {int, float}:
        whole = float not in kinds and all(value is None or abs(value) < 2**63 for value in plain)
        return pl.Series(name, plain, pl.Int64 if whole else pl.Float64, strict=False)
    if len(kinds) == 1:
        with suppress(TypeError, UnicodeError, pl.exceptions.PolarsError):
            column = pl.Series(name, plain)
            if column.dtype != pl.Object:
                return column
    return pl.Series(name, [None if value is None else str(value) for value in plain], pl.String)
