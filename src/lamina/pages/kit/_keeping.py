"""Files of visitors for as long as the server runs: what they upload, and the runs they train.

All of it lies in one temporary folder that only the user of this process may read, in one folder per visitor. Every
entry has a name that nobody can guess, so that whoever knows an address has been given it. A visitor's oldest entries
make room for new ones, and the whole folder is removed when the server closes. A server that was killed cannot do that:
the next one removes every folder whose server is gone, which it knows by a lock that the system gives back.
"""

import atexit
import contextlib
import hashlib
import os
import re
import secrets
import shutil
import tempfile
from pathlib import Path

from lamina._system import lock

MINE, MOST = 8, 60
"""How many entries of one visitor and of all visitors are kept."""
ZIP, REPORT = "run.zip", "report.html"
PREFIX, OWNED = "lamina-pages-", ".owned"
_NAME = re.compile(r"[\w-]{22}", re.ASCII)


def entry(root: str | Path, most: int = MINE, every: int = MOST) -> Path:
    """Make a new empty folder with a name that cannot be guessed; the oldest ones make room.

    Args:
        root: the folder of a visitor's entries; it is made when it is first needed.
        most: how many entries of the visitor are kept.
        every: how many entries of all visitors are kept; whoever has most of them gives up one.

    >>> with tempfile.TemporaryDirectory() as root:
    ...     len(entry(Path(root) / "visitor").name)
    22
    """
    home = Path(root)
    home.mkdir(mode=0o700, exist_ok=True)
    _make_room(_entries(home), most)
    shelf = (home.parent / OWNED).is_file()  # anywhere else the neighbors are not ours
    others = [_entries(other) for other in home.parent.iterdir() if other.is_dir()] if shelf else []
    while sum(map(len, others)) >= every:
        _make_room(largest := max(others, key=len), len(largest))
    made = home / secrets.token_urlsafe(16)
    made.mkdir(mode=0o700)
    return made


def _entries(home: Path) -> list[Path]:
    """Give the folders that `entry` has made, the oldest first; whatever else lies there is not ours."""
    found = [path for path in home.iterdir() if _NAME.fullmatch(path.name) and path.is_dir()]
    return sorted(found, key=lambda path: path.stat().st_mtime if path.exists() else 0.0)


def _make_room(present: list[Path], most: int) -> None:
    """Remove the oldest entries, so that one more fits."""
    while len(present) >= most:
        shutil.rmtree(present.pop(0), ignore_errors=True)


def visitor() -> str:
    """Say whose page this is, "" outside of a server."""
    import marimo as mo

    request = mo.app_meta().request
    return "" if request is None else str(request.meta.get("visitor", ""))


class Shelf:
    """The folders of visitors, in one folder whose name nobody can guess, made and locked when it is needed."""

    def __init__(self) -> None:
        self._name = f"{PREFIX}{secrets.token_urlsafe(16)}"
        self._handle: int | None = None
        atexit.register(self.clear)

    @property
    def root(self) -> Path:
        """The folder of all visitors."""
        root = Path(tempfile.gettempdir()) / self._name
        if self._handle is None or not root.is_dir():
            root.mkdir(mode=0o700, exist_ok=True)
            self._release()
            self._handle = os.open(root / OWNED, os.O_RDWR | os.O_CREAT, 0o600)
            with contextlib.suppress(OSError):  # a file system without locks: then nobody can tell who is gone
                lock(self._handle, wait=False)
        return root

    @property
    def mine(self) -> Path:
        """The folder of the visitor whose page this is."""
        return self.root / hashlib.sha256(f"{self._name} {visitor()}".encode()).hexdigest()[:16]

    def report(self, name: str) -> str | None:
        """Return the report of a run, None where there is none.

        Args:
            name: of the entry.
        """
        found = self._find(name, f"*/{REPORT}")
        return None if found is None else found.read_text(encoding="utf-8")

    def packed(self, name: str) -> Path | None:
        """Return the path of the packed run, None where there is none.

        Args:
            name: of the entry.
        """
        return self._find(name, ZIP)

    def _find(self, name: str, pattern: str) -> Path | None:
        if not _NAME.fullmatch(name):
            return None
        return next((path for path in self.root.glob(f"*/{name}/{pattern}") if path.is_file()), None)

    def _release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def clear(self) -> None:
        """Remove everything."""
        if self._handle is not None:
            self._release()
            shutil.rmtree(Path(tempfile.gettempdir()) / self._name, ignore_errors=True)


SHELF = Shelf()
"""The one shelf of this process."""


def sweep() -> list[str]:
    """Remove the shelves of servers that were killed; return their names."""
    gone = []
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if not _abandoned(folder):
            continue
        shutil.rmtree(folder, ignore_errors=True)
        gone.append(folder.name)
    return gone


def _abandoned(folder: Path) -> bool:
    """Say whether a shelf is ours and nobody has it locked."""
    try:
        if folder.is_symlink() or (hasattr(os, "getuid") and folder.stat().st_uid != os.getuid()):
            return False
        handle = os.open(folder / OWNED, os.O_RDWR)
    except FileNotFoundError:
        return folder.is_dir() and not (folder / OWNED).exists()
    except OSError:
        return False
    try:
        lock(handle, wait=False)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
