"""What a Parquet file says of itself, checked before polars believes it: its footer, and the headers of its pages.

Polars takes sizes and counts of a damaged file at their word, which may end the whole process. So the footer is read
once when a file is opened, and the headers of pages before their rows are read: places must lie in the file, counts
must agree, and what a page unpacks to must be what its compressed bytes say. That takes about 0.1 ms for each column of
each group of rows: 10 ms for a file of 150 MB, which polars reads in 250 ms. Values are not looked at.
"""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase, FileIO
from typing import Any

Bytes = FileIO | BufferedIOBase
"""What a file is read from."""

_MAGIC, _DEEPEST, _MOST_HEADER = b"PAR1", 32, 2**24
_WINDOW = 256
_PLAIN, _SNAPPY, _GZIP, _ZSTD = 0, 1, 2, 6
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
"""Bytes of a value of each physical type; byte arrays have any number."""
_FIXED = 7
_DATA, _INDEX, _DICTIONARY, _DATA_2 = range(4)


class DamagedError(ValueError):
    """A file contradicts itself."""


@dataclass(frozen=True)
class Chunk:
    """The pages of one column in one group of rows."""

    column: str
    start: int
    end: int
    values: int
    flat: bool
    codec: int
    width: int | None


@dataclass(frozen=True)
class Group:
    """Some rows: the first of them, how many they are, and their columns."""

    first: int
    rows: int
    chunks: tuple[Chunk, ...]


class Pages:
    """The groups and pages of a file.

    Args:
        opened: opens the file, each time that something of it is read.

    Raises:
        DamagedError: the footer contradicts itself or the file.
    """

    def __init__(self, opened: Callable[[], Bytes]) -> None:
        self._opened, self._seen = opened, set[tuple[int, int]]()
        with opened() as file:
            size = file.seek(0, os.SEEK_END)
            tail = _read(file, size - 8, 8) if size >= 12 else b""
            _agree(tail[4:] == _MAGIC == _read(file, 0, 4), "it does not begin and end as such a file")
            length = int.from_bytes(tail[:4], "little")
            _agree(length <= size - 12, "its footer is cut")
            content = _read(file, size - 8 - length, length)
        with _within("its footer"):
            self.groups = _groups(_struct(content, 0)[0], size - 8 - length)

    def check(self, first: int = 0, rows: int | None = None, columns: Collection[str] | None = None) -> None:
        """Check the pages that hold some rows of some columns, those that were not checked before.

        Args:
            first: of the rows.
            rows: how many; all that follow if it is None.
            columns: their names at the top; all if it is None.

        Raises:
            DamagedError: a page contradicts itself or the footer.
        """
        asked = [
            (number, chunk)
            for number, group in enumerate(self.groups)
            if group.first + group.rows > first and (rows is None or group.first < first + rows)
            for chunk in group.chunks
            if (columns is None or chunk.column in columns) and (number, chunk.start) not in self._seen
        ]
        if not asked:
            return
        with self._opened() as file:
            for number, chunk in asked:
                with _within(f"a page of the column {chunk.column!r}"):
                    _check(file, chunk)
                self._seen.add((number, chunk.start))


def _check(file: Bytes, chunk: Chunk) -> None:
    at, left = chunk.start, chunk.values
    while at < chunk.end:
        header, at = _header(file, at, chunk.end)
        kind, size, packed = (_int(header, place) for place in (1, 2, 3))
        _agree(0 <= packed <= chunk.end - at and size >= 0, "a page reaches beyond its column")
        count, beside = _count(header, kind)
        if chunk.codec == _PLAIN:
            _agree(size == packed, "a page that is not compressed has two sizes")
        elif kind in (_DATA, _DICTIONARY, _DATA_2) and packed > beside:
            said = _unpacks_to(_read(file, at + beside, min(18, packed - beside)),
                               _read(file, at + packed - 4, 4), chunk.codec)  # fmt: skip
            _agree(said is None or said == size - beside or _raw(header), "a page unpacks to another size")
        if kind in (_DATA, _DATA_2):
            left -= count
        if chunk.width is not None:  # two levels of four bytes and their lengths at most, and a dictionary's bits
            _agree(size <= count * (chunk.width + 16) + 4096, "a page is larger than its values")
        at += packed
    _agree(left == 0, "its pages hold another number of values")


