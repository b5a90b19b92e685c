"""A folder of pictures as a dataset: one folder per class, or one folder and a table of labels.

Every picture becomes bytes of one common shape (channels, height, width), see `lamina.data.pictures`. They are gray
when all are gray, else RGB. Their size is the common one when all have one and no side is longer than 256; else it is
a square with the median of the shorter sides, at most 224. `size` asks for another one.

A file whose suffix is not a picture's is left out and named in `spec.notes`. Every picture is decoded once when the
folder is opened, also where it is not kept in memory, so that those that cannot be read are found before anything is
trained: they are listed together in one warning and in `spec.notes`, and left out, or refused with `damaged="error"`.
A picture that becomes unreadable after that is an error that names it, since without it the parts of a split would be
others. For very many pictures, `damaged="late"` looks at their headers only and leaves the rest to that error.
"""

import csv
import io
import math
import os
import stat
import sys
import unicodedata
import warnings
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from lamina._errors import ArgumentError, DataError, DataWarning, at_least, choice
from lamina._types import Int, Tensor
from lamina.data.dataset import BaseDataset, Spec, _fingerprints
from lamina.data.picture_files import (
    Readable,
    entries,
    few,
    files_below,
    identity,
    leave_out,
    listed,
    read_all,
    sorted_out,
)
from lamina.data.picture_list import Made, Names, Pictures
from lamina.data.pictures import RESIZE, SUFFIXES, read_picture, refused, shown
from lamina.data.streaming import Stream

ARCHIVES = frozenset(".zip .tar .gz .tgz .bz2 .xz .7z .rar".split())
LABELS = "labels.csv"
DAMAGED = ("skip", "error", "late")

_PARTS = frozenset("train training val valid validation test testing".split())
_KEPT, _SIDE = 256, 224


