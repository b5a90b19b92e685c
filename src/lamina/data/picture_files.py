"""Many pictures from files and folders: found, looked at and decoded in parallel; unreadable ones are listed."""

import math
import os
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from lamina._errors import DataError, DataWarning
from lamina._types import Tensor
from lamina.data._progress import tell
from lamina.data.pictures import (
    SUFFIXES,
    UNREAD,
    Picture,
    UnreadableError,
    _inspect_picture,
    _quiet,
    read_picture,
    refused,
    shown,
)
from lamina.data.streaming import _decode_all, worker_count

_IGNORED = frozenset(("thumbs.db", "desktop.ini", "__macosx"))
_NAMED = 3  # files that a remark names


def read_pictures(paths: Sequence[Path], inputs: tuple[int, int, int], resize: str) -> tuple[list[str], Tensor]:
    """Read pictures without labels: files, and folders with all folders in them.

    Hidden files and those whose suffix is not a picture's are passed over in a folder. Pictures that cannot be read
    are left out with one warning, unless there is no other.

    Args:
        paths: files and folders.
        inputs: the (channels, height, width) of the result.
        resize: "crop", "fit" or "stretch".

    Returns:
        The names and the pictures as bytes, in the order of `paths`, those of a folder sorted. A picture is called by
        its path in the folder that was given, or by its file's name; by the whole path where two names would be equal.

    >>> from PIL import Image
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "new").mkdir()
    ...     Image.new("L", (2, 1), 7).save(Path(folder, "new", "one.png"))
    ...     names, pixels = read_pictures([Path(folder)], (1, 1, 1), "crop")
    >>> names, pixels.tolist()
    (['new/one.png'], [[[[7]]]])
    """
    files: list[tuple[str, Path]] = []
    for each in paths:
        inside = _below(each) if each.is_dir() else [(shown(each.name), each)]
        if not inside:
            raise DataError(f"`{shown(each)}` holds no pictures ({', '.join(sorted(SUFFIXES))}).")
        files += inside
    names = [name for name, _ in files]
    if len(set(names)) < len(names):
        names = [shown(file) for _, file in files]
    read = read_all([file for _, file in files], names, lambda _: inputs, resize, math.inf)
    if read.inputs is None:
        if len(read.bad) == 1:
            raise next(iter(read.bad.values()))
        raise DataError(f"none of {len(files):,} pictures can be read: {listed(read.bad.values())}.")
    leave_out(read.bad, len(files))
    return [names[place] for place in read.pictures], read.inputs


def _below(folder: Path) -> list[tuple[str, Path]]:
    """Give the names and paths of all pictures in a folder and the folders in it."""
    pictures, _ = sorted_out(files_below(folder, folder, ()))
    return sorted((shown(path.relative_to(folder)), path) for path in pictures)


def entries(folder: Path, root: Path) -> list[Path]:
    """List a folder in a fixed order, without hidden files."""
    with refused(shown(folder.relative_to(root)) if folder != root else shown(root)):
        names = sorted(os.listdir(folder), key=lambda name: (unicodedata.normalize("NFC", name), name))
    return [folder / name for name in names if not name.startswith(".") and name.lower() not in _IGNORED]


def identity(path: Path, root: Path) -> tuple[int, int]:
    """Give what tells a folder from others, whatever links lead to it."""
    with refused(shown(path.relative_to(root))):
        found = os.stat(path)
    return found.st_dev, found.st_ino


def is_folder(path: Path, root: Path) -> bool:
    """Say whether a path is a folder, or a link to one."""
    with refused(shown(path.relative_to(root))):
        return path.is_dir()


def files_below(folder: Path, root: Path, above: tuple[tuple[int, int], ...]) -> Iterator[Path]:
    """Walk through a folder and the folders in it; links are followed, but not around in a circle."""
    left = [(folder, above)]
    while left:  # not by recursion: folders may be nested more deeply than Python calls
        path, over = left.pop()
        if path is not folder and not is_folder(path, root):
            yield path
            continue
        here = identity(path, root)
        if here in over:
            raise DataError(
                f"`{shown(path.relative_to(root))}` is a link to a folder that contains it: remove the link."
            )
        left += [(inner, (*over, here)) for inner in reversed(entries(path, root))]


