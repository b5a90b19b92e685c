r"""Files that grow by lines: a JSON object each, whose last entry is a checksum of what stands before it in the line.

A crash may cut the last line short: who reads passes over what has no line end, who appends cuts it off first. Any
other damage is noticed in its line. Lines of Lamina 0.1 have no checksum.
"""

import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lamina._errors import RunError
from lamina.training.files import cannot_write, finite, own

Row = dict[str, Any]
_MARK = ', "crc": "'
_TAIL = len(_MARK) + 8 + len('"}')


def as_line(row: Row) -> str:
    r"""Write an object that is not empty as one line with a checksum; NaN and infinity become null.

    >>> as_line({"loss": 0.5})
    '{"loss": 0.5, "crc": "3fbba076"}\n'
    """
    text = json.dumps(finite(row))[:-1]
    return f'{text}{_MARK}{zlib.crc32(text.encode()):08x}"}}\n'


def read_line(line: bytes) -> Row | None:
    """Read one line, with or without a checksum; None if it is damaged.

    >>> read_line(as_line({"loss": 0.5}).encode()), read_line(b'{"loss": 0.6, "crc": "3fbba076"}')
    ({'loss': 0.5}, None)
    """
    line = line.rstrip(b"\n")
    try:
        row = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    crc = row.pop("crc", None)
    if crc is None:
        return row
    return row if line[-_TAIL:] == f'{_MARK}{zlib.crc32(line[:-_TAIL]):08x}"}}'.encode() else None


def read_lines(content: bytes, path: Path, way_out: str) -> list[Row]:
    """Read all complete lines of a file, or say which one is damaged.

    Args:
        content: of the file.
        path: how the sentence calls it.
        way_out: what can be done about damage, for the sentence.
    """
    rows: list[Row] = []
    for number, row in enumerate(map(read_line, complete(content)), 1):
        if row is None:
            raise RunError(f"{path} is damaged in line {number}: {way_out}.")
        rows.append(row)
    return rows


def complete(content: bytes) -> Iterator[bytes]:
    """Give the lines that have an end."""
    start = 0
    while (end := content.find(b"\n", start)) >= 0:
        yield content[start:end]
        start = end + 1


def append_lines(path: Path, rows: Iterable[Row], *, sync: bool = True) -> None:
    """Append objects to a file; what a crash left of a last line is cut off before."""
    content = "".join(map(as_line, rows)).encode()
    try:
        own(path)
        with open(path, "ab+") as file:
            if file.tell():
                _cut(file)
            file.write(content)
            file.flush()
            if sync:
                os.fsync(file.fileno())
    except OSError as error:
        raise RunError(cannot_write(path, error)) from error


def _cut(file: Any) -> None:
    file.seek(-1, os.SEEK_END)
    if file.read(1) == b"\n":
        return
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)
    file.seek(0, os.SEEK_END)
