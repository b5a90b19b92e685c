"""Read what a visitor uploads: a table or a picture. A bad file gives one sentence, never a traceback.

An upload is what `mo.ui.file(...)` has as `.value[0]`: it has `.name` and `.contents`.
"""

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lamina._errors import DataError
from lamina._types import Float, Tensor

if TYPE_CHECKING:
    from lamina.data.dataset import Dataset

LARGEST = 20_000_000
"""Bytes of an upload that a page still takes; the command line takes files of any size."""


@runtime_checkable
class Upload(Protocol):
    """A file as a page receives it."""

    name: str
    contents: bytes


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


def read_table(upload: Upload, **options: Any) -> "Dataset":
    """Read an uploaded table (.csv, .tsv, .parquet) as a data set.

    Args:
        upload: the file.
        options: those of `lamina.data.load.load`, such as the target column.

    Raises:
        DataError: the file is no table, or too large.
    """
    from lamina.data.load import load

    ending = _checked(upload, (".csv", ".tsv", ".parquet"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"upload{ending}"
        path.write_bytes(upload.contents)
        try:
            return load(path, **options)
        except DataError as error:
            raise DataError(str(error).replace(str(path), upload.name)) from None


def read_picture(upload: Upload) -> Float[Tensor, "row column"]:
    """Read an uploaded picture as gray values in [0, 1], black is 0.

    Args:
        upload: the file, .png, .jpg, .bmp, .gif or .webp.

    Raises:
        DataError: the file is no picture, or too large.
    """
    import torch
    from PIL import Image

    _checked(upload, (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"))
    try:
        with Image.open(io.BytesIO(upload.contents)) as opened:
            if opened.width * opened.height > 40_000_000:
                raise DataError(f"{upload.name} has {opened.width} x {opened.height} pixels, at most 40 million fit.")
            gray = opened.convert("L")
            pixels = torch.frombuffer(bytearray(gray.tobytes()), dtype=torch.uint8)
            return pixels.reshape(gray.height, gray.width).float() / 255
    except DataError:
        raise
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{upload.name} cannot be read as a picture: {error}") from error
