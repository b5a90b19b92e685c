"""The folder of a run: what lies where, written so that every file is complete or absent.

config.toml         architecture, data, recipe: everything needed to do it again
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
"""

import json
import re
import time
from pathlib import Path
from typing import Any

from lamina._errors import RunError
from lamina._system import refused
from lamina._types import Tensor
from lamina.training import checkpoint
from lamina.training.files import _append_line, _read_json, _write_json, as_toml, digest, finite, read_toml, write

VERSION = 1


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
            candidate = base if number == 1 else base.with_name(f"{base.name}-{number}")
            try:
                candidate.mkdir()
                (candidate / "checkpoints").mkdir()
                return cls(candidate)
            except FileExistsError:
                continue
            except OSError as error:
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
            raise RunError(f"{path} is not the folder of a run: it has no config.toml.")
        return folder

    def write_config(self, config: dict[str, Any]) -> None:
        """Write architecture, data and recipe as TOML."""
        write(self.path / "config.toml", (as_toml({"version": VERSION, **config}) + "\n").encode())

    def config(self) -> dict[str, Any]:
        """Read what `write_config` wrote."""
        return read_toml(self.path / "config.toml", VERSION, "restore it from a copy, or train again")

    def write_json(self, name: str, value: Any) -> None:
        """Write one of the JSON files."""
        _write_json(self.path / f"{name}.json", value)

    def json(self, name: str) -> Any:
        """Read one of the JSON files."""
        return _read_json(self.path / f"{name}.json")

    def has(self, name: str) -> bool:
        """Say whether a file of this name is there."""
        return (self.path / name).is_file()

    def append_row(self, row: dict[str, Any], seconds: float) -> None:
        """Append a check to the history, and when it was to the timings."""
        _append_line(self.history, json.dumps(finite(row)))
        _append_line(
            self.timings, json.dumps({"step": row["step"], "seconds": round(seconds, 3), "at": round(time.time(), 3)})
        )

    def reset_history(self, rows: list[dict[str, Any]]) -> None:
        """Rewrite the history to the rows that a checkpoint knows of."""
        write(self.history, "".join(json.dumps(finite(row)) + "\n" for row in rows).encode())

    def rows(self) -> list[dict[str, Any]]:
        """Read the history; a last line that a crash cut short is left out."""
        if not self.history.is_file():
            return []
        text = self.history.read_text(encoding="utf-8")
        try:
            return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        except ValueError as error:
            raise RunError(f"{self.history} is damaged ({error}): resume the run, which rewrites it.") from error

    def write_weights(self, tensors: dict[str, Tensor]) -> str:
        """Write weights as safetensors and return their digest."""
        from safetensors.torch import save

        content = save({name: t.detach().contiguous().cpu() for name, t in tensors.items()})
        write(self.weights, content)
        return digest(content)

    def weights_digest(self) -> str:
        """Return the digest of the weights as they are now, "" while there are none."""
        return digest(self.weights.read_bytes()) if self.weights.is_file() else ""

    def read_weights(self) -> dict[str, Tensor]:
        """Read the weights of the run: the final ones, or while there are none the best of the newest checkpoint."""
        from safetensors.torch import load

        if self.weights.is_file():
            try:
                return load(self.weights.read_bytes())
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


def slug(text: str) -> str:
    """Turn a name into a folder name.

    >>> slug("Meine Fotos/Äpfel.csv")
    'meine-fotos-äpfel.csv'
    """
    return re.sub(r"[^\w.]+", "-", text.lower()).strip("-.") or "run"
