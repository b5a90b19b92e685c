"""Files that are complete or absent: written under a temporary name, synced, renamed."""

import contextlib
import errno
import hashlib
import json
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from lamina import _system
from lamina._errors import RunError

_PARTS = 100  # that a name in a TOML file may have, with dots between them
_QUOTED = re.compile(
    r'''"""(?:\\[\s\S]|[^\\])*?(?:"{3,5}|\Z)|"(?:\\.|[^"\\\n])*(?:"|$)|'''
    r"""'''[\s\S]*?(?:'{3,5}|\Z)|'[^'\n]*(?:'|$)|#[^\n]*""",
    re.MULTILINE,
)  # texts of many lines, texts of one line, and comments
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


def read(path: Path) -> bytes:
    """Read a file of a run or a study; what a stranger put in its place, such as a pipe that never ends, is refused.

    Raises:
        OSError: it is missing, no file, or cannot be read.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("it is not a file")
    return path.read_bytes()


def own(path: Path) -> None:
    """Replace a link by a copy of the file that it names: what is appended must not end up elsewhere.

    A folder from a stranger may hold links to files of yours, and one from a store of data holds links into it.

    Raises:
        RunError: that file is missing.
        OSError: it cannot be read.
    """
    if path.is_symlink():
        try:
            content = read(path)
        except FileNotFoundError as error:
            raise RunError(
                f"{path} is a link to a file that is not there: bring that file back, or remove the link to begin anew."
            ) from error
        write(path, content)


def cannot_write(path: Path, error: OSError) -> str:
    """Say why a file could not be written, and what to do."""
    elsewhere = "choose another folder with --out, or copy this one to where you can write"
    reasons = {
        errno.ENOSPC: "the disk is full: free some space",
        errno.EDQUOT: "the disk quota is used up: free some space",
        errno.EROFS: f"the file system is read-only: {elsewhere}",
        errno.EACCES: f"permission denied: {_IN_USE if _system.WINDOWS else ''}{elsewhere}",
        errno.ENOENT: "its folder is gone: was it moved or deleted during the run?",
    }
    why = reasons.get(error.errno or 0, error.strerror or str(error))
    return f"cannot write {path}: {why}{'' if why.endswith('?') else '.'} What was saved before is intact."


def numbered(path: Path, number: int) -> Path:
    """Name a folder beside one that exists.

    >>> numbered(Path("runs/fnn"), 2).name, numbered(Path("."), 2) == Path(f"{Path.cwd()}-2")
    ('fnn-2', True)
    """
    whole = path if path.name else path.resolve()
    if not whole.name:
        raise RunError(f"{path} exists, and its name can have no number: choose another folder.")
    return whole.with_name(f"{whole.name}-{number}")


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


def read_toml(text: str) -> dict[str, Any]:
    """Read TOML whose names have few parts: Python takes a minute for `a.a.a...` of 200 kB.

    Raises:
        ValueError: it is no TOML, or has a name of more than 100 parts.

    >>> read_toml("a.b = 1"), read_toml("x = [" + "0.5, " * 200 + "]")["x"][-1]
    ({'a': {'b': 1}}, 0.5)
    >>> len(read_toml("x = '" + 200 * "." + "'")["x"])
    200
    """
    names = _QUOTED.sub('""', text)
    if any(piece.count(".") > _PARTS for piece in re.split(r"[\n=,{}\[\]]", names)):
        raise ValueError(f"a name of more than {_PARTS} parts")
    return tomllib.loads(text)


def parse_toml(content: bytes, path: Path, version: int, way_out: str) -> dict[str, Any]:
    """Read TOML of a known version, or say which file is damaged or too new."""
    try:
        values = read_toml(content.decode())
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
