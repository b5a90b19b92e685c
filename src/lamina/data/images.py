"""A folder of pictures as a dataset: one folder per class, or one folder and a table of labels.

Every picture becomes bytes of one common shape (channels, height, width), see `lamina.data.pictures`. They are gray
when all are gray, else RGB. Their size is the common one when all have one and no side is longer than 256; else it is
a square with the median of the shorter sides, at most 224. `size` asks for another one.

A file whose suffix is not a picture's is left out and named in `spec.notes`. Every picture is decoded once when the
folder is opened, also where it is not kept in memory, so that those that cannot be read are found before anything is
trained: they are listed together in one warning and in `spec.notes`, and left out, or refused with `damaged="error"`.
A picture that becomes unreadable after that is an error that names it, since without it the parts of a split would be
others.
"""

import csv
import io
import math
import os
import stat
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

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
    is_folder,
    leave_out,
    listed,
    read_all,
    sorted_out,
)
from lamina.data.pictures import RESIZE, SUFFIXES, Picture, read_picture, refused, shown
from lamina.data.streaming import Stream

ARCHIVES = frozenset(".zip .tar .gz .tgz .bz2 .xz .7z .rar".split())
LABELS = "labels.csv"
DAMAGED = ("skip", "error")

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
        damaged: "skip" leaves out pictures that cannot be read, with one warning; "error" refuses them.

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

        def shape(pictures: list[Picture]) -> tuple[int, int, int]:
            return channels or _channels(pictures), *_common_size(pictures, size, resize)[:2]

        names = [shown(file.relative_to(root)) for file, _ in found]
        read = read_all([file for file, _ in found], names, shape, resize, budget)
        labels_of = [label for _, label in found]
        _check_classes(labels_of, read, damaged)
        left_out = leave_out(read.bad, len(found))
        classes = _ordered(set(labels_of))
        number = {name: label for label, name in enumerate(classes)}
        self.targets = torch.tensor([number[labels_of[place]] for place in read.pictures])
        self.resize, self.groups, self.official_test = resize, None, None
        self.pictures, self.inputs = list(read.pictures.values()), read.inputs
        self._shape = shape(self.pictures)
        notes = [_common_size(self.pictures, size, resize)[2], *left_out, *notes]
        several = [picture.name for picture in self.pictures if picture.several]
        if several:
            notes.append(f"Animated or with pages, of which the first is used: {len(several)} ({few(several)}).")
        if self.inputs is None:
            needed = len(self.pictures) * math.prod(self._shape)
            much, most = (f"{count / 2**20:,.1f} MiB" for count in (needed, budget))
            notes.append(f"They would take {much} in memory, more than {most}: they are read as needed.")
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


def _find(root: Path, labels: Path | None, one_class: bool = False) -> tuple[list[tuple[Path, str]], list[str]]:
    """Give the files with the names of their classes, and remarks."""
    name = shown(root)
    with refused(name):
        if not root.exists() and not root.is_symlink():
            raise DataError(f"`{name}` does not exist: give a folder that holds one folder of pictures per class.")
        if not stat.S_ISDIR(os.stat(root).st_mode):
            way = "unpack it first" if root.suffix.lower() in ARCHIVES else "give the folder that holds the pictures"
            raise DataError(f"`{name}` is a file, not a folder: {way}.")
        if labels is None and (root / LABELS).is_file():
            labels = root / LABELS
    found, notes = _by_folders(root) if labels is None else _by_table(root, labels)
    counts = Counter(label for _, label in found)
    if len(counts) == 1 and not one_class:
        raise DataError(f"`{name}` has one class only, {next(iter(counts))!r}: a classifier needs at least 2.")
    return found, notes


