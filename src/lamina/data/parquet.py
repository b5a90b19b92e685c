"""Parquet on disk: one file, a folder of files or a pattern such as "part-*.parquet", read some rows at a time.

Polars reads the rows that are asked for and skips the pages before them, so that nothing has to be converted, and any
stretch of rows can be read by itself. What cannot be read gets one sentence that names the file and the way out; what a
file says of itself is checked first (`_pages`), since a damaged one can end the process.
"""

import glob
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._errors import DataError
from lamina.data._pages import DamagedError, Pages
from lamina.data.paths import no_pipe, shown

if TYPE_CHECKING:
    import polars as pl

PARQUET = (".parquet", ".pq")
_BESIDE = frozenset(("_success", "_metadata", "_common_metadata"))  # what Spark writes beside its tables


def parquet_files(what: Any) -> list[Path] | None:
    """List the files of a Parquet data set in order; None for anything else.

    A folder is one if a Parquet file is among its own files; those of the folders in it belong to it, too. Hidden files
    and those whose name begins with an underscore are passed over.

    Args:
        what: a path of a file or a folder, or a pattern with `*`, `?` or `[...]`.

    >>> [path.name for path in parquet_files("rows.parquet")], parquet_files("rows.csv")
    (['rows.parquet'], None)
    """
    if not isinstance(what, str | Path):
        return None
    path = Path(what).expanduser()
    if path.is_dir():
        return _of_folder(path)
    if path.is_file() or not glob.has_magic(str(path)):
        return [path] if path.suffix.lower() in PARQUET else None
    if path.suffix.lower() not in PARQUET:
        return None
    found = sorted(Path(each) for each in glob.glob(str(path), recursive=True))
    if not found:
        raise DataError(f"{shown(path)} matches no file: check the pattern.")
    return found


def _of_folder(folder: Path) -> list[Path] | None:
    if not any(path.suffix.lower() in PARQUET for path in folder.iterdir()):
        return None
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not _passed_over(path, folder)]
    odd = next((path for path in files if path.suffix.lower() not in PARQUET), None)
    if odd is not None:
        name = odd.relative_to(folder).as_posix()
        raise DataError(
            f"{shown(folder)} holds Parquet files and others, such as `{name}`: leave one kind in the folder, or name "
            f'the Parquet files by a pattern, such as "{(folder / "*.parquet").as_posix()}".'
        )
    return files or None


def _passed_over(path: Path, folder: Path) -> bool:
    return path.name.lower() in _BESIDE or any(part[0] in "._" for part in path.relative_to(folder).parts)


@dataclass(frozen=True)
class Block:
    """Some rows of one file: where they begin in the file and in the whole table, and how many they are."""

    file: int
    start: int
    first: int
    rows: int


