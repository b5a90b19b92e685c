"""Paths of files that a user names: how messages write them, and which of them would never end."""

import os
import stat
from pathlib import Path
from typing import Any

from lamina._errors import DataError


def shown(what: Any) -> str:
    """Write a path as messages name it; bytes come from a pipe, and anything else is a table that a program holds.

    >>> shown("rows.csv"), shown([{"a": 1}]), shown(b"a,b")
    ('`rows.csv`', 'the table', 'standard input')
    """
    if isinstance(what, bytes):
        return "standard input"
    return f"`{Path(what).as_posix()}`" if isinstance(what, str | Path) else "the table"


def no_pipe(path: str | Path) -> None:
    """Refuse a pipe that has a name: nobody may ever write to it. What a shell makes of <(command) is one of /dev."""
    if stat.S_ISFIFO(os.stat(path).st_mode) and not str(path).startswith(("/dev/", "/proc/")):
        raise DataError(f"{shown(path)} is a pipe, which may never end: write its content into a file, and give that.")
