"""The folder of a study: what lies where.

study.toml            space, sampler, network, data, recipe: everything needed to go on
journal.jsonl         one line per event; with parts journal-2-of-4.jsonl, and so on
kept/                 the weights of the best configuration of each process so far
best/                 the best configuration: an ordinary run folder
report.html
"""

import re
from pathlib import Path
from typing import Any

from lamina._errors import ArgumentError, RunError
from lamina._system import refused
from lamina.training.files import as_toml, numbered, parse_toml
from lamina.training.manifest import Manifest

VERSION = 2
"""Folders of version 1, of Lamina 0.1, have no manifest."""
NAME = "study.toml"


class _StudyFolder:
    """Find and make the files of one study."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.manifest = Manifest(self.path, "study")

    @classmethod
    def create(cls, path: str | Path, description: dict[str, Any], *, join: bool = False) -> "_StudyFolder":
        """Make the folder of a study; another study of the same name gets the next number."""
        base = Path(path)
        if why := refused(base):
            raise RunError(f"cannot make the study folder {base}: {why}. Choose another with --folder.")
        content = (as_toml({"version": VERSION, **description}) + "\n").encode()
        for number in range(1, 100_000):
            home = cls(base if number == 1 else numbered(base, number))
            try:
                home.path.mkdir(parents=True)
            except FileExistsError:
                if join:
                    return home._join(content)
                continue
            except OSError as error:
                raise RunError(
                    f"cannot make the study folder {home.path}: {error.strerror}. Choose another with --folder."
                ) from error
            home.manifest.write(NAME, content)
            return home
        raise RunError(f"there are too many studies named {base}: choose another name with --folder.")

    def _join(self, content: bytes) -> "_StudyFolder":
        """Enter a folder that another part has made, or is just making."""
        file = self.path / NAME
        if not file.is_file():
            self.manifest.write(NAME, content)  # of equal content, whoever comes first
        if file.read_bytes() != content:
            raise RunError(
                f"{self.path} holds another study: all parts of a study must be started with the same command. "
                "Choose another folder with --folder."
            )
        return self

    @classmethod
    def open(cls, path: str | Path) -> "_StudyFolder":
        """Open the folder of an existing study."""
        home = cls(path)
        if not home.path.is_dir():
            raise RunError(f"{path} is not a folder: give the folder of a study, such as studies/fnn-digits.")
        if not home.is_study:
            raise RunError(f"{path} is not the folder of a study: it has no {NAME}.")
        return home

    @property
    def is_study(self) -> bool:
        """Say whether there is a study in it."""
        return (self.path / NAME).is_file()

    def description(self) -> dict[str, Any]:
        """Read what the study is."""
        content = self.manifest.read(NAME)
        values = parse_toml(content, self.path / NAME, VERSION, "restore it from a copy")
        if not self.manifest.exists and values.get("version", 0) > 1:
            raise RunError(
                f"{self.manifest.path} is missing: the digests of files are lost, not the files. Run  "
                f"lamina repair {self.path}"
            )
        return values

    def journal(self, part: "Part | None" = None) -> Path:
        """Name the journal of the whole study, or of a part."""
        return self.path / ("journal.jsonl" if part is None else f"journal-{part.number}-of-{part.count}.jsonl")

    def journals(self) -> list[Path]:
        """List all journals that are there."""
        return sorted(self.path.glob("journal*.jsonl"))

    def check_journals(self) -> None:
        """Refuse journals that have lost what they held when a search ended; each line has a checksum of its own."""
        for name in self.manifest.seals() if self.manifest.exists else ():
            if name.startswith("journal"):
                self.manifest.read(name)

    def seal(self, *journals: Path) -> None:
        """Note how long journals are, so that a line that is gone is missed; studies of Lamina 0.1 have no manifest."""
        if self.manifest.exists:
            self.manifest.take(*(path.name for path in journals if path.is_file()))


class Part:
    """One of several equal parts of a study, which share nothing but the folder.

    >>> part = Part.read("2/4")
    >>> [number for number in range(10) if part.has(number)], str(part)
    ([1, 5, 9], '2/4')
    """

    def __init__(self, number: int, count: int) -> None:
        if not 1 <= number <= count:
            raise ArgumentError(f"`part` must be from 1/{count} to {count}/{count}, got {number}/{count}.")
        self.number, self.count = number, count

    @classmethod
    def read(cls, text: str) -> "Part":
        """Read "i/n"."""
        if not re.fullmatch(r"\d+/\d+", text.strip()) or text.strip().endswith("/0"):
            raise ArgumentError(f"`part` must be i/n, such as 2/4, got {text!r}.")
        number, count = map(int, text.split("/"))
        return cls(number, count)

    def has(self, trial: int) -> bool:
        """Say whether a trial belongs to this part: every n-th does, so that all kinds are in each part."""
        return trial % self.count == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"
