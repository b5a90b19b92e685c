"""Who is working: a process is known by its number and its start, so that a number used again is not mistaken for it.

A worker claims trials before it tries them. When it dies, by whatever signal, its claims are nobody's: the next worker
that looks finds no such process any more. Nothing has to be released and no server has to watch.
"""

import os
import platform
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from lamina._system import birth, boot
from lamina.training.files import digest

_AT_WORK: set[str] = set()
"""The tokens of the workers in this process that have not ended."""


@dataclass(frozen=True)
class Worker:
    """One turn of working on a study."""

    pid: int
    born: str
    node: str
    boot: str
    token: str

    @property
    def alive(self) -> bool | None:
        """Say whether it is still at work; None if it is on another machine, where we cannot look."""
        if self.node != this_machine()[0]:
            return None
        if self.boot != this_machine()[1]:
            return False
        if self.pid == os.getpid() and self.born == birth(self.pid):
            return self.token in _AT_WORK
        return self.born == birth(self.pid)

    def as_dict(self) -> dict[str, Any]:
        """Give what a line of the journal holds."""
        return asdict(self)


@contextmanager
def working() -> Iterator[Worker]:
    """Be a worker of this process for as long as the block lasts."""
    node, boot = this_machine()
    worker = Worker(os.getpid(), birth(os.getpid()) or "", node, boot, uuid.uuid4().hex[:8])
    _AT_WORK.add(worker.token)
    try:
        yield worker
    finally:
        _AT_WORK.discard(worker.token)


@cache
def this_machine() -> tuple[str, str]:
    """Give a digest of the machine's name, and one of its last start."""
    return digest(platform.node().encode())[:8], digest(boot().encode())[:8]
