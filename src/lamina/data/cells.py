"""The cells of a table: text from CSV and TSV, typed columns from Parquet, Excel, JSON and what a program holds.

Encoding, delimiter, quotes, line of names, sheet and decimal mark are found out. What cannot be read gets one sentence
that names the file, the place and the way out.
"""

import csv
import glob
import gzip
import io
import re
import unicodedata
import warnings
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._errors import DataError, DataWarning, choice
from lamina.data._numbers import Marks, is_number, plain_numbers
from lamina.data.parquet import PARQUET, Parquet, parquet_files
from lamina.data.parquet import read_bytes as parquet_bytes
from lamina.data.paths import no_pipe, shown

if TYPE_CHECKING:
    import polars as pl

TEXTS = (".csv", ".tsv", ".txt")
EXCEL, JSON = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), (".jsonl", ".ndjson", ".json")
SUFFIXES = (*TEXTS, ".gz", *PARQUET, *EXCEL, *JSON)
DELIMITERS = (",", ";", "\t", "|")
_BOMB, _RATIO = 2**28, 20  # bytes that a packed table may always unpack to, and how many times its size
_SAMPLE = 2**16  # letters that show what separates the cells
_EMPTY = "{} is empty: a table needs a line of column names and rows."
MISSING = ("", "NA", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "?", "#N/A", "<NA>")
_MAGIC = ((b"PK\x03\x04", "an Excel or zip"), (b"\x1f\x8b", "a gzip"), (b"PAR1", "a Parquet"))
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe\0\0", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True)
class Format:
    """How to read a table; what is None is found out.

    Args:
        delimiter: the character between cells.
        encoding: how bytes mean letters.
        decimal: the decimal mark, "." or ",".
        quote: the character around a cell that holds a delimiter, or "" for none.
        header: whether the first line names the columns.
        sheet: the name of a sheet of an Excel file, or its number, beginning at 1.
        before: how an earlier file was read, as `Cells.reading` says; it decides what this file leaves open.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    quote: str | None = None
    header: bool | None = None
    sheet: str | int | None = None
    before: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if self.decimal is not None:
            choice("decimal", self.decimal, (".", ","))
        for name in ("delimiter", "quote"):
            value = getattr(self, name)
            if value is not None and len(value) != 1 and (name, value) != ("quote", ""):
                raise DataError(f"`{name}` must be one character, got {value!r}.")

    def earlier(self, name: str) -> Any:
        """Give what was said about this file, or how the earlier one was read."""
        said = getattr(self, name)
        return dict(self.before).get(name) if said is None else said


@dataclass(frozen=True)
class Cells:
    """The cells of a table, and how they were read.

    Args:
        frame: columns of text, in which numbers are written as Python writes them, or typed ones; null where missing.
        name: what messages call the table.
        reading: how it was read, for `Format.before` of the next file.
        notes: what was decided, as sentences.
    """

    frame: "pl.DataFrame"
    name: str
    reading: tuple[tuple[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


def read_cells(what: Any, form: Format, numbers: Collection[str] | None = None) -> Cells:
    r"""Read a table from a file, or take the one that a program holds.

    Args:
        what: a path, a table as in `lamina.data.frames.as_frame`, or the content of a file as bytes.
        form: how to read it.
        numbers: the columns that hold numbers, where that is known.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.csv").write_text("a;b\n1,5; x\nNA;y\n")
    ...     cells = read_cells(Path(folder, "rows.csv"), Format())
    >>> cells.frame.rows(), cells.reading
    ([('1.5', 'x'), (None, 'y')], (('delimiter', ';'), ('encoding', 'utf-8'), ('decimal', ',')))
    """
    name = shown(what)
    frame, found, notes = _read(what, form, name)
    frame = _composed_names(frame, name)
    frame, marks = tidied(frame, form, numbers, semicolons=found.get("delimiter") == ";")
    for doubt in marks.doubts:
        warnings.warn(f"{name}: {doubt}", DataWarning, stacklevel=3)
    found |= {"decimal": marks.decimal, "decimals": marks.decimals, "units": marks.units}
    reading = tuple((key, value) for key, value in found.items() if value not in (None, ()))
    return Cells(frame, name, reading, (*notes, *marks.notes, *marks.doubts))


def _composed_names(frame: "pl.DataFrame", name: str) -> "pl.DataFrame":
    """Write the letters of column names in one way (NFC), so that an e with an accent is the same in every file."""
    names = [unicodedata.normalize("NFC", column) for column in frame.columns]
    check_names(names, name)
    return frame if names == frame.columns else frame.rename(dict(zip(frame.columns, names, strict=True)))


def tidied(
    frame: "pl.DataFrame", form: Format, numbers: Collection[str] | None = None, semicolons: bool = False
) -> tuple["pl.DataFrame", Marks]:
    """Make cells that stand for a missing value null, and write numbers as Python does.

    Args:
        frame: the cells as they were read.
        form: how to read them.
        numbers: the columns that hold numbers, where that is known.
        semicolons: whether semicolons separate the cells.
    """
    before, there = dict(form.before), set(frame.columns)
    return plain_numbers(
        _without_gaps(frame),
        said=form.decimal,
        before=Marks(before.get("decimal"), before.get("decimals", ()), before.get("units", ())),
        semicolons=semicolons,
        known=None if numbers is None else [column for column in numbers if column in there],
    )


def _read(what: Any, form: Format, name: str) -> tuple["pl.DataFrame", dict[str, Any], list[str]]:
    """Give the cells as they are written, how they were read, and notes."""
    from lamina.data import _typed
    from lamina.data.frames import as_frame

    if not isinstance(what, str | Path | bytes):
        frame = as_frame(what)
        if frame is None:
            raise DataError(f"a table must be a path, a DataFrame or a list of rows, got {type(what).__name__}.")
        return frame, {}, []
    if (whole := _parquet(what)) is not None:
        return whole, {}, []
    data = what if isinstance(what, bytes) else read_bytes(what)
    if not data.strip():
        raise DataError(_EMPTY.format(name))
    path = Path(f"piped{_suffix_of(data)}") if isinstance(what, bytes) else Path(what)
    suffix = path.suffix.lower()
    if suffix == ".gz":
        data, suffix = _unpacked(data, name), path.with_suffix("").suffix.lower() or ".csv"
    if suffix in PARQUET:
        return parquet_bytes(data, name), {}, []
    if suffix in EXCEL:
        frame, sheet, notes = _typed.excel(data, form.sheet, form.earlier("sheet"), name)
        if form.earlier("sheet") is None:
            for note in notes:
                warnings.warn(f"{name}: {note}", DataWarning, stacklevel=4)
        return frame, {"sheet": sheet}, notes
    encoding = form.encoding or encoding_of(data, form.earlier("encoding"))
    text = decoded(data, encoding, name)
    if not text.strip():
        raise DataError(_EMPTY.format(name))
    notes = [] if form.encoding or encoding.startswith("utf") else [_guessed(encoding)]
    if suffix in JSON:
        return _typed.json_rows(text, name), {"encoding": encoding}, notes
    frame, found = _text(text, suffix, form, name)
    return frame, {"delimiter": found["delimiter"], "encoding": encoding, **found}, notes


def _parquet(what: Any) -> "pl.DataFrame | None":
    """Read a folder of Parquet files, or those that a pattern names, as one table; None for anything else."""
    if isinstance(what, bytes) or Path(what).is_file() or not (Path(what).exists() or glob.has_magic(str(what))):
        return None
    return Parquet(what).whole() if parquet_files(what) is not None else None


def _suffix_of(data: bytes) -> str:
    """Say by its first bytes what a piped table is."""
    known = {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx", b"\x1f\x8b": ".gz"}
    found = next((suffix for magic, suffix in known.items() if data.startswith(magic)), "")
    return found or (".json" if data.lstrip()[:1] in (b"[", b"{") else ".csv")


def _without_gaps(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Make cells that stand for a missing value null, and write the letters of texts in one way (NFC)."""
    import polars as pl

    texts = pl.col(pl.String)
    stripped = frame.with_columns(texts.str.strip_chars())
    longer = stripped.select((texts.str.len_bytes() > texts.str.len_chars()).any())
    if odd := [column.name for column in longer if column.item()]:
        stripped = stripped.with_columns(pl.col(odd).str.normalize("NFC"))
    return stripped.with_columns(pl.when(texts.is_in(MISSING)).then(None).otherwise(texts).name.keep())