def _read(file: Bytes, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)


def _header(file: Bytes, at: int, end: int) -> tuple[dict[int, Any], int]:
    window = _WINDOW
    while True:
        content = _read(file, at, min(window, end - at))
        try:
            header, used = _struct(content, 0)
            return header, at + used
        except IndexError:
            if window >= min(_MOST_HEADER, end - at):
                raise
        window *= 16


def _count(header: dict[int, Any], kind: int) -> tuple[int, int]:
    """Say how many values a page has, and how many bytes of levels stand before what is compressed."""
    if kind == _INDEX:
        return 0, 0
    place = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}.get(kind)
    _agree(place is not None, "a page is of no known kind")
    inner = header.get(place or 0)
    _agree(isinstance(inner, dict), "a page lacks its number of values")
    count, beside = _int(inner, 1), 0
    if kind == _DATA_2:
        nulls, rows, first, second = (_int(inner, each) for each in (2, 3, 5, 6))
        _agree(min(nulls, rows, first, second) >= 0 and max(nulls, rows) <= count, "a page counts wrongly")
        beside = first + second
        _agree(beside <= min(_int(header, 2), _int(header, 3)), "the levels of a page are longer than the page")
    _agree(count >= 0, "a page counts wrongly")
    return count, beside


def _raw(header: dict[int, Any]) -> bool:
    """Say whether a page of the second kind is not compressed though its column is."""
    inner = header.get(8)
    return isinstance(inner, dict) and inner.get(7) is False


def _unpacks_to(head: bytes, tail: bytes, codec: int) -> int | None:
    """Read from compressed bytes what they unpack to; None where they do not say it."""
    if codec == _SNAPPY:
        return _varint(head, 0)[0]
    if codec == _GZIP and head[:2] == b"\x1f\x8b":
        return int.from_bytes(tail, "little")
    if codec == _ZSTD:
        _agree(head[:4] == b"\x28\xb5\x2f\xfd", "a page is not compressed as its column is")
        flags = head[4]
        at = 5 + (not flags & 32) + (0, 1, 2, 4)[flags & 3]
        width = (1 if flags & 32 else 0, 2, 4, 8)[flags >> 6]
        if width and len(head) >= at + width:
            return int.from_bytes(head[at : at + width], "little") + 256 * (width == 2)
    return None


def _groups(footer: dict[int, Any], end: int) -> tuple[Group, ...]:
    leaves = list(_leaves(_list(footer, 2)))
    groups, first = [], 0
    for each in _list(footer, 4):
        rows, columns = _int(each, 3), _list(each, 1)
        _agree(rows >= 0 and len(columns) == len(leaves), "a group of rows has other columns")
        chunks = tuple(_chunk(column, leaf, rows, end) for column, leaf in zip(columns, leaves, strict=True))
        groups.append(Group(first, rows, chunks))
        first += rows
    _agree(_int(footer, 3) == first, "it counts its rows wrongly")
    return tuple(groups)


def _chunk(column: Any, leaf: tuple[str, int, int, bool], rows: int, end: int) -> Chunk:
    name, kind, width, flat = leaf
    about = column.get(3) if isinstance(column, dict) else None
    _agree(isinstance(about, dict), "a column has no place")
    assert isinstance(about, dict)
    values, packed, first = (_int(about, place) for place in (5, 7, 9))
    start = min(first, _int(about, 11, first) or first)  # some writers say 0 where there is no dictionary
    _agree(_int(about, 1) == kind and 0 <= _int(about, 4) <= 7, "a column is of another type")
    _agree(4 <= start and 0 <= packed <= end - start, "a column lies outside of the file")
    _agree(values >= 0 and (not flat or values == rows), "a column has another number of values")
    fixed = {**_WIDTHS, _FIXED: width}.get(kind)
    return Chunk(name, start, start + packed, values, flat, _int(about, 4), fixed)


