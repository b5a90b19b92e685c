"""`--config`: the options of a training from a TOML or JSON file, or from the folder of a run, which repeats it.

    architecture = "fnn"
    data = "sales.csv"
    target = "price"
    epochs = 20
    [read]
    drop = ["id"]
    [set]
    hidden = [64, 32]

What is typed wins over what the file says.
"""

import json
from pathlib import Path
from typing import Any

import typer

from lamina._declared import check, write
from lamina._errors import ArgumentError, nearest
from lamina.data.paths import no_pipe

_TYPES: dict[str, Any] = {
    "architecture": str, "data": str, "target": str, "read": dict, "split": str, "epochs": int, "set": dict,
    "seed": int, "out": str,
    "weights": str, "freeze": str, "device": str, "threads": int, "step": str,
}  # fmt: skip
_PARAMETERS = {"set": "set_"}
_MOST = 1_000_000  # bytes of a file of options


def from_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the options of a file the defaults of the command; the callback of `--config`."""
    if path is not None:
        found = read_config(path)
        words = {
            key: [f"{name}={write(value)}" for name, value in found.pop(key, {}).items()] for key in ("read", "set")
        }
        defaults = {**found, **{key: value for key, value in words.items() if value}}
        context.default_map = {_PARAMETERS.get(key, key): value for key, value in defaults.items()}
    return path


def with_config(context: typer.Context, name: str, typed: list[str] | None) -> list[str]:
    """Give the words of a repeated option: those of the file first, so that what is typed wins."""
    return [*(context.default_map or {}).get(name, ()), *(typed or ())]


def read_config(path: Path) -> dict[str, Any]:
    """Read a file of options, or the options of a run.

    Args:
        path: a .toml or .json file, or the folder of a run.
    """
    if path.is_dir():
        return _of_run(path)
    from lamina.training.files import read_toml

    try:
        no_pipe(path)
        with path.open("rb") as file:
            content = file.read(_MOST + 1)
    except FileNotFoundError:
        raise ArgumentError(f"`--config` {path} does not exist: name a TOML file or the folder of a run.") from None
    except OSError as error:
        raise ArgumentError(f"`--config` {path} cannot be read ({error.strerror}): choose another file.") from None
    if len(content) > _MOST:
        raise ArgumentError(f"`--config` {path} is larger than {_MOST / 1e6:.0f} MB: it cannot be a file of options.")
    read, language = (json.loads, "JSON") if path.suffix.lower() == ".json" else (read_toml, "TOML")
    try:
        values = read(content.decode())
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"`--config` {path} cannot be read as {language} ({error}): correct it.") from None
    if not isinstance(values, dict):
        raise ArgumentError(f"`--config` {path} must hold names and values, got {type(values).__name__}.")
    if isinstance(values.get("architecture"), dict):  # what a run writes
        if path.name != "config.toml":
            raise ArgumentError(f"`--config` {path} was written by a run: name the folder of the run instead.")
        return _of_run(path.parent)
    for key, value in values.items():
        if key not in _TYPES:
            raise ArgumentError(
                f"{path} has the unknown key {key!r}: there are {', '.join(_TYPES)}{nearest(key, _TYPES)}"
            )
        if _TYPES[key] is dict and not isinstance(value, dict):
            raise ArgumentError(f"`{key}` in {path} must be a table, got {value!r}: begin it with a line [{key}].")
        check(f"{key}` in `{path}", value, _TYPES[key])
    return values


def _of_run(folder: Path) -> dict[str, Any]:
    """Give the options with which a run can be repeated, as its report names them."""
    from lamina.report._commands import train
    from lamina.report._record import read

    record = read(folder)
    words, remarks = train(record)
    if not words:
        raise ArgumentError(f"{folder} cannot be repeated from the command line: {remarks[0]}")
    if "earlier" in record.config:
        raise ArgumentError(
            f"{folder} was continued with another recipe, which takes more than one command to repeat: "
            f"`lamina report {folder}` lists them."
        )
    found: dict[str, Any] = {"architecture": words[2], "read": {}, "set": {}}
    for flag, value in zip(words[3::2], words[4::2], strict=True):
        key = flag.removeprefix("--")
        if key in ("read", "set"):
            name, _, text = value.partition("=")
            found[key][name] = text
        else:
            found[key] = value
    return found | {"data": record.source}
