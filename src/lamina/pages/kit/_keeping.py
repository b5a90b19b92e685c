"""Files of visitors for as long as the server runs: what they upload, and the runs they train.

All of it lies in one temporary folder that only the user of this process may read. Every entry has a name that nobody
can guess, so that whoever knows an address has been given it. The oldest entries make room for new ones, and the whole
folder is removed when the server closes.
"""

import atexit
import re
import secrets
import shutil
import tempfile
from pathlib import Path

MOST = 60
"""How many entries are kept."""
ZIP, REPORT = "run.zip", "report.html"
_NAME = re.compile(r"[\w-]{22}", re.ASCII)


def entry(root: str | Path, most: int = MOST) -> Path:
    """Make a new empty folder with a name that cannot be guessed; the oldest ones make room.

    Args:
        root: the folder of all entries; it is made when it is first needed.
        most: how many entries are kept.

    >>> with tempfile.TemporaryDirectory() as root:
    ...     len(entry(root).name)
    22
    """
    home = Path(root)
    home.mkdir(mode=0o700, exist_ok=True)
    present = sorted(home.iterdir(), key=lambda path: path.stat().st_mtime)
    for old in present[: max(0, len(present) - most + 1)]:
        shutil.rmtree(old, ignore_errors=True)
    made = home / secrets.token_urlsafe(16)
    made.mkdir(mode=0o700)
    return made


class Shelf:
    """The folders of visitors, in one folder whose name nobody can guess; `entry` makes it when it is needed."""

    def __init__(self) -> None:
        self._name = f"lamina-pages-{secrets.token_urlsafe(16)}"
        atexit.register(self.clear)

    @property
    def root(self) -> Path:
        """The folder of all entries, which need not exist yet."""
        return Path(tempfile.gettempdir()) / self._name

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
        return next((path for path in (self.root / name).glob(pattern) if path.is_file()), None)

    def clear(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.root, ignore_errors=True)


SHELF = Shelf()
"""The one shelf of this process."""