def _leaves(schema: list[Any]) -> Iterator[tuple[str, int, int, bool]]:
    """Give the columns that hold values: the name at the top, type, width, and whether each row has one value."""
    _agree(bool(schema), "it has no columns")
    waiting = [(_int(schema[0], 5, 0), "", True)]  # children that are still to come, of which top, each row one value
    for element in schema[1:]:
        while waiting and not waiting[-1][0]:
            waiting.pop()
        _agree(bool(waiting) and len(waiting) <= _DEEPEST, "its columns are nested wrongly")
        count, top, flat = waiting.pop()
        waiting.append((count - 1, top, flat))
        name, children = element.get(4), _int(element, 5, 0)
        _agree(isinstance(name, bytes) and children >= 0, "a column has no name")
        top = top or name.decode(errors="replace")
        flat = flat and _int(element, 3, 0) != 2
        if children:
            waiting.append((children, top, flat))
            continue
        kind, width = _int(element, 1), _int(element, 2, 0)
        _agree(0 <= kind <= _FIXED and (kind != _FIXED or 0 < width <= 2**20), "a column is of no known type")
        yield top, kind, width, flat
    _agree(all(not count for count, _, _ in waiting), "its columns are nested wrongly")


# Thrift's compact protocol: a structure is a dictionary by the numbers of its fields


def _struct(data: bytes, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    if depth > _DEEPEST:
        raise DamagedError("it is nested too deeply")
    found: dict[int, Any] = {}
    field = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            field += head >> 4
        else:
            number, at = _varint(data, at)
            field = (number >> 1) ^ -(number & 1)
        found[field], at = _value(data, at, head & 15, depth)
    return found, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2):
        return kind == 1, at
    if kind in (4, 5, 6):
        number, at = _varint(data, at)
        return (number >> 1) ^ -(number & 1), at
    if kind == 8:
        size, at = _varint(data, at)
        if size > len(data) - at:
            raise IndexError
        return data[at : at + size], at + size
    if kind == 12:
        return _struct(data, at, depth + 1)
    if kind in (9, 10):
        head = data[at]
        size, at = (head >> 4, at + 1) if head < 240 else _varint(data, at + 1)
        if size > len(data) - at:
            raise IndexError
        values = []
        for _ in range(size):
            value, at = (data[at] == 1, at + 1) if head & 15 in (1, 2) else _value(data, at, head & 15, depth + 1)
            values.append(value)
        return values, at
    if kind in (3, 7):
        size = 1 if kind == 3 else 8
        if size > len(data) - at:
            raise IndexError
        return data[at : at + size], at + size
    raise DamagedError("it holds what no such file holds")  # maps, too, are not in this format


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (2**64 - 1), at
        shift += 7
        if shift > 63:
            raise DamagedError("it holds a number of more than 64 bits")


def _int(struct: Any, place: int, otherwise: int | None = None) -> int:
    value = struct.get(place, otherwise) if isinstance(struct, dict) else None
    if type(value) is not int:
        raise DamagedError("a number is missing")
    return value


def _list(struct: Any, place: int) -> list[Any]:
    value = struct.get(place) if isinstance(struct, dict) else None
    if not isinstance(value, list):
        raise DamagedError("a list is missing")
    return value


def _agree(good: bool, otherwise: str) -> None:
    if not good:
        raise DamagedError(otherwise)


@contextmanager
def _within(what: str) -> Iterator[None]:
    """Say that something ends in the middle, where bytes are missing."""
    try:
        yield
    except IndexError:
        raise DamagedError(f"{what} ends in the middle") from None
