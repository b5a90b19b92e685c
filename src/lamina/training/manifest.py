"""What was written into a folder: the digest of every file, so that damage is noticed by whoever reads.

`manifest.jsonl` only grows. A file is announced there with its digest, then put in its place at once, then noted as
written: a kill at any moment leaves the old file or the new one, and both are known. A file that grows by lines
(.jsonl) is noted from time to time, with its length: that much of it must be as it was, and each line behind it has a
checksum of its own. Writing costs one short append more a file, reading one SHA-256.
"""

import contextlib
import time
from pathlib import Path
from typing import Any, NamedTuple

from lamina import _system
from lamina._errors import RunError
from lamina.training.files import cannot_write, digest, own, read, write
from lamina.training.lines import append_lines, complete, read_line

NAME = "manifest.jsonl"
_TRIES, _PAUSE = 3, 0.05
_SUFFIXES = (".toml", ".json", ".jsonl", ".safetensors")


class Seal(NamedTuple):
    """What a file was when it was written: its digest and how many bytes it had."""

    digest: str
    size: int

    @classmethod
    def of(cls, content: bytes) -> "Seal":
        """Seal some bytes."""
        return cls(digest(content), len(content))


class Manifest:
    """Write and read files of a folder with their digests.

    Args:
        folder: where they lie.
        kind: what the folder holds, for sentences.
    """

    def __init__(self, folder: Path, kind: str = "run") -> None:
        self.folder, self.kind, self.path = folder, kind, folder / NAME
        self._written: frozenset[str] = frozenset()

    @property
    def exists(self) -> bool:
        """Whether there is one; folders of Lamina 0.1 have none."""
        return self.path.is_file()

    def seals(self, damaged: list[int] | None = None) -> dict[str, list[Seal]]:
        """Give what each file may be: as it was written last, or as somebody announced who may have been killed.

        Args:
            damaged: gets the numbers of damaged lines, which are an error otherwise.
        """
        try:
            content = read(self.path)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise RunError(f"{self.path} cannot be read ({error}): restore it from a copy.") from error
        written: dict[str, Seal] = {}
        announced: dict[str, list[Seal]] = {}
        for number, line in enumerate(complete(content), 1):
            entry = read_line(line)
            try:
                name, state, seal = entry["file"], entry["state"], Seal(entry["digest"], entry["bytes"])  # type: ignore[index]
            except (TypeError, KeyError):
                if damaged is None:
                    raise RunError(
                        f"{self.path} is damaged in line {number}: the digests of files are lost, not the files. Run  "
                        f"lamina repair {self.folder}"
                    ) from None
                damaged.append(number)
                continue
            if state == "announced":
                announced.setdefault(name, []).append(seal)
                continue
            announced[name] = [each for each in announced.get(name, ()) if each != seal]
            if state == "gone":
                written.pop(name, None)
                announced.pop(name, None)
            else:
                written[name] = seal
        self._written = frozenset(written)
        return {
            name: [*([written[name]] if name in written else []), *announced.get(name, ())]
            for name in {**written, **announced}
            if name in written or announced.get(name)
        }

    def expects(self, name: str) -> bool:
        """Say whether a file must be there: it was written, not only announced."""
        return name in self.seals() and name in self._written

    def write(self, name: str, content: bytes) -> None:
        """Write a file so that every reader, also after a kill, meets a whole one that the manifest knows.

        A folder of Lamina 0.1 has no manifest and gets none: its other files would not be in it.
        """
        if not self.exists and any(path.suffix in _SUFFIXES for path in self.folder.iterdir()):
            write(self.folder / name, content)
            return
        seal = Seal.of(content)
        self.note((name, "announced", seal))
        write(self.folder / name, content)
        self.note((name, "written", seal), sync=False)

    def note(self, *entries: tuple[str, str, Seal], sync: bool = True) -> None:
        """Append entries: file, state ("announced", "written" or "gone") and seal."""
        rows = [{"file": name, "state": state, "digest": s.digest, "bytes": s.size} for name, state, s in entries]
        try:
            own(self.path)
            with open(self.path, "ab") as guard:  # several may write reports at once
                with contextlib.suppress(OSError):
                    _system.lock(guard.fileno())
                append_lines(self.path, rows, sync=sync)
                with contextlib.suppress(OSError):
                    _system.unlock(guard.fileno())
        except OSError as error:
            raise RunError(cannot_write(self.path, error)) from error

    def take(self, *names: str) -> None:
        """Note files as they are now: those that grew, or that somebody changed on purpose."""
        self.note(*((name, "written", Seal.of(read(self.folder / name))) for name in names))

    def forget(self, *names: str) -> None:
        """Note that files are gone."""
        self.note(*((name, "gone", Seal("", 0)) for name in names))

    def read(self, name: str) -> bytes:
        """Read a file that must be what was written.

        Raises:
            FileNotFoundError: there is none, and there need be none.
            RunError: it is damaged, or missing although it was written.
        """
        why = ""
        for turn in range(_TRIES):  # somebody may be writing a new one just now
            time.sleep(_PAUSE if turn else 0)
            seals = self.seals().get(name)
            try:
                content = read(self.folder / name)
            except FileNotFoundError:
                if name not in self._written:
                    raise
                why = "is missing"
            except OSError as error:
                raise RunError(f"{self.folder / name} cannot be read ({error}): restore it from a copy.") from error
            else:
                if not self.exists or fits(name, content, seals):
                    return content
                why = f"is damaged: it is not what the {self.kind} wrote"
        raise RunError(f"{self.folder / name} {why}. {self._way_out(name)}")

    def _way_out(self, name: str) -> str:
        lost = _LOST.get(name, "")
        return f"{lost and f'It says {lost}. '}Restore it from a copy, or run  lamina repair {self.folder}"


def fits(name: str, content: bytes, seals: list[Seal] | None) -> bool:
    """Say whether a file is what one of its seals says; one that grows by lines may be longer."""
    grows = name.endswith(".jsonl")
    if seals is None:
        return grows
    return any(Seal.of(content[: seal.size] if grows else content) == seal for seal in seals)


_LOST: dict[str, Any] = {
    "config.toml": "what was trained, on which data and how",
    "preprocess.json": "how inputs are prepared",
    "environment.json": "how the run was computed",
    "status.json": "how the run ended",
    "history.jsonl": "what every check found",
    "timings.jsonl": "how long the run took",
    "weights.safetensors": "the best weights",
    "evaluation.json": "what the test split said",
    "scores.safetensors": "how far the network is from the truth on the validation part",
    "study.toml": "what is searched, on which data and how",
}
