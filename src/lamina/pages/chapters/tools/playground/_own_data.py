"""Data that a visitor brings: a table, texts, pairs of texts, a running text, or a zip of folders of pictures.

What is uploaded is put into a folder of its own under its own name, so that the library reads it as it would on the
command line, and messages name it as the visitor does.
"""

import contextlib
import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lamina._errors import DataError, LaminaError
from lamina.data.cells import SUFFIXES, Format, read_cells
from lamina.data.pictures import SUFFIXES as PICTURES
from lamina.data.text.files import form_of
from lamina.pages.kit._jobs import apart
from lamina.pages.kit._keeping import entry
from lamina.pages.kit._uploads import LARGEST, File, Upload, bounded_pictures, bounded_table

ENDINGS = (*SUFFIXES, ".zip")
NEW = (*SUFFIXES, *sorted(PICTURES))
"""Endings of files to train with, and of files to ask a trained network about."""
ROWS, CUT, BEGINNING, CURVES, POINTS, PREVIEWED = 6, 60, 500, 3, 400, 8
"""Of an upload that is looked at: rows, characters of a cell and of a running text, curves, their points, pictures."""
UNPACKED, FILES = 5 * LARGEST, 20_000
"""Bytes and files that an archive may hold."""


@dataclass(frozen=True)
class Stored:
    """An upload on disk.

    Args:
        folder: where it lies.
        name: what the library is to load there: a file, or a folder written as `./name`.
    """

    folder: str
    name: str


def safe_name(name: str) -> str:
    """Keep of a file name what is harmless everywhere.

    >>> safe_name("../my <table> 1.csv"), safe_name("-x.csv"), safe_name("日本.zip")
    ('my _table_ 1.csv', 'x.csv', '日本.zip')
    """
    last = PurePosixPath(name.replace("\\", "/")).name
    return re.sub(r"[^\w.\- ]", "_", last).lstrip("-. ")[-80:] or "data"


def store(upload: Upload, root: str | Path, endings: Sequence[str] = ENDINGS) -> Stored:
    """Write an upload into a new folder, in another process; an archive is unpacked.

    Raises:
        DataError: the file has an unknown ending, is too large, or is no archive of pictures.
    """
    return apart(_store, upload=File.of(upload), root=str(root), endings=tuple(endings))


def _store(upload: File, root: str, endings: Sequence[str]) -> Stored:
    name = safe_name(upload.name)
    ending = Path(name).suffix.lower()
    if ending not in endings:
        raise DataError(f"{upload.name} must end in {', '.join(endings)}: choose another file.")
    if len(upload.contents) > LARGEST:
        raise DataError(
            f"{upload.name} has {len(upload.contents) / 1e6:.0f} MB, but a page takes at most {LARGEST / 1e6:.0f}: use "
            "the command line, which takes files of any size."
        )
    if ending != ".zip":
        bounded_table(File(name, upload.contents))
        if ending in PICTURES:
            bounded_pictures(name, [upload.contents])
        folder = entry(root)
        (folder / name).write_bytes(upload.contents)
        return Stored(str(folder), name)
    pictures = _members(upload)
    bounded_pictures(upload.name, (contents for place, contents in pictures.items() if _suffix(place) in PICTURES))
    folder, home = entry(root), Path(name).stem
    try:
        for place, contents in pictures.items():
            target = folder / home / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents)
    except (OSError, ValueError):
        raise DataError(f"{upload.name} has names that this machine cannot write: use short and plain ones.") from None
    return Stored(str(folder), f"./{home}")


def _members(upload: Upload) -> dict[str, bytes]:
    """Read the pictures of an archive and a table of labels, by their paths below the folder that holds them all."""
    try:
        with zipfile.ZipFile(io.BytesIO(upload.contents)) as archive:
            infos = [info for info in archive.infolist() if _wanted(info.filename)]
            size = sum(info.file_size for info in infos)
            if size > UNPACKED or len(infos) > FILES:
                raise DataError(
                    f"{upload.name} holds {len(infos):,} files of {size / 1e6:,.0f} MB, but a page takes at most "
                    f"{FILES:,} of {UNPACKED / 1e6:.0f} MB: use the command line."
                )
            found = {info.filename: archive.read(info) for info in infos}
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError) as error:
        raise DataError(
            f"{upload.name} cannot be unpacked: {str(error).rstrip('.')}; make the archive again."
        ) from None
    return _below(found, upload.name)


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _wanted(name: str) -> bool:
    """Say whether a member of an archive is a picture or a table of labels inside of it.

    >>> _wanted("a/cat/1.png"), _wanted("../1.png"), _wanted("/etc/1.png"), _wanted("__MACOSX/a/1.png")
    (True, False, False, False)
    """
    path = PurePosixPath(name.replace("\\", "/"))
    outside = path.is_absolute() or ".." in path.parts or ":" in name or "\0" in name
    hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return not outside and not hidden and (path.suffix.lower() in PICTURES or path.name == "labels.csv")


