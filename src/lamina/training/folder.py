"""The folder of a run: what lies where, written so that every file is complete or absent.

config.toml         architecture, data, recipe: everything needed to do it again; written when a resume is possible
preprocess.json     what was fitted on the training data
environment.json    versions, device, threads, flags
history.jsonl       one row per check
timings.jsonl       how long things took; never compared
checkpoints/        the newest two
weights.safetensors the best weights
evaluation.json     the test split, opened once
scores.safetensors  how far the network is from the truth on the validation part, for intervals and sets of classes
status.json         how the run ended, or that it runs
report.html
manifest.jsonl      the digest of every file; see `manifest`
writer.lock         while somebody trains here; see `lock`
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lamina._errors import LaminaError, RunError
from lamina._system import refused
from lamina._types import Tensor
from lamina.training import checkpoint
from lamina.training.encoding import encode
from lamina.training.files import as_json, as_toml, digest, numbered, parse_json, parse_toml
from lamina.training.lines import append_lines, as_line, read_lines
from lamina.training.manifest import NAME, Manifest

VERSION = 2
"""Folders of version 1, of Lamina 0.1, have no manifest."""
_COPIED = ("config.toml", "preprocess.json")


class RunFolder:
    """Read and write the files of one run.

    Args:
        path: the folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.history, self.timings = self.path / "history.jsonl", self.path / "timings.jsonl"
        self.weights = self.path / "weights.safetensors"
        self.manifest = Manifest(self.path)

    @classmethod
    def create(cls, path: str | Path) -> "RunFolder":
        """Make a new, empty folder; another run of the same name gets the next number.

        Making a folder either succeeds or fails as a whole, so two runs that start together never share one.
        """
        base = Path(path)
        if why := refused(base):
            raise RunError(f"cannot make the run folder {base}: {why}. Choose another with --out.")
        try:
            base.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"cannot make the folder {base.parent}: {error.strerror}. Choose another with --out."
            ) from error
        for number in range(1, 100_000):
            candidate = base if number == 1 else numbered(base, number)
            try:
                candidate.mkdir()
                (candidate / "checkpoints").mkdir()
                return cls(candidate)
            except FileExistsError:
                continue
            except OSError as error:
                with suppress(OSError):
                    candidate.rmdir()
                raise RunError(
                    f"cannot make the run folder {candidate}: {error.strerror}. Choose another with --out."
                ) from error
        raise RunError(f"there are too many runs named {base}: choose another name with --out.")

    @classmethod
    def open(cls, path: str | Path) -> "RunFolder":
        """Open the folder of an existing run."""
        folder = cls(path)
        if not folder.path.is_dir():
            raise RunError(f"{path} is not a folder: give the folder of a run, such as runs/lenet5-digits.")
        if not (folder.path / "config.toml").is_file():
            if folder.manifest.expects("config.toml"):
                folder.content("config.toml")  # says that there was one
            if folder.manifest.exists or folder.checkpoints.is_dir():
                raise RunError(f"{path} holds a run that was killed before it began: remove it, and train again.")
            raise RunError(f"{path} is not the folder of a run: it has no config.toml.")
        return folder

    def write(self, name: str, content: bytes) -> None:
        """Write a file, and its digest into the manifest."""
        self.manifest.write(name, content)

    def content(self, name: str) -> bytes:
        """Read a file that must be what the run wrote.

        Raises:
            RunError: it is missing or damaged.
        """
        try:
            content = self.manifest.read(name)
        except FileNotFoundError:
            raise RunError(f"{self.path / name} is missing: is {self.path} the folder of a run?") from None
        if not self.manifest.exists and self._described():
            raise RunError(
                f"{self.manifest.path} is missing: the digests of files are lost, not the files. Run  "
                f"lamina repair {self.path}"
            )
        return content

    def _described(self) -> bool:
        """Say whether the description is one of a folder that must have a manifest."""
        path = self.path / "config.toml"
        found = re.match(rb"version = (\d+)", path.read_bytes()) if path.is_file() else None
        return found is not None and 1 < int(found[1]) <= VERSION

    def seal(self) -> None:
        """Give a folder of Lamina 0.1 a manifest, with all files as they are."""
        if not self.manifest.exists:
            self.manifest.take(*(path.name for path in sorted(self.path.iterdir()) if path.is_file()))

    def write_config(self, config: dict[str, Any]) -> None:
        """Write architecture, data and recipe as TOML."""
        self.write("config.toml", config_text(config).encode())

    def config(self) -> dict[str, Any]:
        """Read what `write_config` wrote."""
        path, way_out = self.path / "config.toml", "restore it from a copy, or train again"
        values = parse_toml(self.content("config.toml"), path, VERSION, way_out)
        for part in ("architecture", "data", "recipe"):
            if not isinstance(values.get(part, {}), dict):
                raise RunError(f"{path} is damaged ({part} is not a table): {way_out}.")
        return values

    def write_json(self, name: str, value: Any) -> None:
        """Write one of the JSON files."""
        self.write(f"{name}.json", as_json(value))

    def json(self, name: str) -> Any:
        """Read one of the JSON files."""
        return parse_json(self.content(f"{name}.json"), self.path / f"{name}.json")

    def status(self) -> dict[str, Any]:
        """Read how the run ended; {"state": "running"} while it has not said so."""
        if not self.has("status.json"):
            return {"state": "running"}
        found = self.json("status")
        kinds: dict[str, type] = {"state": str, "sentence": str, "best_row": int, "weights": str}
        right = isinstance(found, dict) and all(isinstance(found[name], kinds[name]) for name in kinds if name in found)
        if not right or "state" not in found or (found["state"] != "running" and "sentence" not in found):
            raise RunError(
                f"{self.path / 'status.json'} is damaged: it does not say how the run ended. Restore it from a copy, "
                f"or run  lamina repair {self.path}"
            )
        return dict(found)

    def has(self, name: str) -> bool:
        """Say whether a file of this name is there, or should be."""
        return (self.path / name).is_file() or self.manifest.expects(name)

    def append_row(self, row: dict[str, Any], seconds: float) -> None:
        """Append a check to the history, and when it was to the timings."""
        append_lines(self.history, [row])
        append_lines(self.timings, [{"step": row["step"], "seconds": round(seconds, 3), "at": round(time.time(), 3)}])

    def reset_history(self, rows: list[dict[str, Any]]) -> None:
        """Rewrite the history to the rows that a checkpoint knows of."""
        self.write(self.history.name, "".join(map(as_line, rows)).encode())

    def rows(self) -> list[dict[str, Any]]:
        """Read the history; a last line that a crash cut short is left out."""
        rows = self.lines("history")
        for number, row in enumerate(rows, 1):
            if not all(isinstance(row.get(name), int) for name in ("epoch", "step")):
                raise RunError(f"{self.history} is damaged in line {number}: resume the run, which rewrites it.")
        return rows

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Read one of the files that grow by lines; nothing if there is none."""
        if not self.has(f"{name}.jsonl"):
            return []
        return read_lines(
            self.content(f"{name}.jsonl"),
            self.path / f"{name}.jsonl",
            f"restore it from a copy, or run  lamina repair {self.path}",
        )

    def settle(self) -> None:
        """Note how far the files that grow have come; a run does so in the end."""
        if self.manifest.exists:
            grown = (path for path in sorted(self.path.glob("*.jsonl")) if path.is_file())
            self.manifest.take(*(path.name for path in grown if path.name != NAME))

    def copies(self) -> dict[str, str]:
        """Give the texts of the files that nothing else could bring back; checkpoints keep them."""
        paths = [path for name in _COPIED if (path := self.path / name).is_file()]
        return {path.name: path.read_bytes().decode(errors="replace") for path in paths}

    def write_weights(self, tensors: dict[str, Tensor]) -> str:
        """Write weights as safetensors and return their digest."""
        content = encode(tensors)
        self.write(self.weights.name, content)
        return digest(content)

    def weights_digest(self) -> str:
        """Return the digest of the weights as they are now, "" while there are none."""
        return digest(self.weights.read_bytes()) if self.weights.is_file() else ""

    def read_weights(self) -> dict[str, Tensor]:
        """Read the weights of the run: the final ones, or while there are none the best of the newest checkpoint."""
        from safetensors.torch import load

        if self.weights.is_file():
            content = self.content(self.weights.name)
            try:
                return load(content)
            except Exception as error:
                raise RunError(
                    f"{self.weights} is damaged ({error}): train again, or restore it from a copy."
                ) from error
        saved = checkpoint.load(self.checkpoints)
        if saved is None:
            raise RunError(
                f"{self.path} has no weights yet: it stopped before its first checkpoint. "
                f"Continue it with  lamina resume {self.path}"
            )
        best = {name.removeprefix("best/"): t for name, t in saved.tensors.items() if name.startswith("best/")}
        return best or {
            name.removeprefix("model/"): t for name, t in saved.tensors.items() if name.startswith("model/")
        }


def config_text(config: dict[str, Any]) -> str:
    """Give the text of a config.toml."""
    return as_toml({"version": VERSION, **{key: value for key, value in config.items() if key != "version"}}) + "\n"


@contextmanager
def blamed(path: Path) -> Iterator[None]:
    """Turn what goes wrong with the content of a file into a sentence that names it; what has one keeps it."""
    try:
        yield
    except LaminaError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RuntimeError) as error:
        if "memory" in str(error).lower():
            raise
        why = f"no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
        raise RunError(
            f"{path} is damaged ({' '.join(why.split()).rstrip('.')[:160]}): restore it from a copy, or train again."
        ) from error


def slug(text: str) -> str:
    """Turn a name into a folder name.

    >>> slug("Meine Fotos/Äpfel.csv")
    'meine-fotos-äpfel.csv'
    """
    return re.sub(r"[^\w.]+", "-", text.lower()).strip("-.") or "run"
