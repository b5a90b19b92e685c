"""Named data sets on disk: where they are looked for, how they are verified, and how they are fetched.

A set is looked for in `$LAMINA_DATA/NAME` and in `NAME` of the user's cache, in its official files. Every file is
compared with its SHA-256 when it is read. Downloading is an explicit verb, `get`; nothing else touches the network.
This module imports no torch.
"""

import hashlib
import os
import tarfile
import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from lamina._errors import DataError, choice
from lamina._system import replace
from lamina.data._download import File, Progress, UnreachableError, fetch

ENVIRONMENT = "LAMINA_DATA"


@dataclass(frozen=True)
class NamedSet:
    """A published data set.

    Args:
        name: what the user calls it, and the name of its folder.
        title: what it is, for people.
        kind: the kind of its `Spec`; "weights" for a file of weights, which `lamina train --weights NAME` takes.
        files: what is read.
        addresses: folders on the net, the best first, in which the downloads lie.
        archive: a tar file that is downloaded in place of `files`; it holds them in its folder `folder`.
        folder: the folder below NAME that holds `files`.
        home: another name that its folder may have.
        architecture: of weights, the name of the network that they belong to.
    """

    name: str
    title: str
    kind: str
    files: tuple[File, ...]
    addresses: tuple[str, ...]
    archive: File | None = None
    folder: str = ""
    home: str = ""
    architecture: str = ""

    @property
    def downloads(self) -> tuple[File, ...]:
        """What is fetched from the net."""
        return self.files if self.archive is None else (self.archive,)

    @property
    def size(self) -> int:
        """The bytes to download."""
        return sum(file.size for file in self.downloads)


def _published() -> dict[str, NamedSet]:
    """Read the table of the published sets."""
    table = tomllib.loads(files("lamina.data").joinpath("published.toml").read_text("utf-8"))
    sets = {}
    for name, about in table.items():
        about |= {"files": tuple(File(*file) for file in about["files"]), "addresses": tuple(about["addresses"])}
        about["archive"] = File(*about["archive"]) if "archive" in about else None
        sets[name] = NamedSet(name, **about)
    return sets


SETS = _published()


@dataclass(frozen=True)
class Found:
    """A set that is on disk: the folder that holds its files, or its archive."""

    named: NamedSet
    path: Path

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Read the files one after another, each verified: its name and its bytes."""
        if self.path.is_dir():
            for file in self.named.files:
                yield file.name, _read(self.path / file.name, file, self.named.name)
        else:
            yield from _members(self.path, self.named)


def cache() -> Path:
    """Give the folder of the user's cache on this system."""
    import pooch  # type: ignore[import-untyped]

    return Path(pooch.os_cache("lamina"))


def places() -> list[Path]:
    """Give the folders in which data sets are looked for, the first one first.

    >>> places()[-1] == cache()
    True
    """
    own = os.environ.get(ENVIRONMENT)
    if not own:
        return [cache()]
    if not Path(own).expanduser().is_dir():
        raise DataError(
            f"{ENVIRONMENT} must be a folder, got `{own}`, which is not one: create it or unset {ENVIRONMENT}."
        )
    return [Path(own).expanduser(), cache()]


def find(name: str) -> Found | None:
    """Look for all files of a set, or its archive, without reading them.

    >>> find("minst")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `name` must be one of 'mnist', ..., got 'minst'. Did you mean 'mnist'?
    """
    choice("name", name, SETS)
    named = SETS[name]
    for place in places():
        homes = [place / home for home in (name, named.home) if home]
        for folder in dict.fromkeys((place / name / named.folder, *homes)):
            if all((folder / file.name).is_file() for file in named.files):
                return Found(named, folder)
        if named.archive is not None and (place / name / named.archive.name).is_file():
            return Found(named, place / name / named.archive.name)
    return None


