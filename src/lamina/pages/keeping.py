"""Files of visitors for as long as the server runs: what they upload, and the runs they train.

All of it lies in one temporary folder that only the user of this process may read. Every entry has a name that nobody
can guess, so that whoever knows an address has been given it. The oldest entries make room for new ones, and the whole
folder is removed when the server closes.
"""

import re
import secrets
import shutil
import tempfile
import threading
from pathlib import Path

MOST = 60
"""How many entries are kept."""
ZIP, REPORT = "run.zip", "report.html"
_NAME = re.compile(r"[\w-]{22}", re.ASCII)


def entry(root: str | Path) -> Path:
    """Make a new empty folder with a name that cannot be guessed.

    >>> with tempfile.TemporaryDirectory() as root:
    ...     len(entry(root).name)
    22
    """
    made = Path(root) / secrets.token_urlsafe(16)
    made.mkdir(mode=0o700)
    return made


class Shelf:
    """The folders of visitors, in one folder that is made when it is first needed.

    Args:
        most: how many entries are kept.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._root: Path | None = None
        self._lock = threading.Lock()

    @property
    def root(self) -> Path:
        """The folder of all entries; the oldest ones are removed when there are too many."""
        with self._lock:
            if self._root is None:
                self._root = Path(tempfile.mkdtemp(prefix="lamina-pages-"))
            entries = sorted(self._root.iterdir(), key=lambda path: path.stat().st_mtime)
            for old in entries[: max(0, len(entries) - self._most)]:
                shutil.rmtree(old, ignore_errors=True)
            return self._root

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
        if self._root is None or not _NAME.fullmatch(name):
            return None
        return next((path for path in (self._root / name).glob(pattern) if path.is_file()), None)

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            root, self._root = self._root, None
        if root is not None:
            shutil.rmtree(root, ignore_errors=True)


SHELF = Shelf()
"""The one shelf of this process."""
