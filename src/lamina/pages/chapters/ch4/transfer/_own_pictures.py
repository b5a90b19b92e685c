"""A visitor's pictures: an archive with one folder per class becomes a dataset of small pictures.

Nothing of the archive is written under its own name: every picture goes to a numbered file of a temporary folder, so
that no path of an archive can lead out of it. Counts and sizes are bounded before anything is unpacked.
"""

import io
import tempfile
import zipfile
import zlib
from collections import Counter
from pathlib import Path, PurePosixPath

from lamina._errors import DataError
from lamina.data.images import ImageFolder
from lamina.data.pictures import SUFFIXES
from lamina.pages.kit._jobs import apart
from lamina.pages.kit._uploads import bounded_pictures

LARGEST, MOST, UNPACKED = 20_000_000, 2000, 200_000_000
"""Bytes of an archive, pictures in it, and bytes of all of them unpacked that a page takes."""
LEAST, SIDE = 4, 28
"""Pictures that a class needs, and the side of a picture after reading."""


def read_archive(contents: bytes, name: str = "the archive", side: int = SIDE) -> ImageFolder:
    """Read a .zip file with one folder of pictures per class, in another process.

    Raises:
        DataError: it is no such archive, too large, or has too few classes or pictures.

    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> with zipfile.ZipFile(file, "w") as archive:
    ...     for kind, value in (("dark", 0), ("bright", 255)):
    ...         for i in range(4):
    ...             with archive.open(f"mine/{kind}/{i}.png", "w") as picture:
    ...                 Image.new("L", (9, 12), value).save(picture, "png")
    >>> data = read_archive(file.getvalue())
    >>> data.spec.classes, data.spec.inputs, len(data)
    (('bright', 'dark'), (1, 28, 28), 8)
    """
    return apart(_read, contents=contents, name=name, side=side)


def _read(contents: bytes, name: str, side: int) -> ImageFolder:
    if len(contents) > LARGEST:
        raise DataError(
            f"{name} has {len(contents) / 1e6:.0f} MB, but a page takes at most {LARGEST / 1e6:.0f}: take fewer or "
            "smaller pictures, or use  lamina train resnet18 --data FOLDER"
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(contents))
    except zipfile.BadZipFile:
        raise DataError(f"{name} is not a .zip file: pack one folder of pictures per class into a .zip file.") from None
    with archive, tempfile.TemporaryDirectory() as folder:
        _unpack(archive, Path(folder), name)
        try:
            return ImageFolder(folder, size=side, labels=None)
        except DataError as error:
            raise DataError(str(error).replace(folder, name)) from None


def _unpack(archive: zipfile.ZipFile, folder: Path, name: str) -> None:
    """Write the pictures of an archive into one folder per class, under numbers."""
    members = [info for info in archive.infolist() if _class(info) is not None]
    counts = Counter(_class(info) for info in members)
    if len(members) > MOST:
        raise DataError(f"{name} has {len(members)} pictures, but a page takes at most {MOST}: take fewer.")
    if sum(info.file_size for info in members) > UNPACKED:
        raise DataError(f"{name} is larger than {UNPACKED / 1e6:.0f} MB unpacked: take smaller pictures.")
    if len(counts) < 2:
        raise DataError(
            f"{name} has {len(counts)} folders with pictures, but at least 2 are needed: put the pictures of each "
            "class into a folder of its own and pack these folders."
        )
    kind, least = min(counts.items(), key=lambda item: item[1])
    if least < LEAST:
        raise DataError(f"{name} has {least} pictures in {kind}, but at least {LEAST} per class are needed: add some.")
    bounded_pictures(name, (_content(archive, info, name) for info in members))
    for number, info in enumerate(members):
        place = folder / str(_class(info))
        place.mkdir(exist_ok=True)
        suffix = PurePosixPath(info.filename).suffix.lower()
        (place / f"{number}{suffix}").write_bytes(_content(archive, info, name))


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> bytes:
    try:
        return archive.read(info)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise DataError(f"{name} cannot be unpacked: {error}. Pack it again, without a password.") from None


def _class(info: zipfile.ZipInfo) -> str | None:
    """Return the name of the folder that holds a picture; None for what is not a picture.

    >>> _class(zipfile.ZipInfo("a/../../cat/x.PNG")), _class(zipfile.ZipInfo("cat/notes.txt"))
    ('cat', None)
    """
    path = PurePosixPath(info.filename.replace("\\", "/"))
    hidden = path.name.startswith(".") or "__MACOSX" in path.parts
    if info.is_dir() or hidden or path.suffix.lower() not in SUFFIXES:
        return None
    folder = "".join(c for c in path.parent.name if c.isalnum() or c in " -_").strip()
    return folder or None