def read_bytes(path: str | Path) -> bytes:
    """Read a file, or say why that does not work.

    >>> read_bytes("nowhere.csv")
    Traceback (most recent call last):
    lamina._errors.DataError: `nowhere.csv` does not exist: check the path.
    """
    name = shown(path)
    try:
        no_pipe(path)
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{name} does not exist: check the path.") from None
    except IsADirectoryError:
        raise DataError(f"{name} is a folder: give a table ({', '.join(SUFFIXES)}).") from None
    except OSError as error:
        raise DataError(f"{name} cannot be read ({error.strerror}).") from error


def _unpacked(data: bytes, name: str) -> bytes:
    most = max(_BOMB, _RATIO * len(data))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name} is not a readable gzip file: write it again.") from error
    if len(content) > most:
        raise DataError(
            f"{name} unpacks to more than {most:,} bytes, as a decompression bomb does: unpack it with gunzip if you "
            "trust it."
        )
    return content


def encoding_of(data: bytes, otherwise: str | None = None) -> str:
    r"""Find out how bytes mean letters: by their first two or three, else UTF-8 if they can be, else cp1252.

    Args:
        data: the content of a file, or its beginning up to a line's end.
        otherwise: what to take instead of cp1252, as an earlier file had it.

    >>> encoding_of("größe".encode()), encoding_of("größe".encode("cp1252")), encoding_of("a".encode("utf-16"))
    ('utf-8', 'cp1252', 'utf-16')
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return encoding
    try:
        text = data.decode()
    except UnicodeDecodeError:
        lenient = data.decode(errors="replace")
        beyond = len(lenient) - len(lenient.encode("ascii", "ignore"))
        if beyond > 2 * lenient.count("\ufffd"):
            return "utf-8"  # most of it is, so the file is damaged, and the message names the place
        if otherwise is not None and not otherwise.startswith("utf"):
            return otherwise
        return "latin-1" if re.search(rb"[\x81\x8d\x8f\x90\x9d]", data) else "cp1252"
    return otherwise if otherwise and "\0" in text else "utf-8"


def _guessed(encoding: str) -> str:
    return f"The file is not UTF-8; it is read as {encoding} (give `encoding` if letters look wrong)."


def decoded(data: bytes, encoding: str | None, name: str) -> str:
    r"""Give the text of bytes, with newlines as line ends.

    Args:
        data: the content of a file.
        encoding: how bytes mean letters; found out when it is None.
        name: what messages call the file.

    >>> decoded(b"one\r\ntwo", "utf-8", "`a`")
    'one\ntwo'
    """
    for magic, what in _MAGIC:
        if data.startswith(magic):
            raise DataError(f"{name} is {what} file, not text: save it as CSV, or give it the right suffix.")
    encoding = encoding or encoding_of(data)
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


@dataclass(frozen=True)
class _Dialect:
    """How lines are cut into cells; `escape` is the character before a quote that belongs to its cell, or None."""

    delimiter: str
    quote: str = '"'
    escape: str | None = None

    def rows(self, text: str, name: str) -> Iterator[tuple[int, list[str]]]:
        """Split lines that are not blank, with their numbers, by the strict rules of CSV."""
        quoted = {"quotechar": self.quote} if self.quote else {"quoting": csv.QUOTE_NONE}
        reader = csv.reader(io.StringIO(text), delimiter=self.delimiter, escapechar=self.escape, strict=True, **quoted)
        try:
            yield from ((reader.line_num, row) for row in reader if row)
        except csv.Error as error:
            raise DataError(
                f"{name} has a cell that begins with a quote and does not end with one, in line {reader.line_num}: "
                "close the quote, or double a quote that belongs to the cell."
            ) from error

    def fits(self, sample: str) -> tuple[bool, int]:
        """Say whether the first lines have the same number of cells, more than one, and count those of the first."""
        lengths = []
        try:
            for _, row in self.rows(sample, ""):
                lengths.append(len(row))
        except DataError as error:
            if not lengths or "unexpected end" not in str(error.__cause__):  # the sample may end within a cell
                lengths.append(0)
        return len(set(lengths)) == 1 and lengths[0] > 1, lengths[0]


def _dialect(text: str, suffix: str, form: Format) -> _Dialect:
    """Find out delimiter and quotes: those that give the first lines the same number of cells, the more the better."""
    lines = text[:_SAMPLE].split("\n")[:31]
    whole = lines[:-1] if len(lines) == 31 or len(text) > _SAMPLE else lines  # the last line may be cut
    sample = "\n".join(line for line in whole or lines if line)
    earlier = form.earlier("delimiter")
    if form.delimiter or suffix == ".tsv":
        delimiters: tuple[str, ...] = (form.delimiter or "\t",)
    else:
        delimiters = DELIMITERS if earlier in (None, *DELIMITERS) else (*DELIMITERS, earlier)
    single = ("'",) if '"' not in sample and re.search(r"(?m)(?:^|\W)'[^'\n]*'(?:$|\W)", sample) else ()
    usual = form.earlier("quote")
    quotes = [usual] if form.quote is not None else list(dict.fromkeys((*single, '"' if usual is None else usual, '"')))
    escapes = (None, "\\") if '\\"' in text or "\\'" in text else (None,)
    best, most = _Dialect(delimiters[0], quotes[0]), (False, False, 0)
    for dialect in (_Dialect(d, q, e) for q in quotes for e in escapes for d in delimiters):
        even, width = dialect.fits(sample)
        score = even, dialect.delimiter == earlier, width
        if score > most:
            best, most = dialect, score
    return best


def _text(text: str, suffix: str, form: Format, name: str) -> tuple["pl.DataFrame", dict[str, Any]]:
    """Split text into cells; quotes are first taken to be doubled within a cell, then to follow a backslash."""
    text = re.sub(r"(?m)^ +$", "", text) if "\n " in text or text.startswith(" ") else text
    dialect = _dialect(text, suffix, form)
    try:
        return _split(text, dialect, form, name)
    except DataError:
        if dialect.escape or not dialect.quote or f"\\{dialect.quote}" not in text:
            raise
    return _split(text, replace(dialect, escape="\\"), form, name)


def _split(text: str, dialect: _Dialect, form: Format, name: str) -> tuple["pl.DataFrame", dict[str, Any]]:
    import polars as pl

    first = next(dialect.rows(text, name))[1]
    names, header = _names(first, form.earlier("header"), name)
    data = text.encode()
    scanned = None if dialect.escape else _scan(data, dialect)
    if scanned is None:  # blank lines, or quotes within cells, which polars takes for something else
        table = list(dialect.rows(text, name))
        names = _check_lengths([line for line, _ in table], [len(row) for _, row in table], names, name)
        rows = [row if len(row) == len(names) else [*row, ""] for _, row in table][header:]
        frame = pl.DataFrame(rows, dict.fromkeys(names, pl.String), orient="row")
    else:
        names = _check_lengths(*scanned, names, name)
        if len(first) < len(names):  # the first line gets the delimiter at its end that all others have
            parts = data.split(b"\n", scanned[0][0])
            data = b"\n".join(parts[:-1]) + dialect.delimiter.encode() + b"\n" + parts[-1]
        frame = pl.read_csv(
            data,
            separator=dialect.delimiter,
            quote_char=dialect.quote or None,
            has_header=header,
            new_columns=names,
            infer_schema=False,
        )
    last = frame.columns[-1]
    if (header and len(first) < len(names)) or not first[-1].strip():  # every line ends with a delimiter
        if frame[last].is_in(["", None], nulls_equal=True).all():
            frame = frame.drop(last)
        elif len(first) < len(names):
            raise _uneven(name, len(names), 2, len(first))
    said = {"header": form.earlier("header"), "quote": dialect.quote if dialect.quote != '"' else None}
    return frame, {"delimiter": dialect.delimiter} | said


def _names(first: list[str], header: bool | None, name: str) -> tuple[list[str], bool]:
    """Give the names of the columns and whether they stand in the first line."""
    cells = [cell.strip() for cell in first]
    if header is None and all(is_number(cell) for cell in cells):
        raise DataError(
            f"{name} begins with numbers ({', '.join(cells[:4])}{', ...' if len(cells) > 4 else ''}) where names of "
            "columns are expected: add a line of names, or give header=False (or True if these are names)."
        )
    if header is False:
        return [f"column {i + 1}" for i in range(len(cells))], False
    names = [cell or f"column {i + 1}" for i, cell in enumerate(cells)]
    check_names(names, name)  # polars makes no frame of two columns of one name
    return names, True


def check_names(names: list[str], name: str) -> None:
    """Refuse two columns of one name, and names that polars takes for a pattern of names."""
    twice = next((cell for cell, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise DataError(f"{name} has more than one column named {twice!r}: give every column its own name.")
    odd = next((cell for cell in names if cell == "*" or (cell[:1] == "^" and cell[-1:] == "$")), None)
    if odd is not None:
        raise DataError(f"{name} has a column named {odd!r}, which stands for many columns: give it another name.")


def _scan(data: bytes, dialect: _Dialect) -> tuple[list[int], list[int]] | None:
    """Give the last line and the number of cells of every row; None if quotes or blank lines need more care.

    In a plain file every other quote opens a cell or follows a quote, every other one closes a cell or precedes a
    quote, and what lies behind an odd number of quotes belongs to a cell.
    """
    if ord(dialect.delimiter) > 127 or ord(dialect.quote or '"') > 127:
        return None
    values, mark, line = np.frombuffer(data, dtype=np.uint8), ord(dialect.delimiter), ord("\n")
    quote = ord(dialect.quote or "\0")  # there are no zero bytes
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


def _check_lengths(lines: list[int], lengths: list[int], names: list[str], name: str) -> list[str]:
    """Refuse a row with another number of cells than the first; name the empty cells behind a delimiter at the end."""
    width = len(names)
    if len(lengths) > 1 and set(lengths[1:]) == {width + 1}:
        return [*names, ""]
    for line, length in zip(lines, lengths, strict=True):
        if length != width:
            raise _uneven(name, length, line, width)
    return names


def _uneven(name: str, length: int, line: int, width: int) -> DataError:
    return DataError(
        f"{name} has {length} cells in line {line} but {width} in the first: correct that line, "
        "or put a cell that contains the delimiter into quotes."
    )


def source_of(what: Any) -> str:
    """Name where a table comes from: its path, or the type of what a program holds.

    >>> source_of("rows.csv"), source_of([{"a": 1}])
    ('rows.csv', 'list')
    """
    return str(what) if isinstance(what, str | Path) else type(what).__name__
