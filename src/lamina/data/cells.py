"""The cells of a table file: text from CSV and TSV, typed columns from Parquet.

Delimiter and line of names are found out. What cannot be read gets one sentence that names the file, the place and the
way out.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lamina._errors import DataError, choice

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".pq")
DELIMITERS = (",", ";", "\t", "|")
_EMPTY = "{} is empty: a table needs a line of column names and rows."
MISSING = ("", "NA", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "?", "#N/A", "<NA>")


@dataclass(frozen=True)
class Format:
    """How to read a text file; what is None is found out.

    Args:
        delimiter: the character between cells.
        encoding: how bytes mean letters.
        decimal: the decimal mark, "." or ",".
        header: whether the first line names the columns.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    header: bool | None = None

    def __post_init__(self) -> None:
        choice("decimal", self.decimal, (".", ","))


def read_cells(path: str | Path, form: Format) -> "pl.DataFrame":
    r"""Give the cells of a file: text, or null where missing, from a text file; typed columns from Parquet.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.csv").write_text("a;b\n1; x\nNA;y\n")
    ...     read_cells(Path(folder, "rows.csv"), Format()).rows()
    [('1', 'x'), (None, 'y')]
    """
    path, name = Path(path), shown(path)
    data = read_bytes(path)
    if not data.strip():
        raise DataError(_EMPTY.format(name))
    if path.suffix.lower() in (".parquet", ".pq"):
        return _parquet(data, name)
    text = decoded(data, form.encoding, name)
    if not text.strip():
        raise DataError(_EMPTY.format(name))
    return _text(re.sub(r"(?m)^ +$", "", text), path, form, name)


def read_bytes(path: str | Path) -> bytes:
    """Read a file, or say why that does not work.

    >>> read_bytes("nowhere.csv")
    Traceback (most recent call last):
    lamina._errors.DataError: `nowhere.csv` does not exist: check the path.
    """
    name = shown(path)
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{name} does not exist: check the path.") from None
    except IsADirectoryError:
        raise DataError(f"{name} is a folder: give a CSV, TSV or Parquet file.") from None
    except OSError as error:
        raise DataError(f"{name} cannot be read ({error.strerror}).") from error


def _parquet(data: bytes, name: str) -> "pl.DataFrame":
    import polars as pl

    try:
        return pl.read_parquet(io.BytesIO(data))
    except Exception as error:  # polars raises several kinds on damaged files
        raise DataError(f"{name} is not a readable Parquet file: write it again.") from error