class Parquet:
    """A table in Parquet files with the same columns, of which any rows can be read.

    Args:
        what: what `parquet_files` takes.
    """

    def __init__(self, what: str | Path) -> None:
        import polars as pl

        files = parquet_files(what)
        assert files is not None
        self.name, self.files = shown(what), files
        self._scans: list[pl.LazyFrame] = []
        self._pages: list[Pages] = []
        self._states: list[tuple[int, ...]] = []
        counts = []
        for file in files:
            if file.exists():
                no_pipe(file)
                self._states.append(_state(file))
            with _readable(file):
                self._pages.append(Pages(partial(io.FileIO, file)))
                scan = pl.scan_parquet(file, glob=False)
                names = scan.collect_schema()
                counts.append(int(scan.select(pl.len()).collect().item()))
            self._scans.append(scan)
            if not counts[1:]:
                self.schema = names
            self._check_schema(file, names)
        self.starts = np.concatenate([[0], np.cumsum(counts)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names())

    @property
    def bytes(self) -> int:
        """The size of all files together."""
        return sum(file.stat().st_size for file in self.files)

    def _check_schema(self, file: Path, found: "pl.Schema") -> None:
        """Refuse a file whose columns are not those of the first."""
        first = shown(self.files[0])
        for name, kind in self.schema.items():
            if name not in found:
                raise DataError(
                    f"{shown(file)} lacks the column {name!r} of {first}: all files of a table need the same columns."
                )
            if found[name] != kind and not (found[name].is_numeric() and kind.is_numeric()):
                raise DataError(
                    f"{shown(file)} holds {found[name]} in the column {name!r}, but {first} holds {kind}: write both "
                    "with the same type."
                )
        if more := [name for name in found if name not in self.schema]:
            raise DataError(
                f"{shown(file)} has the column {more[0]!r}, which {first} lacks: all files of a table need the same "
                "columns."
            )

    def blocks(self, rows: int) -> list[Block]:
        """Cut the table into blocks of at most so many rows, none of which reaches beyond its file."""
        return [
            Block(number, start, int(first) + start, min(rows, int(end - first) - start))
            for number, (first, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True))
            for start in range(0, int(end - first), rows)
        ]

    def read(self, block: Block, columns: Sequence[str] | None = None) -> "pl.DataFrame":
        """Read the rows of a block."""
        scan = self._scans[block.file].slice(block.start, block.rows)
        with self._unchanged(block.file):
            self._pages[block.file].check(block.start, block.rows, columns)
            frame = (scan if columns is None else scan.select(list(columns))).collect()
        return frame

    @contextmanager
    def _unchanged(self, number: int) -> Iterator[None]:
        """Refuse what was read of a file that is no longer the one that was opened; one that is gone is named so."""
        file = self.files[number]
        try:
            with _readable(file):
                yield
        except DataError:
            if file.exists() and _state(file) != self._states[number]:
                raise _changed(file) from None
            raise
        if file.exists() and _state(file) != self._states[number]:
            raise _changed(file)

    def sample(self, rows: int) -> "pl.DataFrame":
        """Read up to so many rows from places that are spread evenly over the table."""
        import polars as pl

        each = max(1, rows // 64)
        blocks = self.blocks(each)
        some = blocks if len(self) <= rows else [blocks[i] for i in np.linspace(0, len(blocks) - 1, 64).astype(int)]
        return pl.concat([self.read(block) for block in some], how="vertical_relaxed")

    def whole(self) -> "pl.DataFrame":
        """Read everything."""
        import polars as pl

        frames = []
        for scan, file, pages in zip(self._scans, self.files, self._pages, strict=True):
            with _readable(file):
                pages.check()
                frames.append(scan.select(self.columns).collect())
        return pl.concat(frames, how="vertical_relaxed")

    def summary(self, expressions: "Sequence[pl.Expr]") -> "pl.DataFrame":
        """Compute some numbers of all rows, without holding them."""
        names = {name for each in expressions for name in each.meta.root_names()}
        return self._streamed(lambda scan: scan.select(expressions), names)

    def counted(self, column: str) -> "pl.DataFrame":
        """Give the different values of a column in the column `value`, and how often each occurs in `count`."""
        import polars as pl

        value = pl.col(column).alias("value")
        return self._streamed(lambda scan: scan.select(value).group_by("value").agg(pl.len().alias("count")), {column})

    def _streamed(self, ask: Any, columns: set[str]) -> "pl.DataFrame":
        import polars as pl

        for file, pages in zip(self.files, self._pages, strict=True):
            with _readable(file):
                pages.check(columns=columns)
        whole = pl.concat([scan.select(self.columns) for scan in self._scans], how="vertical_relaxed")
        with _readable(self.files[0] if len(self.files) == 1 else None, self.name):
            found: pl.DataFrame = ask(whole).collect(engine="streaming")
        return found


def read_bytes(data: bytes, name: str) -> "pl.DataFrame":
    """Read the content of a Parquet file.

    Args:
        data: all of it.
        name: of the file, for messages.
    """
    import polars as pl

    with _readable(None, name):
        Pages(lambda: io.BytesIO(data)).check()
        return pl.read_parquet(io.BytesIO(data))


def _state(file: Path) -> tuple[int, ...]:
    """Say what changes when a file is written again, or another one takes its place."""
    found = file.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _changed(file: Path) -> DataError:
    return DataError(f"{shown(file)} changed while it was in use: start again, with the file as it is now.")


@contextmanager
def _readable(file: Path | None, name: str = "") -> Iterator[None]:
    """Say in a sentence that a file cannot be read; polars has many errors for it, and panics."""
    import polars as pl

    called = name if file is None else shown(file)
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{called} does not exist: check the path.") from None
    except DamagedError as error:
        raise DataError(f"{called} is not a readable Parquet file ({error}): write it again.") from None
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise DataError(f"{called} is not a readable Parquet file: write it again.") from error
