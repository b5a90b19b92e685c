"""Files that are complete or absent: written under a temporary name, synced, renamed."""

import contextlib
import errno
import hashlib
import json
import os
import tomllib
from pathlib import Path
from typing import Any

from lamina import _system
from lamina._errors import RunError

_IN_USE = "close the program that has it open, or "


def write(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash at any moment, meets the old one or the new one, never a part.

    Raises:
        RunError: the disk is full or the folder cannot be written; the old file is untouched.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(draft, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _system.replace(draft, path)
        _system.sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):  # a file system that became read-only refuses this, too
            draft.unlink(missing_ok=True)
        raise RunError(cannot_write(path, error)) from error


def cannot_write(path: Path, error: OSError) -> str:
    """Say why a file could not be written, and what to do."""
    reasons = {
        errno.ENOSPC: "the disk is full: free some space",
        errno.EDQUOT: "the disk quota is used up: free some space",
        errno.EROFS: "the file system is read-only: choose another folder with --out",
        errno.EACCES: f"permission denied: {_IN_USE if _system.WINDOWS else ''}choose another folder with --out",
        errno.ENOENT: "its folder is gone: was it moved or deleted during the run?",
    }
    why = reasons.get(error.errno or 0, error.strerror or str(error))
    return f"cannot write {path}: {why}. What was saved before is intact."


def digest(content: bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


def as_json(value: Any) -> bytes:
    """Write plain values as JSON, NaN and infinity as null; one line per entry, as Python indents slowly."""
    plain = finite(value)
    if isinstance(plain, dict):
        entries = [f" {json.dumps(key)}: {json.dumps(entry, ensure_ascii=False)}" for key, entry in plain.items()]
        text = "{\n" + ",\n".join(entries) + "\n}"
    else:
        text = json.dumps(plain, ensure_ascii=False)
    return (text + "\n").encode()


def parse_json(content: bytes, path: Path) -> Any:
    """Read JSON, or say which file is damaged."""
    try:
        return json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read ({error}): restore it from a copy, or train again.") from error


def parse_toml(content: bytes, path: Path, version: int, way_out: str) -> dict[str, Any]:
    """Read TOML of a known version, or say which file is damaged or too new."""
    try:
        values = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read ({error}): {way_out}.") from error
    if not isinstance(values.get("version", 0), int):
        raise RunError(f"{path} is damaged (version is not a number): {way_out}.")
    if values.get("version", 0) > version:
        raise RunError(
            f"{path} was written by a newer Lamina (version {values['version']}, the latest known is {version}): "
            "update Lamina."
        )
    return values


def finite(value: Any) -> Any:
    """Replace numbers that JSON cannot write by None, in lists and dictionaries too.

    >>> finite({"loss": float("nan"), "steps": [1, 2.5]})
    {'loss': None, 'steps': [1, 2.5]}
    """
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


def as_toml(values: dict[str, Any], prefix: str = "") -> str:
    """Write nested plain values as TOML; None is left out.

    >>> print(as_toml({"seed": 0, "optimizer": {"name": "adam"}}))
    seed = 0
    <BLANKLINE>
    [optimizer]
    name = "adam"
    """
    plain = {k: v for k, v in values.items() if v is not None and not isinstance(v, dict)}
    lines = [f"{key} = {_toml_value(value)}" for key, value in plain.items()]
    for key, inner in values.items():
        if isinstance(inner, dict):
            lines += [*([""] if lines else []), f"[{prefix}{key}]", as_toml(inner, f"{prefix}{key}.")]
    return "\n".join(lines).rstrip("\n")


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
