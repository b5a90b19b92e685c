"""Whether data are still the same: a short text for their names, one for their contents and one for how they divide.

Tensors are hashed whole, at more than 1 GB a second. Of pictures in a folder and of tables that stay on disk the files
are hashed, not what they hold, so that nothing depends on the decoder: names, sizes and all bytes, or above `WHOLE`
bytes in all the first and the last `EDGE` bytes of each file, which is two short reads a file. Of somebody else's
dataset the names, the length and the targets count, and what loaders will give is not known before. Sets that Lamina
draws itself are known by their names and options: their real numbers may differ in the last bit on another processor.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

from lamina._types import Tensor
from lamina.data.dataset import Dataset, Spec, Subset
from lamina.data.large import LargePart, LargeTable
from lamina.data.ragged import Ragged
from lamina.data.splits import Sealed, Split

VERSION = 2
"""That of version 1, in runs of Lamina 0.1, knows the targets and weights alone."""
WHOLE, EDGE = 2 * 2**30, 2**14
_SAID = {
    "names": "the names or types of columns or classes differ",
    "contents": "the contents differ",
    "parts": "they are divided into training, validation and test part otherwise",
}


def identity(split: Split) -> dict[str, Any]:
    """Give a short text each for the names, the contents and the division of data: equal ones for equal data.

    >>> from lamina.data.synthetic import blobs
    >>> one, other = identity(blobs(60).split()), identity(blobs(60).split(seed=1))
    >>> one["contents"] == other["contents"], one["parts"] == other["parts"]
    (True, False)
    """
    made = _made(split.origin)
    names, contents, parts = (hashlib.sha256() for _ in range(3))
    if made is not None:
        contents.update(made)
    seen: list[Any] = []
    for part in (split.train, split.validation, _behind(split.test)):
        while isinstance(part, Subset):
            _tell(parts, part.indices)
            part = part.dataset
        if isinstance(part, LargePart):
            _tell(parts, part.counts)
            part = part.table
        loaded = part.spec.kind == "batches"  # a loader would be read through only to be counted
        _tell(parts, f"|{'' if loaded else len(part)}|")
        if not any(part is other for other in seen):
            seen.append(part)
            _tell(names, json.dumps(_named(part.spec)))
            for piece in () if loaded else _contents(part):
                if made is None or not (isinstance(piece, Tensor) and piece.is_floating_point()):
                    _tell(contents, piece)
    found = {"names": names, "contents": contents, "parts": parts}
    return {"version": VERSION, **{name: each.hexdigest()[:16] for name, each in found.items()}}


def difference(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say in what two identities differ; "" when they do not."""
    return "; ".join(said for name, said in _SAID.items() if then.get(name) != now.get(name))


def _made(origin: Mapping[str, Any] | None) -> bytes | None:
    """Give name and options of data that Lamina makes itself; None for others."""
    from lamina.data.load import SETS

    if origin is None or origin.get("source") not in SETS:
        return None
    return json.dumps([origin["source"], origin.get("options", {})], sort_keys=True, default=str).encode()


def _behind(part: Any) -> Any:
    """Give the data of a part without opening it: a hash tells nothing about them."""
    return part._dataset if isinstance(part, Sealed) else part


def _named(spec: Spec) -> dict[str, Any]:
    """Give what a spec says about data; not where they lie, remarks, or what later versions of Lamina may add."""
    usual = {field.name: field.default for field in fields(Spec) if field.default is not MISSING}
    plain = {name: value for name, value in vars(spec).items() if usual.get(name, MISSING) != value}
    return {name: value for name, value in sorted(plain.items()) if name not in ("source", "notes")}


def _contents(data: Any) -> Iterator[Any]:
    """Give everything that a dataset holds, piece by piece."""
    if hasattr(data, "pictures"):
        yield from _files(lambda: ((picture.name, picture.path) for picture in data.pictures))
        yield data.targets
    elif isinstance(data, LargeTable):
        yield from _files(lambda: ((Path(path).name, Path(path)) for path in data.file.files))
    elif is_dataclass(data):
        for field in fields(data):
            yield from _values(getattr(data, field.name))
    else:
        targets = getattr(data, "targets", None)
        yield targets if isinstance(targets, Tensor) else ""


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, Ragged):
        yield from (value.values, value.starts)
    elif isinstance(value, Tensor | str | int | tuple):
        yield value
    elif isinstance(value, Dataset):
        yield json.dumps(_named(value.spec))
        yield from _contents(value)


def _files(files: Callable[[], Iterator[tuple[str, Path]]]) -> Iterator[Any]:
    """Give names, sizes and bytes of files, of which there may be millions."""
    whole = sum(path.stat().st_size for _, path in files()) <= WHOLE
    for name, path in files():
        size = path.stat().st_size
        yield f"{name}|{size}|"
        with open(path, "rb") as file:
            yield file.read(size if whole else EDGE)
            if not whole and size > EDGE:
                file.seek(max(EDGE, size - EDGE), os.SEEK_SET)
                yield file.read(EDGE)


def _tell(to: Any, piece: Any) -> None:
    if isinstance(piece, Tensor):
        to.update(f"|{piece.dtype}{tuple(piece.shape)}|".encode())
        to.update(piece.detach().cpu().contiguous().numpy())
    else:
        to.update(piece if isinstance(piece, bytes) else f"{piece!r}".encode())