def _by_folders(root: Path) -> tuple[list[tuple[Path, str]], list[str]]:
    name, inside = shown(root), entries(root, root)
    folders = [path for path in inside if is_folder(path, root)]
    pictures, others = sorted_out(sorted(set(inside) - set(folders)))
    if not folders and pictures:
        raise DataError(
            f"`{name}` holds {len(pictures)} pictures but neither class folders nor {LABELS}: put each picture into a "
            f"folder named after its class, or add {LABELS} with the columns file,label."
        )
    if _PARTS.issuperset(folder.name.lower() for folder in folders) and len(folders) > 1:
        parts = " and ".join(f"`{shown(folder.name)}`" for folder in folders)
        raise DataError(
            f"`{name}` holds {parts}, which are parts of a split and not classes: give the folder of the training "
            "part, from which validation and test examples are then held out."
        )
    if not folders:
        raise DataError(f"`{name}` holds no pictures: it needs one folder of PNG, JPEG, ... files per class.")
    found: list[tuple[Path, str]] = []
    for folder in folders:
        files, more = sorted_out(files_below(folder, root, (identity(root, root),)))
        others += more
        if not files:
            raise DataError(
                f"the class folder `{shown(folder.relative_to(root))}` holds no picture: add some or remove it."
            )
        found += [(path, shown(folder.name)) for path in files]
    notes = _remarks(pictures, "picture beside the class folders", "pictures beside the class folders", root)
    return found, notes + _remarks(others, "file that is not a picture", "files that are not pictures", root)


def _remarks(paths: list[Path], one: str, many: str, root: Path) -> list[str]:
    """Say what is left out; pictures are warned of, for the user may have meant them."""
    if not paths:
        return []
    named = few([shown(path.relative_to(root)) for path in paths])
    remark = f"Left out: {len(paths):,} {one if len(paths) == 1 else many} ({named})."
    if many.startswith("pictures"):
        warnings.warn(remark, DataWarning, stacklevel=5)
    return [remark]


def _by_table(root: Path, labels: Path) -> tuple[list[tuple[Path, str]], list[str]]:
    table = shown(labels)
    found: dict[str, tuple[Path, str, int]] = {}
    for line, file, label in _rows(labels, table):
        where = f"line {line} of `{table}`"
        if not file or not label:
            raise DataError(f"{where} has no {'file' if not file else 'label'}: fill it in or remove the line.")
        if Path(file).is_absolute() or ".." in Path(file).parts:
            raise DataError(
                f"{where} names `{file}`, which is not inside `{shown(root)}`: give paths relative to that folder."
            )
        path = next(
            (p for form in ("NFC", "NFD") if os.path.lexists(p := root / unicodedata.normalize(form, file))),
            root / file,
        )
        if not os.path.lexists(path):
            raise DataError(f"{where} names `{file}`, which does not exist in `{shown(root)}`.")
        key = shown(path)
        if key in found:
            raise DataError(f"{where} names `{file}` again, after line {found[key][2]}: each picture has one label.")
        found[key] = path, unicodedata.normalize("NFC", label), line
    if not found:
        raise DataError(f"`{table}` lists no pictures: it needs a line file,label for each.")
    counts = Counter(label for _, label, _ in found.values())
    if len(counts) == len(found) > 1:
        raise DataError(f"no label of `{table}` occurs twice: a class needs several pictures.")
    unlisted = [path for path in entries(root, root) if path.suffix.lower() in SUFFIXES and shown(path) not in found]
    notes = _remarks(unlisted, f"picture that {LABELS} does not list", f"pictures that {LABELS} does not list", root)
    return [(path, label) for path, label, _ in found.values()], notes


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


def _check_classes(labels: Sequence[str], read: Readable, damaged: str) -> None:
    """Refuse pictures that cannot be read if that is asked for, or if they are all there is of a class."""
    if read.bad and damaged == "error":
        raise DataError(
            f"{len(read.bad):,} of {len(labels):,} pictures cannot be read: {listed(read.bad.values())}. Repair or "
            "remove them, or leave them out with damaged=skip."
        )
    for lost in _ordered(set(labels) - {labels[place] for place in read.pictures}):
        why = listed(error for place, error in read.bad.items() if labels[place] == lost)
        raise DataError(f"no picture of the class {lost!r} can be read: {why}. Repair them, or remove the class.")


def _channels(pictures: list[Picture]) -> int:
    return 1 if all(picture.gray for picture in pictures) else 3


def _common_size(pictures: list[Picture], size: int | tuple[int, int] | None, resize: str) -> tuple[int, int, str]:
    """Decide the (height, width) of all pictures and say why."""
    sizes = Counter((picture.height, picture.width) for picture in pictures)
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
        shorter = sorted(min(picture.height, picture.width) for picture in pictures)
        target = (min(_SIDE, shorter[len(shorter) // 2]),) * 2
    how = {"crop": "scaled and cropped to its middle", "fit": "scaled and padded with black", "stretch": "stretched"}
    return *target, f"{have}; each is {how[resize]}: {target[1]}x{target[0]} (width x height)."
