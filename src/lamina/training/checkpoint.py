"""Checkpoints: one file each, named by its step and its digest, so that a damaged one is noticed and passed over.

A checkpoint is a safetensors file `step-00000120-<digest>.safetensors`. safetensors itself does not notice flipped
bits, so the digest of the whole content stands in the name. The newest two are kept; loading takes the newest that is
whole. Plain values travel as one JSON text in the metadata (several keys would be written in random order).
"""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamina._errors import RunError
from lamina._system import remove
from lamina._types import Tensor
from lamina.training.encoding import encode
from lamina.training.files import digest, read, write

NAME = re.compile(r"step-(\d{8,})-([0-9a-f]{16})\.safetensors")
KEPT = 2


@dataclass(frozen=True)
class _Checkpoint:
    """A state read back: tensors by name, plain values, and what had to be passed over to find it."""

    tensors: dict[str, Tensor]
    plain: dict[str, Any]
    skipped: tuple[str, ...] = ()


def save(folder: Path, step: int, tensors: dict[str, Tensor], plain: dict[str, Any]) -> Path:
    """Write a checkpoint, then remove all but the newest two.

    Raises:
        RunError: the folder is a link, perhaps a stranger's to the checkpoints of another run.
    """
    if folder.is_symlink():
        raise RunError(f"{folder} is a link, through which a run writes nothing: put a folder with its files there.")
    path = pack(folder / f"step-{step:08d}", tensors, plain)
    for old in found(folder)[KEPT:]:
        if old.is_file():  # not what a stranger put there
            remove(old)
    return path


def pack(path: Path, tensors: dict[str, Tensor], plain: dict[str, Any]) -> Path:
    """Write tensors and plain values into one file whose name is `path` with the digest of its content."""
    content = encode(tensors, {"lamina": json.dumps(plain)})
    path = path.with_name(f"{path.name}-{digest(content)}.safetensors")
    write(path, content)
    return path


def unpack(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `pack` wrote.

    Raises:
        ValueError: the content does not match its digest.
    """
    from safetensors.torch import load as decode

    content = read(path)
    if digest(content) != path.stem.rpartition("-")[2]:
        raise ValueError("its content does not match its digest")
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return decode(content), json.loads(header["__metadata__"]["lamina"])


def found(folder: Path) -> list[Path]:
    """List the checkpoints of a folder, newest first; files still being written are not among them."""
    try:
        names = os.listdir(folder)  # `glob` finds nothing where it may not look
    except PermissionError as error:
        raise RunError(f"{folder} cannot be read ({error.strerror}): become its owner, or copy it.") from error
    except OSError:
        return []
    paths = [folder / name for name in names if NAME.fullmatch(name)]
    return sorted(paths, key=_age, reverse=True)


def _age(path: Path) -> tuple[int, int]:
    """Order by step, then by time; a run that goes on may remove the file while somebody looks."""
    try:
        written = path.stat().st_mtime_ns
    except OSError:
        written = 0
    return int(path.name.split("-")[1]), written


def load(folder: Path) -> _Checkpoint | None:
    """Read the newest whole checkpoint; None when there is none yet.

    Raises:
        RunError: there are checkpoints, but every one is damaged.
    """
    skipped: list[str] = []
    for path in found(folder):
        try:
            return _Checkpoint(*unpack(path), tuple(skipped))
        except PermissionError as error:
            raise RunError(f"{path} cannot be read ({error.strerror}): become its owner, or copy it.") from error
        except (OSError, ValueError, KeyError) as error:
            skipped.append(f"{path.name}: {error}")
        except Exception as error:  # safetensors raises its own type for a broken header
            skipped.append(f"{path.name}: {error}")
    if skipped:
        raise RunError(f"every checkpoint in {folder} is damaged ({'; '.join(skipped)}): train again from the start.")
    return None
