r"""The memory of a study: one file, one JSON line an event with a checksum, only ever appended to.

One process writes to it: the lock of the file is its own for as long as it searches, and the system takes it back
however the process ends. A line is the system's as soon as it is appended: a process that is killed loses nothing of
it. It is on the disk (`fsync`) at once; only results that follow each other within `SYNC_SECONDS` share one `fsync`.

A crash may cut the last line short. A reader passes over what has no line end; the next writer cuts it off.
"""

import errno
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lamina._errors import RunError, RunWarning
from lamina._system import lock
from lamina.training.files import cannot_write, own
from lamina.training.lines import as_line, read_line

Event = dict[str, Any]
SYNC_SECONDS = 0.02
_TAKEN = (errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
"""What systems say when a file is locked by somebody else; anything else means that there are no locks."""
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)  # Windows: no carriage returns


class Journal:
    """Read and append events."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_to = 0
        self._lines = 0
        self._handle: int | None = None
        self._synced = 0.0
        self._held = False

    def new(self) -> list[Event]:
        """Return the events since the last call, without those that are not complete."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._read_to)
                content = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RunError(f"{self.path} cannot be read ({error}): restore it from a copy.") from error
        complete = content[: content.rfind(b"\n") + 1]
        self._read_to += len(complete)
        return [self._event(line) for line in complete.splitlines()]

    def _event(self, line: bytes) -> Event:
        self._lines += 1
        event = read_line(line)
        if event is None or "event" not in event:
            raise RunError(
                f"{self.path} is damaged in line {self._lines}: restore it from a copy, or run  lamina repair "
                f"{self.path.parent}  which leaves that line out; the trial it recorded is then repeated."
            )
        return event

    @property
    def held(self) -> bool:
        """Whether this process is the writer now."""
        return self._held

    @property
    def place(self) -> tuple[int, int]:
        """How far the file was read, in bytes and in lines."""
        return self._read_to, self._lines

    @place.setter
    def place(self, value: tuple[int, int]) -> None:
        self._read_to, self._lines = value

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the one writer for as long as the block lasts; cut off a last line that a crash left incomplete.

        Raises:
            RunError: somebody else is.
        """
        if self._held:
            yield
            return
        handle = self._open()
        try:
            self._lock(handle)
            self._held = True
            self._repair(handle)
            yield
        finally:
            self._held = False
            self._close()

    def append(self, *events: Event, sync: bool = True) -> None:
        """Append events as one piece; within `writing`."""
        assert self._held, "only the writer appends"
        handle = self._open()
        content = "".join(map(as_line, events)).encode()
        try:
            written = os.write(handle, content)
            if written < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if sync or time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(handle)
                self._synced = time.monotonic()
        except OSError as error:
            raise RunError(cannot_write(self.path, error)) from error

    def _close(self) -> None:
        """Wait for the disk and let the file and its lock go."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def _open(self) -> int:
        if self._handle is None:
            try:
                own(self.path)
                self._handle = os.open(self.path, _FLAGS, 0o644)
            except OSError as error:
                raise RunError(cannot_write(self.path, error)) from error
        return self._handle

    def _lock(self, handle: int) -> None:
        try:
            lock(handle, wait=False)
        except OSError as error:
            if error.errno in _TAKEN:
                raise RunError(
                    f"another process is writing to {self.path}, and a study has one writer: wait until it has ended, "
                    "or stop it."
                ) from error
            warnings.warn(
                f"{self.path} cannot be locked ({error.strerror}): make sure that no other process searches there.",
                RunWarning,
                stacklevel=4,
            )

    def _repair(self, handle: int) -> None:
        size = os.fstat(handle).st_size
        if size == 0 or _read(handle, size - 1, size) == b"\n":
            return
        end = size
        while end > 0:
            start = max(0, end - 65536)
            found = _read(handle, start, end).rfind(b"\n")
            if found >= 0:
                os.ftruncate(handle, start + found + 1)
                return
            end = start
        os.ftruncate(handle, 0)


def _read(handle: int, start: int, end: int) -> bytes:
    os.lseek(handle, start, os.SEEK_SET)
    return os.read(handle, end - start)
