"""Tables in files that say themselves what their values are: Excel and JSON."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lamina._errors import DataError
from lamina.data.frames import from_columns, from_rows

if TYPE_CHECKING:
    import polars as pl


def excel(
    data: bytes, said: str | int | None, usual: str | int | None, name: str
) -> tuple["pl.DataFrame", str, list[str]]:
    """Read a sheet of an Excel file: the one that was said, else the usual one, else the first with a table."""
    import polars as pl

    try:
        with _quiet():
            sheets = pl.read_excel(io.BytesIO(data), sheet_id=0, raise_if_empty=False)
    except (Exception, pl.exceptions.PanicException) as error:  # fastexcel has its own, one for each kind of damage
        raise DataError(f"{name} is not a readable Excel file: save it again, or as CSV.") from error
    full = [sheet for sheet, frame in sheets.items() if frame.height]
    if said is not None:
        sheet = _sheet(said, list(sheets), name)
        return _tidy(sheets[sheet]), sheet, []
    if not full:
        raise DataError(f"{name} has no sheet with rows: a table needs a line of column names and rows.")
    tables = [sheet for sheet in full if sheets[sheet].width > 1]  # a title page has one column
    sheet = str(usual) if usual in full else (tables or full)[0]
    others = [repr(other) for other in full if other != sheet]
    note = f"The sheet {sheet!r} is read; {', '.join(others)} hold{'s' * (len(others) == 1)} data too (see `sheet`)."
    return _tidy(sheets[sheet]), sheet, [note] if others else []


def _sheet(said: str | int, sheets: list[str], name: str) -> str:
    number = int(said) if str(said).isdigit() else 0
    if said in sheets or 1 <= number <= len(sheets):
        return str(said) if said in sheets else sheets[number - 1]
    raise DataError(f"{name} has no sheet {said!r}: it has {', '.join(map(repr, sheets))}.")


def _tidy(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Leave out rows without any value; name columns that have no name by their places."""
    import polars as pl

    names = {
        old: f"column {i + 1}" if old.startswith("__UNNAMED__") else old.strip() for i, old in enumerate(frame.columns)
    }
    return frame.filter(~pl.all_horizontal(pl.all().is_null())).rename(names)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep fastexcel from printing which columns have no values."""
    logger = logging.getLogger("fastexcel")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def json_rows(text: str, name: str) -> "pl.DataFrame":
    """Read lines of objects, a list of objects, or an object of columns."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = [_line(line, number, name) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if isinstance(values, dict) and values and all(isinstance(column, list) for column in values.values()):
        return from_columns(values, name)
    rows = [values] if isinstance(values, dict) else values
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise DataError(
            f'{name} holds no table: give one object per line, such as {{"size": 3, "color": "red"}}, or a list of '
            "them."
        )
    return from_rows(rows)


def _line(line: str, number: int, name: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} has no valid JSON in line {number} ({error}): correct that line.") from None