def sorted_out(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Part pictures from other files by their suffix."""
    pictures: list[Path] = []
    others: list[Path] = []
    for path in paths:
        (pictures if path.suffix.lower() in SUFFIXES | UNREAD else others).append(path)
    return pictures, others


@dataclass(frozen=True)
class Readable:
    """The pictures among some files, by their places; their bytes, if these are kept; and what is wrong with others."""

    pictures: dict[int, Picture]
    inputs: Tensor | None
    bad: dict[int, UnreadableError]


def read_all(
    paths: Sequence[Path],
    names: Sequence[str],
    shape: Callable[[list[Picture]], tuple[int, int, int]],
    resize: str,
    budget: float,
) -> Readable:
    """Look at all files and decode each once.

    Args:
        paths: the files.
        names: how messages call them.
        shape: decides the common shape of the pictures that can be read.
        resize: "crop", "fit" or "stretch".
        budget: the bytes that decoded pictures may take in memory; beyond that they are decoded, but not kept.
    """

    def planned() -> tuple[tuple[int, int, int], bool]:
        common = shape(list(pictures.values()))
        return common, len(pictures) * math.prod(common) <= budget

    with _quiet():
        pictures, bad = _look(paths, names)
        inputs, again = None, True
        while pictures and again:  # another time only if what cannot be decoded had a say in the shape
            plan, places = planned(), list(pictures)
            inputs, failed = _attempt(list(pictures.values()), *plan, resize)
            for turn, error in failed.items():
                bad[places[turn]] = error
                del pictures[places[turn]]
            again = bool(failed and pictures) and planned() != plan
    if pictures and inputs is not None and failed:  # move the others together, without a second copy of all
        for turn, source in enumerate(turn for turn in range(len(places)) if turn not in failed):
            inputs[turn] = inputs[source]
        inputs = inputs[: len(pictures)]
    return Readable(pictures, inputs if pictures else None, dict(sorted(bad.items())))


def _look(paths: Sequence[Path], names: Sequence[str]) -> tuple[dict[int, Picture], dict[int, UnreadableError]]:
    """Read the headers of all files."""
    pictures: dict[int, Picture] = {}
    bad: dict[int, UnreadableError] = {}

    def look(place: int) -> Picture | UnreadableError:
        try:
            return _inspect_picture(paths[place], names[place])
        except UnreadableError as error:
            return error

    with ThreadPoolExecutor(worker_count(), thread_name_prefix="lamina-look") as pool:
        try:
            for place, found in enumerate(pool.map(look, range(len(paths)))):
                if isinstance(found, Picture):
                    pictures[place] = found
                else:
                    bad[place] = found
                tell("looking at pictures", place + 1, len(paths))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return pictures, bad


def _attempt(
    pictures: list[Picture], shape: tuple[int, int, int], kept: bool, resize: str
) -> tuple[Tensor | None, dict[int, UnreadableError]]:
    """Decode all pictures; give their bytes, if these are to be kept, and what failed."""
    failed: dict[int, UnreadableError] = {}
    stored = shape if kept else (0,)

    def decode(turn: int) -> Tensor:
        try:
            found = read_picture(pictures[turn], shape, resize)
        except UnreadableError as error:
            failed[turn] = error
            return torch.zeros(stored, dtype=torch.uint8)
        return found if kept else found.flatten()[:0]

    what = "reading pictures" if kept else "checking pictures"
    inputs = _decode_all(decode, len(pictures), stored, progress=partial(tell, what))
    return inputs if kept else None, failed


def listed(bad: Iterable[UnreadableError]) -> str:
    """List pictures by what is wrong with them.

    >>> listed([UnreadableError("a.png", "empty"), UnreadableError("b.png", "empty")])
    '2 empty (a.png, b.png)'
    """
    kinds: dict[str, list[str]] = {}
    for error in bad:
        kinds.setdefault(error.what, []).append(error.name)
    return "; ".join(f"{len(names):,} {what} ({few(names)})" for what, names in kinds.items())


def leave_out(bad: Mapping[int, UnreadableError], total: int) -> list[str]:
    """Warn of pictures that cannot be read, all at once, and give the remark."""
    if not bad:
        return []
    are = "is" if len(bad) == 1 else "are"
    remark = f"{len(bad):,} of {total:,} pictures cannot be read and {are} left out: {listed(bad.values())}."
    warnings.warn(remark, DataWarning, stacklevel=4)
    return [remark]


def few(names: Sequence[str]) -> str:
    """Name the first few.

    >>> few(["a", "b", "c", "d"])
    'a, b, c, ...'
    """
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