class ImageFolder(BaseDataset):
    """The pictures of a folder with their classes: resident when they fit into `budget`, else decoded when asked for.

    Args:
        path: a folder with one folder of pictures per class, or a folder of pictures with a table of labels.
        labels: a CSV file with the columns file,label; None takes `labels.csv` of the folder if there is one.
        size: the side of a square, or (height, width); None decides as the head of this module says.
        resize: "crop", "fit" or "stretch".
        channels: 1 for gray, 3 for RGB; None for gray if all are gray.
        one_class: whether one class is enough, as for scoring a trained network.
        budget: the bytes that decoded pictures may take in memory.
        damaged: "skip" leaves out pictures that cannot be read, with one warning; "error" refuses them; "late" leaves
            out those whose header cannot be read, and decodes none before its turn comes.

    >>> from PIL import Image
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for kind, value in (("dark", 0), ("bright", 255)):
    ...         Path(folder, kind).mkdir()
    ...         Image.new("L", (2, 2), value).save(Path(folder, kind, "one.png"))
    ...     data = ImageFolder(folder)
    >>> data.spec.classes, data.spec.inputs, data.take(torch.tensor([1]))[0].flatten().tolist()
    (('bright', 'dark'), (1, 2, 2), [0, 0, 0, 0])
    """

    def __init__(
        self,
        path: str | Path,
        *,
        labels: str | Path | None = None,
        size: int | tuple[int, int] | None = None,
        resize: str = "crop",
        channels: int | None = None,
        one_class: bool = False,
        budget: int = 2 * 2**30,
        damaged: str = "skip",
    ) -> None:
        choice("resize", resize, RESIZE)
        choice("channels", channels, (None, 1, 3))
        choice("damaged", damaged, DAMAGED)
        root = Path(path)
        found, notes = _find(root, None if labels is None else Path(labels), one_class)

        def shape(pictures: Pictures) -> tuple[int, int, int]:
            return channels or (1 if pictures.gray else 3), *_common_size(pictures, size, resize)[:2]

        paths, names = Made(found.files, root.joinpath), Made(found.files, shown)
        read = read_all(paths, names, shape, resize, budget, late=damaged == "late")
        _check_classes(found, read, damaged)
        left_out = leave_out(read.bad, len(found.files))
        classes = found.classes
        self.targets = torch.from_numpy(found.labels[read.pictures.places].astype(np.int64))
        self.resize, self.groups, self.official_test = resize, None, None
        self.pictures, self.inputs = read.pictures, read.inputs
        self._shape = shape(self.pictures)
        notes = [_common_size(self.pictures, size, resize)[2], *left_out, *notes]
        several = [self.pictures[i].name for i in self.pictures.several]
        if several:
            notes.append(f"Animated or with pages, of which the first is used: {len(several)} ({few(several)}).")
        if self.inputs is None:
            needed = len(self.pictures) * math.prod(self._shape)
            much, most = (f"{count / 2**20:,.1f} MiB" for count in (needed, budget))
            notes.append(f"They would take {much} in memory, more than {most}: they are read as needed.")
            if damaged == "late":
                notes.append("Only their headers were looked at: a damaged one ends the training when its turn comes.")
        about = partial(Spec, classes=classes, source=str(path), notes=tuple(notes), resize=resize)
        self.spec = about("image", "classification", self._shape, len(classes))

    def _read(self, index: int) -> Tensor:
        return read_picture(self.pictures[index], self._shape, self.resize)

    def __len__(self) -> int:
        return len(self.pictures)

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give the bytes and the labels at `indices`; what is not resident is decoded now, in parallel."""
        if self.inputs is not None:
            return self.inputs[indices], self.targets[indices]
        with self.prefetch([indices]) as stream:
            return next(stream)

    def prefetch(self, order: Sequence[Int[Tensor, " _"]], *, workers: int | None = None, ahead: int = 2) -> Stream:
        """Begin to decode the batches of a known order in worker threads; the stream gives what `take` would."""
        return Stream(self._read, self.targets, order, shape=self._shape, workers=workers, ahead=ahead)

    def name(self, index: int) -> str:
        """Give the path of a picture, as it lies in the folder."""
        return self.pictures[index].name

    def fingerprints(self) -> Int[Tensor, " batch"] | None:
        """Give a 64-bit number for each picture, equal for equal pixels; None when they are not resident."""
        return None if self.inputs is None else _fingerprints(self.inputs)


load_folder = ImageFolder
"""What `load` calls for the path of a folder."""


class _Found(NamedTuple):
    """Files as seen from the folder, the number of the class of each, and the names of the classes in order."""

    files: Names
    labels: np.ndarray
    classes: tuple[str, ...]


def _find(root: Path, labels: Path | None, one_class: bool = False) -> tuple[_Found, list[str]]:
    """Give the files with the numbers of their classes, and remarks."""
    name = shown(root)
    with refused(name):
        if not root.exists() and not root.is_symlink():
            raise DataError(f"`{name}` does not exist: give a folder that holds one folder of pictures per class.")
        if not stat.S_ISDIR(os.stat(root).st_mode):
            way = "unpack it first" if root.suffix.lower() in ARCHIVES else "give the folder that holds the pictures"
            raise DataError(f"`{name}` is a file, not a folder: {way}.")
        if labels is None and (root / LABELS).is_file():
            labels = root / LABELS
    files, given, notes = _by_folders(root) if labels is None else _by_table(root, labels)
    known: dict[str, int] = {}
    numbers = array("q", (known.setdefault(label, len(known)) for label in given))
    classes = _ordered(known)
    if len(classes) == 1 and not one_class:
        raise DataError(f"`{name}` has one class only, {classes[0]!r}: a classifier needs at least 2.")
    order = np.zeros(len(classes), np.int32)
    order[[known[label] for label in classes]] = np.arange(len(classes))
    return _Found(files, order[np.frombuffer(numbers, np.int64)], classes), notes


def _by_folders(root: Path) -> tuple[Names, Iterable[str], list[str]]:
    """Give the files, the name of the class of each, and remarks."""
    name, inside = shown(root), entries("", root)
    folders = [entry for entry, is_folder in inside if is_folder]
    pictures, others = sorted_out(entry for entry, is_folder in inside if not is_folder)
    if not folders and pictures:
        raise DataError(
            f"`{name}` holds {len(pictures)} pictures but neither class folders nor {LABELS}: put each picture into a "
            f"folder named after its class, or add {LABELS} with the columns file,label."
        )
    if _PARTS.issuperset(folder.lower() for folder in folders) and len(folders) > 1:
        parts = " and ".join(f"`{shown(folder)}`" for folder in folders)
        raise DataError(
            f"`{name}` holds {parts}, which are parts of a split and not classes: give the folder of the training "
            "part, from which validation and test examples are then held out."
        )
    if not folders:
        raise DataError(f"`{name}` holds no pictures: it needs one folder of PNG, JPEG, ... files per class.")
    found, labels = Names(), []
    for folder in folders:
        files, more = sorted_out(files_below(folder, root, (identity("", root),)))
        others += more
        if not files:
            raise DataError(f"the class folder `{shown(folder)}` holds no picture: add some or remove it.")
        found.extend(files)
        labels.append(repeat(shown(folder), len(files)))
    notes = _remarks(pictures, "picture beside the class folders", "pictures beside the class folders")
    notes += _remarks(others, "file that is not a picture", "files that are not pictures")
    return found, chain.from_iterable(labels), notes


def _remarks(files: Sequence[str], one: str, many: str) -> list[str]:
    """Say what is left out; pictures are warned of, for the user may have meant them."""
    if not files:
        return []
    named = few([shown(file) for file in files])
    remark = f"Left out: {len(files):,} {one if len(files) == 1 else many} ({named})."
    if many.startswith("pictures"):
        warnings.warn(remark, DataWarning, stacklevel=5)
    return [remark]


def _by_table(root: Path, labels: Path) -> tuple[Names, Iterable[str], list[str]]:
    """Give the files that a table lists, the name of the class of each, and remarks."""
    table = shown(labels)
    files, given, lines = Names(), list[str](), dict[str, int]()
    for line, file, label in _rows(labels, table):
        where = f"line {line} of `{table}`"
        if not file or not label:
            raise DataError(f"{where} has no {'file' if not file else 'label'}: fill it in or remove the line.")
        if Path(file).is_absolute() or ".." in Path(file).parts:
            raise DataError(
                f"{where} names `{file}`, which is not inside `{shown(root)}`: give paths relative to that folder."
            )
        forms = (unicodedata.normalize(form, file) for form in ("NFC", "NFD"))
        path = next((form for form in forms if os.path.lexists(root / form)), file)
        if not os.path.lexists(root / path):
            raise DataError(f"{where} names `{file}`, which does not exist in `{shown(root)}`.")
        key = shown(path)
        if key in lines:
            raise DataError(f"{where} names `{file}` again, after line {lines[key]}: each picture has one label.")
        lines[key] = line
        files.extend([path])
        given.append(sys.intern(unicodedata.normalize("NFC", label)))
    if not files:
        raise DataError(f"`{table}` lists no pictures: it needs a line file,label for each.")
    if len(set(given)) == len(files) > 1:
        raise DataError(f"no label of `{table}` occurs twice: a class needs several pictures.")
    unlisted = [
        entry
        for entry, is_folder in entries("", root)
        if os.path.splitext(entry)[1].lower() in SUFFIXES and shown(entry) not in lines
    ]
    notes = _remarks(unlisted, f"picture that {LABELS} does not list", f"pictures that {LABELS} does not list")
    return files, given, notes


def _rows(labels: Path, table: str) -> Iterator[tuple[int, str, str]]:
    """Read line number, file and label of each row; the delimiter is the one of the first line."""
    with refused(table):
        content = labels.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"`{table}` is not UTF-8 (byte {error.start}): save it as UTF-8.") from error
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from _checked_rows(reader, table)
    except csv.Error as error:
        raise DataError(f"line {reader.line_num} of `{table}` cannot be read ({error}): check its quotes.") from error


def _checked_rows(reader: Any, table: str) -> Iterator[tuple[int, str, str]]:
    head = [name.strip().lower() for name in next(reader, [])]
    if "file" not in head or "label" not in head:
        raise DataError(f"`{table}` must have the columns file,label in its first line, got {','.join(head)!r}.")
    file, label = head.index("file"), head.index("label")
    for row in reader:
        if row and len(row) != len(head):
            raise DataError(
                f"line {reader.line_num} of `{table}` has {len(row)} columns, not {len(head)}: quote commas in names."
            )
        if row:
            yield reader.line_num, row[file].strip().replace("\\", "/"), row[label].strip()


def _ordered(labels: Iterable[str]) -> tuple[str, ...]:
    """Sort class names; whole numbers by value."""
    names = sorted(labels)
    return tuple(sorted(names, key=int) if all(name.isdecimal() for name in names) else names)


def _check_classes(found: _Found, read: Readable, damaged: str) -> None:
    """Refuse pictures that cannot be read if that is asked for, or if they are all there is of a class."""
    if read.bad and damaged == "error":
        raise DataError(
            f"{len(read.bad):,} of {len(found.files):,} pictures cannot be read: {listed(read.bad.values())}. Repair "
            "or remove them, or leave them out with damaged=skip."
        )
    there = np.bincount(found.labels[read.pictures.places], minlength=len(found.classes))
    for lost in np.flatnonzero(there == 0).tolist():
        why = listed(error for place, error in read.bad.items() if found.labels[place] == lost)
        raise DataError(
            f"no picture of the class {found.classes[lost]!r} can be read: {why}. Repair them, or remove the class."
        )


def _common_size(pictures: Pictures, size: int | tuple[int, int] | None, resize: str) -> tuple[int, int, str]:
    """Decide the (height, width) of all pictures and say why."""
    sizes = pictures.sizes()
    (height, width), one = next(iter(sizes)), len(sizes) == 1
    have = f"{len(pictures):,} pictures of {width}x{height}"
    if not one:
        small, large = min(sizes, key=lambda s: s[0] * s[1]), max(sizes, key=lambda s: s[0] * s[1])
        have = f"{len(pictures):,} pictures of {len(sizes)} sizes, {small[1]}x{small[0]} to {large[1]}x{large[0]}"
    if size is not None:
        target = (size, size) if isinstance(size, int) else tuple(size)
        if len(target) != 2:
            raise ArgumentError(f"`size` must be one number or (height, width), got {size!r}.")
        for side in target:
            at_least("size", side, 1)
    elif one and max(height, width) <= _KEPT:
        return height, width, f"{have} (width x height)."
    else:
        target = (min(_SIDE, pictures.middle),) * 2
    how = {"crop": "scaled and cropped to its middle", "fit": "scaled and padded with black", "stretch": "stretched"}
    return *target, f"{have}; each is {how[resize]}: {target[1]}x{target[0]} (width x height)."