def _below(found: dict[str, bytes], name: str) -> dict[str, bytes]:
    """Take off the folders that all members share; what is left must be at least two folders, or a table of labels."""
    parts = {PurePosixPath(path.replace("\\", "/")).parts: contents for path, contents in found.items()}
    while parts and len({path[0] for path in parts}) == 1 and all(len(path) > 1 for path in parts):
        first = next(iter(parts))[0]
        if all(len(path) == 2 for path in parts) and ("labels.csv" not in {path[1] for path in parts}):
            raise DataError(
                f"{name} has pictures in one folder only, {first!r}: put those of each class into their own."
            )
        parts = {path[1:]: contents for path, contents in parts.items()}
    if not any(Path(path[-1]).suffix.lower() in PICTURES for path in parts):
        raise DataError(f"{name} holds no pictures ({', '.join(sorted(PICTURES))}): pack one folder for each class.")
    return {"/".join(path): contents for path, contents in parts.items()}


def columns(stored: Stored) -> tuple[str, ...]:
    """Return the names of the columns of a table, one of which may be the target; nothing for other files.

    Raises:
        DataError: the table cannot be read.
    """
    return apart(_columns, stored=stored)


def _columns(stored: Stored) -> tuple[str, ...]:
    path = Path(stored.folder) / stored.name
    try:
        if path.is_dir() or form_of(path, []) not in ("table", "text", "series"):
            return ()
        return tuple(read_cells(path, Format()).frame.columns)
    except LaminaError as error:
        raise DataError(without(str(error), stored.folder)) from None


@dataclass(frozen=True)
class Preview:
    """What a visitor sees of an upload before anything is trained.

    Args:
        about: how much there is of it.
        head: the names of the columns; none for a running text.
        rows: the first rows as texts, or the beginning of a running text.
        curves: the first columns of numbers of a series, by their names.
        pictures: a few pictures, each with its class and its thumbnail as the text of a PNG in base64.
    """

    about: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    curves: tuple[tuple[str, tuple[float | None, ...]], ...] = ()
    pictures: tuple[tuple[str, str], ...] = ()


def preview(stored: Stored, kind: str = "") -> Preview:
    """Look at an upload, in another process: rows of a table, a text's beginning, a series as curves, some pictures.

    Args:
        stored: the upload.
        kind: how it is to be read; "" decides by looking at it.

    Raises:
        DataError: it cannot be read.
    """
    return apart(_preview, stored=stored, kind=kind)


def _preview(stored: Stored, kind: str) -> Preview:
    path = Path(stored.folder) / stored.name
    try:
        if path.is_dir():
            return _pictures(path)
        form = kind or form_of(path, [])
        if form in ("pairs", "language"):
            return _lines(path, form)
        return _rows(path, form)
    except LaminaError as error:
        raise DataError(without(str(error), stored.folder)) from None


def _rows(path: Path, form: str) -> Preview:
    frame = read_cells(path, Format()).frame
    names, count = tuple(frame.columns), len(frame)
    shown = tuple(tuple("–" if cell is None else _cut(str(cell)) for cell in row) for row in frame.head(ROWS).rows())
    about = f"{count:,} rows, {len(names)} columns"
    if form != "series":
        return Preview(about, names, shown)
    columns = {name: frame[name].head(POINTS) for name in names}
    numbers = {name: cells.cast(float, strict=False) for name, cells in columns.items()}
    known = [name for name in names if numbers[name].null_count() == columns[name].null_count()][:CURVES]
    curves = tuple((name, tuple(numbers[name].to_list())) for name in known)
    return Preview(f"{about}, one row after another", names, shown, curves)


def _lines(path: Path, form: str) -> Preview:
    text = path.read_text(encoding="utf-8", errors="replace")
    if form == "language":
        return Preview(f"a running text of {len(text):,} characters", rows=((text[:BEGINNING],),))
    lines = [line for line in text.splitlines() if line.strip()]
    pairs = tuple(tuple(_cut(part) for part in (*line.split("\t"), "")[:2]) for line in lines[:ROWS])
    return Preview(f"{len(lines):,} pairs of texts", ("from", "to"), pairs)


def _pictures(folder: Path) -> Preview:
    """Show pictures of all classes in turn."""
    import base64

    from PIL import Image

    found = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in PICTURES]
    classes = sorted({path.parent.name for path in found})
    by_class = {name: [path for path in found if path.parent.name == name] for name in classes}
    turns = sorted((place, name, path) for name, paths in by_class.items() for place, path in enumerate(paths))
    shown = []
    for _, name, path in turns[:PREVIEWED]:
        with contextlib.suppress(OSError, ValueError), Image.open(path) as opened:
            small, output = opened.convert("RGB"), io.BytesIO()
            small.thumbnail((96, 96))
            small.save(output, "PNG")
            shown.append((name, base64.b64encode(output.getvalue()).decode()))
    return Preview(
        f"{len(found):,} pictures in {len(classes)} classes: {', '.join(classes[:8])}", pictures=tuple(shown)
    )


def _cut(text: str) -> str:
    return text if len(text) <= CUT else text[: CUT - 1] + "…"


def without(sentence: str, folder: str) -> str:
    """Leave a folder of this machine out of a sentence.

    >>> without("`/tmp/x/rows.csv` is empty.", "/tmp/x")
    '`rows.csv` is empty.'
    """
    return sentence.replace(Path(folder).as_posix() + "/", "").replace(str(folder), ".") if folder else sentence