def decoded(data: bytes, encoding: str, name: str) -> str:
    r"""Give the text of bytes, with newlines as line ends.

    Args:
        data: the content of a file.
        encoding: how bytes mean letters.
        name: what messages call the file.

    >>> decoded(b"one\r\ntwo", "utf-8", "`a`")
    'one\ntwo'
    """
    for magic, what in ((b"PK\x03\x04", "an Excel or zip"), (b"\x1f\x8b", "a gzip"), (b"PAR1", "a Parquet")):
        if data.startswith(magic):
            raise DataError(f"{name} is {what} file, not text: save it as CSV, or give it the right suffix.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) and encoding == "utf-8":
        raise DataError(f"{name} is not UTF-8 but UTF-16: give encoding='utf-16' or save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise DataError(f"`encoding` must be one that Python knows, such as 'cp1252', got {encoding!r}.") from None
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = data.count(b"\n", 0, start) + 1
        other = "cp1252" if encoding == "utf-8" else "utf-8"
        raise DataError(
            f"{name} is not {encoding.upper()} (byte 0x{data[start]:02x} in line {line}): give another encoding, "
            f"such as encoding={other!r}, or save it as UTF-8."
        ) from None
    if "\0" in text:
        raise DataError(
            f"{name} holds zero bytes, so it is not text, or it has another encoding: try encoding='utf-16'."
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _text(text: str, path: Path, form: Format, name: str) -> "pl.DataFrame":
    """Split text into cells; what is missing becomes null."""
    import polars as pl

    delimiter = form.delimiter or ("\t" if path.suffix.lower() == ".tsv" else _sniffed(text))
    if len(delimiter) != 1:
        raise DataError(f"`delimiter` must be one character, got {delimiter!r}.")
    first = next(_cells(text, delimiter, name))[1]
    if len(first) == 1:
        tried = f"{delimiter!r}" if form.delimiter else "comma, semicolon, tab or bar"
        raise DataError(
            f"{name} has one column only when its cells are separated by {tried}: name the right character, "
            "for example delimiter=' '."
        )
    names, header = _names(first, form.header, name)
    scanned = _scan(text.encode(), delimiter)
    if scanned is None:  # blank lines, or quotes within cells, which polars takes for something else
        table = [(line, row) for line, row in _cells(text, delimiter, name)]
        _check_lengths([line for line, _ in table], [len(row) for _, row in table], name)
        frame = pl.DataFrame([row for _, row in table][header:], dict.fromkeys(names, pl.String), orient="row")
    else:
        _check_lengths(*scanned, name)
        frame = pl.read_csv(
            text.encode(), separator=delimiter, has_header=header, new_columns=names, infer_schema=False
        )
    frame = frame.with_columns(pl.all().str.strip_chars())
    if form.decimal == ",":
        number = pl.all().str.contains(r"^[+-]?\d*,\d+([eE][+-]?\d+)?$")
        frame = frame.with_columns(
            pl.when(number).then(pl.all().str.replace(",", ".", literal=True)).otherwise(pl.all())
        )
    return frame.with_columns(pl.when(pl.all().is_in(MISSING)).then(None).otherwise(pl.all()).name.keep())


def _cells(text: str, delimiter: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Split lines that are not blank, with their numbers, by the strict rules of CSV."""
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        yield from ((reader.line_num, row) for row in reader if row)
    except csv.Error as error:
        raise DataError(
            f"{name} has a cell that begins with a quote and does not end with one, in line {reader.line_num}: "
            "close the quote, or double a quote that belongs to the cell."
        ) from error


def _sniffed(text: str) -> str:
    """Choose the delimiter that gives all of the first lines the same number of cells, the larger the better."""
    sample = "\n".join(line for line in text[:65536].split("\n")[:30] if line)

    def score(delimiter: str) -> tuple[bool, int]:
        lengths = [len(row) for row in csv.reader(io.StringIO(sample), delimiter=delimiter) if row]
        return len(set(lengths)) == 1 and lengths[0] > 1, lengths[0]

    return max(DELIMITERS, key=score)


def _names(first: list[str], header: bool | None, name: str) -> tuple[list[str], bool]:
    """Give the names of the columns and whether they stand in the first line."""
    cells = [cell.strip() for cell in first]
    if header is None and all(_is_number(cell) for cell in cells):
        raise DataError(
            f"{name} begins with numbers ({', '.join(cells[:4])}{', ...' if len(cells) > 4 else ''}) where names of "
            "columns are expected: add a line of names, or give header=False (or True if these are names)."
        )
    if header is False:
        return [f"column {i + 1}" for i in range(len(cells))], False
    names = [cell or f"column {i + 1}" for i, cell in enumerate(cells)]
    twice = [cell for i, cell in enumerate(names) if cell in names[:i]]
    if twice:
        raise DataError(f"{name} has more than one column named {twice[0]!r}: give every column its own name.")
    return names, True


def _scan(data: bytes, delimiter: str) -> tuple[list[int], list[int]] | None:
    """Give the last line and the number of cells of every row; None if quotes or blank lines need more care.

    In a plain file every other quote opens a cell or follows a quote, every other one closes a cell or precedes a
    quote, and what lies behind an odd number of quotes belongs to a cell.
    """
    if ord(delimiter) > 127:
        return None
    values, mark, line, quote = np.frombuffer(data, dtype=np.uint8), ord(delimiter), ord("\n"), ord('"')
    quotes = np.flatnonzero(values == quote)
    beside = np.concatenate([quotes[::2][quotes[::2] > 0] - 1, quotes[1::2][quotes[1::2] < len(values) - 1] + 1])
    if len(quotes) % 2 or not np.isin(values[beside], [mark, line, quote]).all():
        return None
    lines = np.append(np.flatnonzero(values == line), len(values))
    if values[-1] == line:
        lines = lines[:-1]
    marks, ends = (
        places[np.searchsorted(quotes, places) % 2 == 0] for places in (np.flatnonzero(values == mark), lines)
    )
    starts = np.concatenate([[0], ends[:-1] + 1])
    if (ends == starts).any():
        return None
    lengths = np.searchsorted(marks, ends) - np.searchsorted(marks, starts) + 1
    return (np.searchsorted(lines, ends) + 1).tolist(), lengths.tolist()


def _check_lengths(lines: list[int], lengths: list[int], name: str) -> None:
    """Refuse a row with another number of cells than the first."""
    for line, length in zip(lines, lengths, strict=True):
        if length != lengths[0]:
            raise DataError(
                f"{name} has {length} cells in line {line} but {lengths[0]} in the first: correct that line, "
                "or put a cell that contains the delimiter into quotes."
            )


def shown(path: str | Path) -> str:
    """Write a path as messages name it.

    >>> shown("rows.csv")
    '`rows.csv`'
    """
    return f"`{Path(path).as_posix()}`"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
