"""Paths of files that a user names: how messages write them, and which of them would never end."""

import os
import stat
from pathlib import Path
from typing import Any

from lamina._errors import DataError, brief


def shown(what: Any) -> str:
    """Write a path as messages name it; bytes come from a pipe, and anything else is a table that a program holds.

    >>> shown("rows.csv"), shown([{"a": 1}]), shown(b"a,b")
    ('`rows.csv`', 'the table', 'standard input')
    """
    if isinstance(what, bytes):
        return "standard input"
    return f"`{Path(what).as_posix()}`" if isinstance(what, str | Path) else "the table"


def no_odd_name(path: str | Path) -> None:
    r"""Refuse a path that a run could not write down: one with a zero byte, or with bytes that are not UTF-8.

    >>> no_odd_name("caf\udce9.csv")
    Traceback (most recent call last):
    lamina._errors.DataError: the name 'caf\udce9.csv' is not UTF-8, as records of runs are: rename the file or folder.
    """
    name = str(path)
    if "\0" in name:
        raise DataError(f"a path has no zero bytes, got {brief(name)}: correct it.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DataError(f"the name {name!r} is not UTF-8, as records of runs are: rename the file or folder.") from None


def no_pipe(path: str | Path) -> None:
    """Refuse a pipe that has a name, to which nobody may ever write, and a device such as /dev/zero, which never ends.

    What a shell makes of <(command) is a pipe of /dev, and has an end.
    """
    mode = os.stat(path).st_mode
    named = stat.S_ISFIFO(mode) and not str(path).startswith(("/dev/", "/proc/"))
    device = stat.S_ISCHR(mode) and not os.path.samestat(os.stat(path), os.stat(os.devnull))
    if named or device or stat.S_ISBLK(mode):
        kind = "pipe" if named else "device"
        raise DataError(
            f"{shown(path)} is a {kind}, which may never end: write its content into a file, and give that."
        )
