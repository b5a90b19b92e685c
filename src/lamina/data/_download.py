"""Fetch one published file: from the first address that has it, continued where a broken download stopped, verified.

pooch keeps the folder and the checksum and moves the file into place at once; the downloader given to it here keeps
what has arrived in `NAME.part` and asks for the rest only (HTTP Range). This module imports no torch.
"""

import http.client
import logging
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from lamina import __version__
from lamina._errors import DataError
from lamina._system import lock, replace

Progress = Callable[[str, int, int], None]
"""Called with the name of a file, how many of its bytes have arrived, and how many there are."""

_CHUNK, _TIMEOUT, _TRIES = 2**16, 30.0, 3


@dataclass(frozen=True)
class File:
    """A published file: its name, size and checksums; the MD5 is the one its publishers give."""

    name: str
    size: int
    sha256: str
    md5: str = ""


class UnreachableError(Exception):
    """An address does not give the file; the text says why."""


class ChecksumError(UnreachableError):
    """An address gives something else."""


class Resuming:
    """A pooch downloader that keeps what has arrived and continues there."""

    def __init__(self, part: Path, size: int, progress: Callable[[int], None], timeout: float = _TIMEOUT) -> None:
        self.part, self.size, self.progress, self.timeout = part, size, progress, timeout
        self.resumed = False

    def __call__(self, url: str, output_file: Any, pooch: Any, check_only: bool = False) -> None:
        """Download `url` into `output_file`, as pooch asks for it."""
        with _locked(self.part) as out:
            have = most = out.seek(0, os.SEEK_END)
            self.resumed = have > 0
            tries = _TRIES
            while have != self.size:
                have = self._more(url, out, have)
                # Only what never was there before counts as progress: a server may begin again and again.
                tries, most = (_TRIES, have) if have > most else (tries - 1, most)
                if have < self.size and tries == 0:
                    raise UnreachableError(f"the connection broke after {most:,} of {self.size:,} bytes")
            out.flush()
            os.fsync(out.fileno())
        replace(self.part, output_file)

    def _more(self, url: str, out: IO[bytes], have: int) -> int:
        """Ask for the bytes from `have` on, or for all if that is not to be had; give how many are there then."""
        wanted = {"User-Agent": f"lamina/{__version__}"} | ({"Range": f"bytes={have}-"} if have else {})
        try:
            answer = urllib.request.urlopen(urllib.request.Request(url, headers=wanted), timeout=self.timeout)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                return _begin_again(out)
            raise UnreachableError(f"the server says {error.code} {error.reason}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise UnreachableError(str(getattr(error, "reason", error)) or type(error).__name__) from error
        with answer:
            if answer.status != http.client.PARTIAL_CONTENT:
                have = _begin_again(out)
            promised = answer.length
            if promised is not None and have + promised != self.size:
                _begin_again(out)
                raise UnreachableError(f"the server has {have + promised:,} bytes, not {self.size:,}")
            return self._copy(answer, out, have)

    def _copy(self, answer: http.client.HTTPResponse, out: IO[bytes], have: int) -> int:
        while True:
            try:
                chunk = answer.read(_CHUNK)
            except (OSError, http.client.HTTPException):
                return have
            if not chunk:
                return have
            if have + len(chunk) > self.size:
                _begin_again(out)
                raise UnreachableError(f"the server sends more than {self.size:,} bytes")
            out.write(chunk)
            have += len(chunk)
            self.progress(have)


def fetch(file: File, addresses: Sequence[str], folder: Path, progress: Progress | None = None) -> Path:
    """Download a file into a folder from the first address that gives it with the right checksum."""
    reasons = []
    for address in addresses:
        url = address.rstrip("/") + "/" + file.name
        downloader = Resuming(
            folder / f"{file.name}.part",
            file.size,
            lambda have: progress(file.name, have, file.size) if progress is not None else None,
        )
        for _ in range(2):  # a kept part may be what is wrong: then once more from the beginning
            try:
                return _verified(url, file, folder, downloader)
            except UnreachableError as error:
                reasons.append(f"{url}: {error}")
                if not (downloader.resumed and isinstance(error, ChecksumError)):
                    break
    raise UnreachableError("; ".join(reasons))


def _verified(url: str, file: File, folder: Path, downloader: Resuming) -> Path:
    import pooch  # type: ignore[import-untyped]

    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # its remarks are for people without our progress
    try:
        return Path(pooch.retrieve(url, f"sha256:{file.sha256}", file.name, folder, downloader=downloader))
    except DataError:  # it is a ValueError too
        raise
    except ValueError as error:
        text = f"what arrived was removed, because its SHA-256 is not {file.sha256[:16]}..."
        raise ChecksumError(text) from error
    except OSError as error:
        raise DataError(
            f"`{folder}` cannot be written ({error.strerror or error}): make room or change its permissions, "
            "or choose another folder with `--to` and set LAMINA_DATA to it."
        ) from error
    finally:
        logger.setLevel(level)


def _begin_again(out: IO[bytes]) -> int:
    out.seek(0)
    out.truncate()
    return 0


@contextmanager
def _locked(part: Path) -> Iterator[IO[bytes]]:
    """Open the kept part for this process alone; the lock ends with the process, however it ends."""
    with open(part, "ab") as out:
        try:
            lock(out.fileno(), wait=False)
        except OSError as error:
            raise DataError(f"another process is downloading `{part}`: wait for it.") from error
        yield out
