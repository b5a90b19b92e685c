"""Read what a visitor uploads: a table or a picture. A bad file gives one sentence, never a traceback.

An upload is what `mo.ui.file(...)` has as `.value[0]`: it has `.name` and `.contents`. It is read in a process of its
own, with bounds on rows, columns and pixels, on memory and on time, so that all other pages go on.
"""

import io
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lamina._errors import DataError
from lamina._types import Float, Tensor
from lamina.pages.kit._jobs import apart

if TYPE_CHECKING:
    from lamina.data.dataset import Dataset

LARGEST = 20_000_000
"""Bytes of an upload that a page still takes; the command line takes files of any size."""
ROWS, COLUMNS, CELLS = 500_000, 2_000, 5_000_000
"""Rows, columns and cells of an uploaded table."""
PIXELS, ALL_PIXELS, SIDE = 40_000_000, 400_000_000, 2048
"""Pixels of one uploaded picture, of all pictures of an archive, and of the longer side of what a page gets."""
_LINES = (".csv", ".tsv", ".txt")


@runtime_checkable
class Upload(Protocol):
    """A file as a page receives it."""

    name: str
    contents: bytes


@dataclass
class File:
    """A file as another process receives it."""

    name: str
    contents: bytes

    @classmethod
    def of(cls, upload: Upload) -> "File":
        """Copy an upload."""
        return cls(upload.name, upload.contents)


def _checked(upload: Upload, endings: tuple[str, ...]) -> str:
    ending = Path(upload.name).suffix.lower()
    if ending not in endings:
        raise DataError(f"{upload.name} must end in {', '.join(endings)}: choose another file.")
    if len(upload.contents) > LARGEST:
        raise DataError(
            f"{upload.name} has {len(upload.contents) / 1e6:.0f} MB, but a page takes at most {LARGEST / 1e6:.0f}: "
            f"use  lamina train ARCH --data FILE"
        )
    return ending


def bounded_table(upload: Upload) -> None:
    """Refuse a table with too many rows, columns or cells, by looking at its lines or at what it says of itself.

    Args:
        upload: a file that may be a table; others are left to those who read them.

    Raises:
        DataError: it is too large.
    """
    ending = Path(upload.name).suffix.lower()
    if ending in _LINES:
        lines = upload.contents.splitlines()[:1] or [b""]
        rows = upload.contents.count(b"\n") or upload.contents.count(b"\r")
        columns = 1 + max(lines[0].count(mark) for mark in (b",", b";", b"\t", b"|"))
        if ending == ".txt":  # a running text has many short lines, which are no rows
            return
    elif ending == ".parquet":
        import polars as pl

        try:
            table = pl.scan_parquet(io.BytesIO(upload.contents))
            columns = len(table.collect_schema())
            rows = int(table.select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            return  # whoever reads it says what is wrong
    else:
        return
    for what, count, most in (("rows", rows, ROWS), ("columns", columns, COLUMNS), ("cells", rows * columns, CELLS)):
        if count > most:
            raise DataError(
                f"{upload.name} has {count:,} {what}, but a page takes at most {most:,}: use  lamina train ARCH --data "
                "FILE"
            )


def bounded_pictures(name: str, pictures: Iterable[bytes]) -> None:
    """Refuse pictures that are small as files but have too many pixels, by their headers.

    Args:
        name: of the archive.
        pictures: the files; what is no picture is left to those who read it.

    Raises:
        DataError: one of them, or all together, are too large.
    """
    from PIL import Image

    every = 0
    for contents in pictures:
        try:
            with Image.open(io.BytesIO(contents)) as opened:
                pixels = opened.width * opened.height
        except Image.DecompressionBombError:
            pixels = PIXELS + 1
        except (OSError, ValueError, SyntaxError):
            continue
        every += pixels
        if pixels > PIXELS:
            raise DataError(f"{name} has a picture of more than {PIXELS:,} pixels: make it smaller.")
        if every > ALL_PIXELS:
            raise DataError(f"{name} has pictures of more than {ALL_PIXELS:,} pixels: take fewer or smaller ones.")


def read_table(upload: Upload, **options: Any) -> "Dataset":
    """Read an uploaded table (.csv, .tsv, .parquet) as a data set.

    Args:
        upload: the file.
        options: those of `lamina.data.load.load`, such as the target column.

    Raises:
        DataError: the file is no table, or too large.
    """
    _checked(upload, (".csv", ".tsv", ".parquet"))
    return apart(_table, upload=File.of(upload), options=options)


def _table(upload: File, options: dict[str, Any]) -> "Dataset":
    from lamina.data.load import load

    bounded_table(upload)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"upload{Path(upload.name).suffix.lower()}"
        path.write_bytes(upload.contents)
        try:
            return load(path, **options)
        except DataError as error:
            raise DataError(str(error).replace(str(path), upload.name)) from None


def read_picture(upload: Upload) -> Float[Tensor, "row column"]:
    """Read an uploaded picture as gray values in [0, 1], black is 0; a very large one is made smaller.

    Args:
        upload: the file, .png, .jpg, .bmp, .gif or .webp.

    Raises:
        DataError: the file is no picture, or too large.
    """
    _checked(upload, (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"))
    return apart(_picture, upload=File.of(upload))


def _picture(upload: File) -> Float[Tensor, "row column"]:
    import torch
    from PIL import Image

    try:
        with Image.open(io.BytesIO(upload.contents)) as opened:
            if opened.width * opened.height > PIXELS:
                raise DataError(
                    f"{upload.name} has {opened.width} x {opened.height} pixels, but a page takes at most {PIXELS:,}: "
                    "make it smaller."
                )
            gray = opened.convert("L")
            gray.thumbnail((SIDE, SIDE))
            pixels = torch.frombuffer(bytearray(gray.tobytes()), dtype=torch.uint8)
            return pixels.reshape(gray.height, gray.width).float() / 255
    except DataError:
        raise
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{upload.name} cannot be read as a picture: {error}") from error