def _require(name: str) -> Found:
    """Look for a set and say how to get it when it is not there."""
    found = find(name)
    if found is not None:
        return found
    named, looked = SETS[name], " and ".join(f"`{place / name}`" for place in places())
    parts = [
        f"`{place / name}` lacks {', '.join(lacking)}"
        for place in places()
        if len(lacking := [f.name for f in named.files if not (place / name / named.folder / f.name).is_file()])
        < len(named.files)
    ]
    missing = "; ".join(parts) if parts else f"looked in {looked}"
    what = "file of weights" if named.kind == "weights" else "data set"
    raise DataError(
        f"the {what} {name} is not here ({missing}): download it with  lamina data get {name}  or {_by_hand(named)}."
    )


def get(name: str, *, to: str | Path | None = None, progress: Progress | None = None) -> Found:
    """Download a set unless it is here already, verify it, and unpack an archive.

    Args:
        name: which set.
        to: the folder under which to put it, to which `LAMINA_DATA` may point; None for the user's cache.
        progress: told while bytes arrive.

    >>> get("minst")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `name` must be one of 'mnist', ..., got 'minst'. Did you mean 'mnist'?
    """
    choice("name", name, SETS)
    named, here = SETS[name], find(name) if to is None else None
    if here is not None:
        for _ in here.contents():
            pass
        return here
    home = cache() if to is None else Path(to).expanduser()
    try:
        paths = [fetch(file, named.addresses, home / name, progress) for file in named.downloads]
    except UnreachableError as error:
        raise DataError(f"{name} could not be downloaded ({error}). Without a network, {_by_hand(named)}.") from error
    if named.archive is None:
        return Found(named, home / name)
    return _unpacked(paths[0], named)


def _by_hand(named: NamedSet) -> str:
    files = ", ".join(file.name for file in named.downloads)
    return (
        f"put {files} from {named.addresses[0]} into `{cache() / named.name}`, "
        f"or set {ENVIRONMENT} to a folder that holds {named.name}/ with them"
    )


def _check(data: bytes, file: File, shown: str, name: str) -> bytes:
    digest = hashlib.sha256(data).hexdigest()
    if digest != file.sha256:
        raise DataError(
            f"`{shown}` is not the official file: its SHA-256 is {digest[:16]}..., not {file.sha256[:16]}...: "
            f"delete it and run  lamina data get {name}."
        )
    return data


def _read(path: Path, file: File, name: str) -> bytes:
    try:
        size = path.stat().st_size
        if size != file.size:
            raise DataError(
                f"`{path}` has {size:,} bytes, not {file.size:,}: delete it and run  lamina data get {name}."
            )
        return _check(path.read_bytes(), file, str(path), name)
    except OSError as error:
        raise DataError(
            f"`{path}` cannot be read ({error.strerror}): change its permissions or copy it again."
        ) from error


def _members(archive: Path, named: NamedSet) -> Iterator[tuple[str, bytes]]:
    """Read the files of a set out of its archive; nothing is extracted, and nothing larger than expected is read."""
    missing = {f"{named.folder}/{file.name}": file for file in named.files}
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                file = missing.pop(member.name.removeprefix("./"), None)
                limit = file.size if file is not None else 2**20
                if member.size > limit or (file is not None and not member.isreg()):
                    raise DataError(
                        f"`{archive}` holds {member.name} with {member.size:,} bytes, which the official archive does "
                        f"not: delete it and run  lamina data get {named.name}."
                    )
                stream = tar.extractfile(member) if file is not None else None
                if file is not None and stream is not None:
                    yield file.name, _check(stream.read(), file, f"{archive}/{member.name}", named.name)
                if not missing:
                    return
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise DataError(
            f"`{archive}` cannot be read as a tar file ({error}): delete it and run  lamina data get {named.name}."
        ) from error
    raise DataError(f"`{archive}` lacks {', '.join(missing)}: delete it and run  lamina data get {named.name}.")


def _unpacked(archive: Path, named: NamedSet) -> Found:
    """Write the files of an archive beside it, each complete or absent, and remove the archive."""
    folder = archive.parent / named.folder
    try:
        folder.mkdir(exist_ok=True)
        for name, data in _members(archive, named):
            part = folder / f"{name}.part"
            part.write_bytes(data)
            replace(part, folder / name)
        archive.unlink()
    except OSError as error:
        raise DataError(
            f"`{folder}` cannot be written ({error.strerror}): make room or change its permissions."
        ) from error
    return Found(named, folder)
