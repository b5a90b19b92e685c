"""Look at every file of a run or study, bring back what checkpoints hold, and say what is lost and what can be done."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lamina._errors import ArgumentError, RunError
from lamina.training import checkpoint
from lamina.training.encoding import encode
from lamina.training.files import as_json, write
from lamina.training.lines import as_line, complete, read_line
from lamina.training.lock import only_writer
from lamina.training.manifest import _LOST, NAME, Manifest, Seal, fits

WHOLE, RESTORED, SHORTENED, TAKEN, REMOVED, LOST = "whole", "restored", "shortened", "taken", "removed", "lost"
_ENDED = {"state": "interrupted", "sentence": "the record of how the run ended was damaged"}
_AGAIN = {
    "evaluation.json": "`lamina evaluate` opens the test split again",
    "scores.safetensors": "they are measured again when they are needed",
    "environment.json": "a resume takes the device and the threads of this machine",
    "report.html": "`lamina report` writes it again",
    "report.md": "`lamina report` writes it again",
    "rates.json": "`lamina tune` writes it again",
    "tracking.json": "trackers begin a new record",
}


class Finding(NamedTuple):
    """What became of a file: its name, one of the words above, and a sentence."""

    file: str
    state: str
    sentence: str


def repair(folder: str | Path, accept: Collection[str] = ()) -> list[Finding]:
    """Check every file of a run or a study against its digest and mend what can be mended.

    A damaged file is kept beside the mended one as NAME.damaged.

    Args:
        folder: of the run or the study.
        accept: files that somebody changed on purpose, which are right as they are.

    Returns:
        A finding for each file.

    Raises:
        RunError: it is no such folder, or somebody writes to it.
    """
    path = Path(folder)
    kind = "study" if (path / "study.toml").is_file() else "run"
    manifest = Manifest(path, kind)
    if not path.is_dir() or not (manifest.exists or (path / "config.toml").is_file() or kind == "study"):
        raise RunError(f"{folder} is not the folder of a run or a study: it has neither config.toml nor study.toml.")
    for name in accept:
        if not (path / name).is_file():
            raise ArgumentError(f"`accept` names {name!r}, which is not a file in {folder}.")
    with only_writer(path, kind):
        return _Repair(manifest, frozenset(accept)).all()


class _Repair:
    """One look at a folder."""

    def __init__(self, manifest: Manifest, accept: frozenset[str]) -> None:
        self.manifest, self.folder, self.accept = manifest, manifest.folder, accept
        self.damaged: list[int] = []
        self.unknown = not manifest.exists
        self.seals = manifest.seals(self.damaged)
        self.expected = manifest._written
        self.kept: dict[str, Seal] = {}
        self.tensors, self.plain, self.checkpoints = self._checkpoints()

    def all(self) -> list[Finding]:
        """Look at all files, then write down what they are now."""
        here = {path.name for path in self.folder.iterdir() if path.is_file()}
        known = {name for name in here if name in _LOST or name in _AGAIN or name.endswith(".jsonl")} - {NAME}
        known |= {name for name in self.seals if name in here or name in self.expected}
        found = [self._one(name) for name in sorted(known | (self.accept & here))]
        if self.damaged or self.unknown:
            why = "it was missing" if self.unknown else f"damaged in line {', '.join(map(str, self.damaged))}"
            found.append(Finding(NAME, RESTORED, f"{why}; the digests of the files as they are now are in it"))
        lines = [
            {"file": name, "state": "written", "digest": seal.digest, "bytes": seal.size}
            for name, seal in self.kept.items()
        ]
        write(self.manifest.path, "".join(map(as_line, lines)).encode())
        return [*found, *self.checkpoints]

    def _one(self, name: str) -> Finding:
        path, seals = self.folder / name, self.seals.get(name)
        content = path.read_bytes() if path.is_file() else None
        lines = name.endswith(".jsonl")
        if content is not None and (name in self.accept or self._unproven(name, content, seals)):
            self.kept[name] = Seal.of(content)
            said = "taken as it is" if name in self.accept else "its digest was lost, so it is taken as it is"
            return Finding(name, TAKEN, said)
        if content is not None and fits(name, content, seals) and (not lines or _whole(content)):
            self.kept[name] = Seal.of(content)
            return Finding(name, WHOLE, "as it was written")
        for candidate in self._candidates(name, content or b""):
            if seals and Seal.of(candidate) in seals:
                self._put(name, content, candidate)
                return Finding(name, RESTORED, "exactly as it was, from a checkpoint")
        return self._mended(name, content)

    def _unproven(self, name: str, content: bytes, seals: list[Seal] | None) -> bool:
        """Say whether the digest of a file was lost, and nothing else speaks against it."""
        if not (self.damaged or self.unknown) or (seals and fits(name, content, seals)):
            return False
        return not name.endswith(".jsonl") or _whole(content)

    def _mended(self, name: str, content: bytes | None) -> Finding:
        if name.endswith(".jsonl"):
            rows = self._rows(name, content or b"")
            self._put(name, content, "".join(map(as_line, rows)).encode())
            lost = "a trial whose result is lost is repeated" if name.startswith("journal") else "later ones are lost"
            return Finding(name, SHORTENED, f"its {len(rows)} whole lines are kept; {lost}")
        if name == "status.json":
            self._put(name, content, as_json(_ENDED))
            return Finding(name, SHORTENED, "the run counts as interrupted; `lamina resume` brings it to its end")
        if name == "weights.safetensors" and self.plain:
            self._put(name, content, None)
            return Finding(name, REMOVED, "the best weights of the newest checkpoint serve instead")
        if name in _AGAIN:
            self._put(name, content, None)
            return Finding(name, REMOVED, _AGAIN[name])
        self.kept[name] = (self.seals.get(name) or [Seal("", 0)])[0]
        lost = f"it said {_LOST[name]}" if name in _LOST else "nothing can bring it back"
        return Finding(name, LOST, f"{lost}: restore it from a copy, or say --accept {name} if it is right as it is")

    def _rows(self, name: str, content: bytes) -> list[dict[str, Any]]:
        """Give the lines that are whole; of a history those of the checkpoint, and whole ones that follow them."""
        whole = [row for line in complete(content) if (row := read_line(line)) is not None]
        if name != "history.jsonl" or not self.plain:
            return whole
        rows: list[dict[str, Any]] = list(self.plain.get("rows", ()))
        last = rows[-1]["step"] if rows else 0
        return rows + [row for row in whole if isinstance(row.get("step"), int) and row["step"] > last]

    def _candidates(self, name: str, content: bytes) -> Iterator[bytes]:
        """Give what a file may have been."""
        if name in (copies := self.plain.get("copies", {})):
            yield copies[name].encode()
        if name == "history.jsonl":
            yield "".join(map(as_line, self._rows(name, content))).encode()
        if name == "weights.safetensors" and self.tensors:
            model = {k.removeprefix("model/"): t for k, t in self.tensors.items() if k.startswith("model/")}
            best = {k.removeprefix("best/"): t for k, t in self.tensors.items() if k.startswith("best/")}
            yield encode({**model, **best})

    def _put(self, name: str, old: bytes | None, new: bytes | None) -> None:
        """Keep a damaged file beside the new one, or instead of it."""
        if old is not None:
            write(self.folder / f"{name}.damaged", old)
        if new is None:
            _remove(self.folder / name)
        else:
            write(self.folder / name, new)
            self.kept[name] = Seal.of(new)

    def _checkpoints(self) -> tuple[dict[str, Any], dict[str, Any], list[Finding]]:
        """Give tensors and values of the newest whole checkpoint, and remove damaged ones."""
        tensors: dict[str, Any] = {}
        plain: dict[str, Any] = {}
        findings = []
        for path in checkpoint.found(self.folder / "checkpoints"):
            name = f"checkpoints/{path.name}"
            try:
                found = checkpoint.unpack(path)
            except OSError as error:
                findings.append(Finding(name, LOST, f"it cannot be read ({error.strerror or error}), and stays"))
                continue
            except Exception as error:  # safetensors raises its own type for a broken header
                _remove(path)
                findings.append(Finding(name, REMOVED, f"damaged ({error}); an older one serves, if there is one"))
                continue
            findings.append(Finding(name, WHOLE, "as it was written"))
            tensors, plain = (tensors, plain) if plain else found
        return tensors, plain, findings


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise RunError(f"cannot remove {path} ({error.strerror}): remove it yourself.") from error


def _whole(content: bytes) -> bool:
    """Say whether every line that has an end is whole."""
    return all(read_line(line) is not None for line in complete(content))
