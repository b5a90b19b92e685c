"""A trained network in one file, with all that `predict` needs: safetensors, and a record as JSON in its metadata.

The record holds the architecture, the recipe, how inputs are prepared and what the test split said, but no example of
the data and no folder of the machine. Tensors and JSON are all that is read, so nothing in a file can be executed. A
pushed folder has such a file and the same record in its `config.json`.
"""

import json
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from lamina._errors import RunError
from lamina._types import Tensor
from lamina.training.encoding import encode
from lamina.training.files import digest, finite, read
from lamina.training.folder import VERSION, RunFolder

if TYPE_CHECKING:
    from lamina.training.run import Run

WEIGHTS, CONFIG, KEY = "model.safetensors", "config.json", "lamina"
"""The files of a pushed folder, and the one key of the metadata."""

_JUDGED = ("examples", "metrics", "openings", "baselines", "usual", "unit")
"""What is kept of an evaluation: nothing that shows an example."""

_CONFIGURED = ("architecture", "data", "recipe", "examples")
"""What is kept of a configuration."""

_PARTS = ("config", "preprocess", "status")


def home_of(path: str | Path) -> RunFolder:
    """Give what reads a run: its folder, a file that `pack` made, or a folder with one."""
    path = Path(path)
    if path.suffix == ".safetensors" and path.is_file():
        return PackedRun(path)
    pushed = (path / WEIGHTS).is_file() and not (path / "config.toml").is_file()
    return PackedRun(path) if pushed else RunFolder(path)


def open_home(path: str | Path) -> RunFolder:
    """Give what reads a run, after a look at whether there is one."""
    home = home_of(path)
    return home if isinstance(home, PackedRun) else RunFolder.open(path)


class PackedRun(RunFolder):
    """Read a run from one file, or from a pushed folder; nothing can be written.

    Args:
        path: the file or the folder.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.weights = self.path / WEIGHTS if self.path.is_dir() else self.path

    @cached_property
    def _content(self) -> bytes:
        try:
            return self.weights.read_bytes()
        except OSError as error:
            raise RunError(f"{self.weights} cannot be read: {error.strerror}.") from error

    @cached_property
    def _data(self) -> int:
        """Where the tensors begin, behind the length of the header and the header."""
        return 8 + int.from_bytes(self._content[:8], "little")

    @cached_property
    def record(self) -> dict[str, Any]:
        """What the file says about its network."""
        try:
            header = json.loads(self._content[8 : self._data])
            held = (header.get("__metadata__") or {}).get(KEY)
            record = None if held is None else json.loads(held)
        except (ValueError, AttributeError, RecursionError) as error:
            raise _damaged(self.weights, "it has no readable header") from error
        if record is None:
            raise RunError(
                f"{self.weights} holds weights alone: it was not written by `lamina export` or `lamina push`. Start "
                f"from them with  lamina train ARCH --weights {self.weights}"
            )
        if not isinstance(record, dict) or not all(isinstance(record.get(part), dict) for part in _PARTS):
            raise _damaged(self.weights, "its record is not one of a run")
        if record.get("version", 0) > VERSION:
            raise RunError(
                f"{self.weights} was written by a newer Lamina (version {record['version']}, the latest known is "
                f"{VERSION}): update Lamina."
            )
        if self.path.is_dir() and self._beside() != record:
            raise RunError(
                f"{self.path / CONFIG} and {self.weights} do not belong together: push the run again, or give the "
                ".safetensors file alone."
            )
        return record

    def _beside(self) -> Any:
        try:
            return json.loads(read(self.path / CONFIG).decode())[KEY]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise RunError(f"{self.path / CONFIG} cannot be read ({error}): push the run again.") from error

    def config(self) -> dict[str, Any]:
        """Give architecture, data and recipe."""
        config: dict[str, Any] = self.record["config"]
        return config

    def json(self, name: str) -> Any:
        """Give what a run's folder has in one of its JSON files."""
        if not self.has(f"{name}.json"):
            raise RunError(f"{self.path} is an exported network and has no {name}.")
        return self.record[name]

    def has(self, name: str) -> bool:
        """Say whether there is what a run's folder has in a file."""
        return self.record.get(name.removesuffix(".json")) is not None

    def rows(self) -> list[dict[str, Any]]:
        """Give no history: it stays with the run."""
        return []

    def weights_digest(self) -> str:
        """Return the digest of the tensors, which stands in the record too."""
        return digest(self._content[self._data :])

    def read_weights(self) -> dict[str, Tensor]:
        """Read the weights."""
        from safetensors.torch import load

        self.json("status")
        try:
            return load(self._content)
        except Exception as error:  # safetensors raises its own type
            raise _damaged(self.weights, str(error)) from error

    def write_json(self, name: str, value: Any) -> None:
        """Refuse."""
        raise RunError(
            f"{self.path} is an exported network, which is only read: evaluate the run that it was made from."
        )


def pack(run: "Run", command: str = "") -> tuple[bytes, dict[str, Any]]:
    """Give the content of a file that holds a run's network and all that `predict` needs, and the record in it.

    Args:
        run: a trained network.
        command: what trained it, for people.
    """
    tensors = run.model.state_dict()
    plain = encode(tensors)
    sum_ = digest(plain[8 + int.from_bytes(plain[:8], "little") :])
    record = record_of(run, command, sum_)
    return encode(tensors, {KEY: json.dumps(record, ensure_ascii=False)}), record


def record_of(run: "Run", command: str = "", weights: str = "") -> dict[str, Any]:
    """Say in plain values what a network is, how it reads and answers, and what the test split said.

    Args:
        run: a trained network.
        command: what trained it, for people.
        weights: the digest of its tensors.
    """
    from lamina import __version__

    home = home_of(run.folder)
    known = home.record if isinstance(home, PackedRun) else {}
    config = {key: value for key, value in home.config().items() if key in _CONFIGURED}
    config["data"] = _named(config.get("data", {})) | {"reload": False}
    preprocess = run.task.as_dict()
    preprocess["spec"] = _named(preprocess["spec"]) | {"notes": []}
    judged = home.json("evaluation") if home.has("evaluation.json") else None
    kept = judged and {key: judged[key] for key in _JUDGED if key in judged} | {"weights": weights}
    record = {
        "version": VERSION,
        "lamina": __version__,
        "command": command or known.get("command", ""),
        "classes": list(run.task.spec.classes),
        "config": config,
        "preprocess": preprocess,
        "status": {"state": run.reason.name, "sentence": run.reason.sentence, "weights": weights},
        "evaluation": kept,
    }
    plain: dict[str, Any] = json.loads(json.dumps(finite(record)))  # as it will be read: lists, no tuples
    return plain


def _named(value: Any) -> Any:
    r"""Shorten paths to their last part, which says nothing about the machine.

    >>> _named({"source": "/home/anna/photos", "options": {"labels": r"C:\data\wine.csv", "steps": 2}})
    {'source': 'photos', 'options': {'labels': 'wine.csv', 'steps': 2}}
    """
    if isinstance(value, dict):
        return {key: _named(inner) for key, inner in value.items()}
    kinds = (PurePosixPath, PureWindowsPath) if isinstance(value, str) else ()
    return next((kind(value).name for kind in kinds if kind(value).is_absolute()), value)


def _damaged(path: Path, why: str) -> RunError:
    return RunError(
        f"{path} is damaged or not a safetensors file ({why.rstrip('.')}): copy it again, or export it again."
    )
