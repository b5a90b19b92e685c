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
from lamina.data.picture_list import Names, Pictures
from lamina.data.pictures import (
    SUFFIXES,
    UNREAD,
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
_READ = SUFFIXES | UNREAD
_TOGETHER, _CHUNK = 64, 2**14  # files that one task looks at, and files that tasks wait for at a time


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
    return [picture.name for picture in read.pictures], read.inputs


def _below(folder: Path) -> list[tuple[str, Path]]:
    """Give the names and paths of all pictures in a folder and the folders in it."""
    pictures, _ = sorted_out(files_below("", folder, ()))
    return sorted((shown(name), folder / name) for name in pictures)


def entries(folder: str, root: Path) -> list[tuple[str, bool]]:
    """List a folder below `root` in a fixed order, without hidden files: names, and whether each is a folder.

    The list of a folder says what its files are, so that only links have to be looked at by themselves.
    """
    with refused(shown(folder) if folder else shown(root)), os.scandir(root / folder) as found:
        names = [(entry.name, _is_folder(entry)) for entry in found if not _is_hidden(entry.name)]
    return sorted(names, key=lambda entry: (unicodedata.normalize("NFC", entry[0]), entry[0]))


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    return Path(entry.path).is_dir() if entry.is_symlink() else entry.is_dir()  # a link may lead around in a circle


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name.lower() in _IGNORED


def identity(folder: str, root: Path) -> tuple[int, int]:
    """Give what tells a folder from others, whatever links lead to it."""
    with refused(shown(folder)):
        found = os.stat(root / folder)
    return found.st_dev, found.st_ino


def files_below(folder: str, root: Path, above: tuple[tuple[int, int], ...]) -> Iterator[str]:
    """Walk through a folder and the folders in it; links are followed, but not around in a circle.

    Yields:
        Names of files, as seen from `root`.
    """
    left: list[tuple[str, Iterator[tuple[str, bool]], tuple[tuple[int, int], ...]]] = []

    def enter(path: str, over: tuple[tuple[int, int], ...]) -> None:
        here = identity(path, root)
        if here in over:
            raise DataError(f"`{shown(path)}` is a link to a folder that contains it: remove the link.")
        left.append((path, iter(entries(path, root)), (*over, here)))

    enter(folder, above)
    while left:  # not by recursion: folders may be nested more deeply than Python calls
        path, names, over = left[-1]
        name, is_folder = next(names, ("", False))
        if not name:
            left.pop()
        elif is_folder:
            enter(os.path.join(path, name), over)
        else:
            yield os.path.join(path, name)


def sorted_out(names: Iterable[str]) -> tuple[Names, list[str]]:
    """Part pictures from other files by their suffix."""
    others: list[str] = []

    def pictures() -> Iterator[str]:
        for name in names:
            if os.path.splitext(name)[1].lower() in _READ:
                yield name
            else:
                others.append(name)

    return Names(pictures()), others


@dataclass(frozen=True)
class Readable:
    """The pictures among some files; their bytes, if these are kept; and what is wrong with others."""

    pictures: Pictures
    inputs: Tensor | None
    bad: dict[int, UnreadableError]


def read_all(
    paths: Sequence[Path],
    names: Sequence[str],
    shape: Callable[[Pictures], tuple[int, int, int]],
    resize: str,
    budget: float,
    late: bool = False,
) -> Readable:
    """Look at all files and decode each once.

    Args:
        paths: the files.
        names: how messages call them.
        shape: decides the common shape of the pictures that can be read.
        resize: "crop", "fit" or "stretch".
        budget: the bytes that decoded pictures may take in memory; beyond that they are decoded, but not kept.
        late: whether pictures that are not kept are not decoded either.
    """

    def planned() -> tuple[tuple[int, int, int], bool]:
        common = shape(pictures)
        return common, len(pictures) * math.prod(common) <= budget

    with _quiet():
        pictures, bad = _look(paths, names)
        inputs, again = None, True
        while pictures and again:  # another time only if what cannot be decoded had a say in the shape
            plan, places = planned(), pictures.places
            inputs, failed = (None, {}) if late and not plan[1] else _attempt(pictures, *plan, resize)
            for turn, error in failed.items():
                bad[int(places[turn])] = error
                pictures.drop(int(places[turn]))
            again = bool(failed and pictures) and planned() != plan
    if pictures and inputs is not None and failed:  # move the others together, without a second copy of all
        for turn, source in enumerate(turn for turn in range(len(places)) if turn not in failed):
            inputs[turn] = inputs[source]
        inputs = inputs[: len(pictures)]
    return Readable(pictures, inputs if pictures else None, dict(sorted(bad.items())))


def _look(paths: Sequence[Path], names: Sequence[str]) -> tuple[Pictures, dict[int, UnreadableError]]:
    """Read the headers of all files."""
    pictures = Pictures(paths, names)
    bad: dict[int, UnreadableError] = {}

    def look(places: range) -> dict[int, UnreadableError]:
        wrong: dict[int, UnreadableError] = {}
        for place in places:
            try:
                pictures.put(place, _inspect_picture(paths[place], names[place]))
            except UnreadableError as error:
                wrong[place] = error
        return wrong

    with ThreadPoolExecutor(worker_count(), thread_name_prefix="lamina-look") as pool:
        try:
            for part in (range(first, min(first + _CHUNK, len(paths))) for first in range(0, len(paths), _CHUNK)):
                stretches = [part[first : first + _TOGETHER] for first in range(0, len(part), _TOGETHER)]
                for stretch, wrong in zip(stretches, pool.map(look, stretches), strict=True):
                    bad |= wrong
                    tell("looking at pictures", stretch.stop, len(paths))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return pictures, bad


def _attempt(
    pictures: Pictures, shape: tuple[int, int, int], kept: bool, resize: str
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
