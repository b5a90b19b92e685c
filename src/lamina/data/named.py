"""Named pictures in their official file formats: MNIST and Fashion-MNIST (IDX), CIFAR-10 (binary batches).

They lie in memory as bytes. The official test set stays the test part of a split; the validation part is taken from
the official training set, one sixth of it unless the ratios say otherwise.
"""

import math
import struct
import zlib
from collections.abc import Mapping

import numpy as np
import torch

from lamina._errors import DataError, choice
from lamina._types import Tensor
from lamina.data.dataset import ArrayDataset, Spec
from lamina.data.store import Found, _require

CLASSES = {
    "mnist": tuple("0123456789"),
    "fashion-mnist": (
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    ),
    "cifar10": ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
}
_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_MOST = 2**28  # bytes that one IDX file may hold; those of MNIST have 47 million


def load_named(name: str) -> ArrayDataset:
    """Load a named data set from `LAMINA_DATA` or the user's cache, verified.

    Notes: N2.57, N3.58, N4.29 (§2.4, §3, §4.1).
    Corrects: E77, MNIST's pictures are gray, not black and white.

    Args:
        name: "mnist", "fashion-mnist" or "cifar10".

    Returns:
        The official training set, with the official test set as its `official_test`.

    >>> load_named("minst")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `name` must be one of 'mnist', ..., got 'minst'. Did you mean 'mnist'?
    """
    choice("name", name, CLASSES)
    found = _require(name)
    train, test = _cifar(found) if found.named.archive is not None else _idx_pairs(found)
    note = f"{found.named.title}; the second number is the official test set."
    classes = CLASSES[name]
    shape = tuple(train[0].shape[1:])
    spec = Spec("image", "classification", shape, len(classes), classes=classes, source=name, notes=(note,))
    return ArrayDataset(*train, spec, official_test=ArrayDataset(*test, spec))


def _read_idx(data: bytes, name: str) -> np.ndarray:
    """Parse the content of an IDX file, gzipped or not.

    The format: two zero bytes, a type, the number of axes, their lengths as 32-bit big-endian numbers, the values.
    """
    if data[:2] == b"\x1f\x8b":
        data = _inflated(data, name)
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _TYPES:
        raise DataError(
            f"`{name}` is not an IDX file: it begins with {data[:4].hex(' ') or 'nothing'}, not 00 00 08 ..."
        )
    kind, axes = np.dtype(_TYPES[data[2]]), data[3]
    if axes == 0 or len(data) < 4 + 4 * axes:
        raise DataError(f"`{name}` is cut off within its head of {axes} axes ({len(data)} bytes): get it again.")
    shape = struct.unpack(f">{axes}I", data[4 : 4 + 4 * axes])
    claimed, there = math.prod(shape) * kind.itemsize, len(data) - 4 - 4 * axes
    if there != claimed:
        what = "is cut off" if there < claimed else "is too long"
        raise DataError(f"`{name}` {what}: its head says {shape}, {claimed:,} bytes, got {there:,}: get it again.")
    return np.frombuffer(data, kind, offset=4 + 4 * axes).reshape(shape)


def _read_cifar_batch(data: bytes, name: str, classes: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Parse a binary CIFAR-10 batch: records of a label byte and 3 x 32 x 32 color bytes."""
    if not data or len(data) % 3073:
        raise DataError(f"`{name}` is cut off: a batch has 3,073 bytes per picture, got {len(data):,}: get it again.")
    records = np.frombuffer(data, np.uint8).reshape(-1, 3073)
    _check_labels(records[:, 0], classes, name)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]


def _inflated(data: bytes, name: str) -> bytes:
    """Unpack gzip, but not more than the head of the file says, nor than a plausible file holds."""
    unpack = zlib.decompressobj(wbits=31)
    try:
        head = unpack.decompress(data, 4 + 4 * 255)
        claimed = min(_MOST, _claimed(head))
        out = head + unpack.decompress(unpack.unconsumed_tail, max(1, claimed + 1 - len(head)))
    except zlib.error as error:
        raise DataError(f"`{name}` is damaged ({error}): get it again.") from error
    if unpack.unconsumed_tail or len(out) > claimed:
        raise DataError(f"`{name}` unpacks to more than {claimed:,} bytes, as a decompression bomb does: get it again.")
    if not unpack.eof:
        raise DataError(f"`{name}` is cut off within its gzip stream: get it again.")
    return out


def _claimed(head: bytes) -> int:
    """Give how many bytes an IDX file has by its head; what has none is unpacked as far as a plausible file goes."""
    if len(head) < 4 or head[2] not in _TYPES or len(head) < 4 + 4 * head[3]:
        return _MOST
    shape = struct.unpack(f">{head[3]}I", head[4 : 4 + 4 * head[3]])
    return 4 + 4 * head[3] + math.prod(shape) * np.dtype(_TYPES[head[2]]).itemsize


def _check_labels(labels: np.ndarray, classes: int, name: str) -> None:
    if len(labels) and labels.max() >= classes:
        raise DataError(f"`{name}` has the label {labels.max()}: labels must be in [0, {classes}).")


def _idx_pairs(found: Found) -> list[tuple[Tensor, Tensor]]:
    parts = {name: _read_idx(data, name) for name, data in found.contents()}
    return [_idx_pair(parts, which) for which in ("train", "t10k")]


def _idx_pair(parts: Mapping[str, np.ndarray], which: str) -> tuple[Tensor, Tensor]:
    names = f"{which}-images-idx3-ubyte.gz", f"{which}-labels-idx1-ubyte.gz"
    images, labels = (parts[name] for name in names)
    if images.ndim != 3 or images.dtype != np.uint8 or labels.ndim != 1 or len(images) != len(labels):
        raise DataError(
            f"`{names[0]}` {images.shape} and `{names[1]}` {labels.shape} are not pictures and their labels."
        )
    _check_labels(labels, 10, names[1])
    return torch.tensor(images).unsqueeze(1), torch.tensor(labels.astype(np.int64))


def _cifar(found: Found) -> list[tuple[Tensor, Tensor]]:
    batches = {}
    for name, data in found.contents():
        images, labels = _read_cifar_batch(data, name)
        batches[name] = torch.tensor(images), torch.tensor(labels.astype(np.int64))
    names = [file.name for file in found.named.files]
    train = [batches.pop(name) for name in names if name.startswith("data")]
    inputs, targets = (torch.cat(part) for part in zip(*train, strict=True))
    return [(inputs, targets), batches["test_batch.bin"]]
