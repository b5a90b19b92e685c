"""One writer for a folder: a lock that ends with its process, however that ends, and that other machines see.

`writer.lock` lies in the folder while somebody writes there: it is locked by the system, which lets go of it when the
process ends, and says who writes, where and since when. A file system may keep locks to one machine. Therefore the
writer also touches the file every `BEAT` seconds, and a writer on another machine counts as ended when the file has
not been touched for `SILENCE` seconds by the clock of the file system.
"""

import errno
import getpass
import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lamina import _system
from lamina._errors import RunError
from lamina.training.files import cannot_write

NAME = "writer.lock"
BEAT, SILENCE = 10.0, 60.0
_BUSY = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_HELD: dict[int, int] = {}
"""The open lock files of this process, and which process that is."""


@contextmanager
def only_writer(folder: str | Path, kind: str = "run") -> Iterator[None]:
    """Be the only one who writes to a folder for as long as the block lasts.

    Args:
        folder: of a run or of a study.
        kind: what it holds, for the sentence.

    Raises:
        RunError: somebody else, or another part of this process, writes to it, or it cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, only_writer(place):
    ...     with only_writer(place):
    ...         pass
    Traceback (most recent call last):
    lamina._errors.RunError: the run in ... is being written by this process since ...: ...
    """
    path = Path(folder) / NAME
    handle = _taken(path, kind)
    token = _sign(handle)
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(path, token, ended), daemon=True)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
        _let_go(path, handle, token)


def writer(folder: str | Path) -> dict[str, Any] | None:
    """Say who writes to a folder now: pid, born, host, boot, user and since; None if nobody does."""
    path = Path(folder) / NAME
    try:
        handle = os.open(path, _FLAGS & ~os.O_CREAT)
    except OSError:
        return None
    try:
        owner = _owner(handle)
        try:
            _system.lock(handle, wait=False)
        except OSError as error:
            return owner if error.errno in _BUSY or _writes(path, owner) else None
        return owner if _writes(path, owner, locks=True) else None
    finally:
        os.close(handle)


def _taken(path: Path, kind: str) -> int:
    """Open and lock the file, or say who has it."""
    while True:
        try:
            if path.is_symlink():  # a stranger's, perhaps to a file of yours, which would be overwritten
                path.unlink()
            handle = os.open(path, _FLAGS, 0o644)
        except OSError as error:
            raise RunError(cannot_write(path, error)) from error
        locks = True
        try:
            _system.lock(handle, wait=False)
        except OSError as error:
            locks = False
            owner = _owner(handle)
            if error.errno in _BUSY or _writes(path, owner):
                os.close(handle)
                raise _refused(path, kind, owner) from None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):  # else the last writer has just removed it
                break
        os.close(handle)
    owner = _owner(handle)
    if _writes(path, owner, locks=locks):
        os.close(handle)
        raise _refused(path, kind, owner)
    _HELD[handle] = os.getpid()
    return handle


def _writes(path: Path, owner: dict[str, Any], *, locks: bool = False) -> bool:
    """Say whether the writer that a lock names is still there; `locks`: the lock of the system is free."""
    if not owner:
        return False
    if owner.get("host") == platform.node():
        if locks or owner.get("boot") != _system.boot():
            return False
        return owner.get("born") == _system.birth(int(owner.get("pid", 0)))
    return _silence(path) < SILENCE


def _silence(path: Path) -> float:
    """Say for how many seconds a lock was not touched, by the clock of its file system."""
    probe = path.with_name(f".{uuid.uuid4().hex[:8]}.part")
    try:
        probe.touch()
        now = probe.stat().st_mtime
    except OSError:
        now = time.time()
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)
    try:
        touched = path.stat().st_mtime
        if touched <= now + 1:
            return max(0.0, now - touched)
        until = time.monotonic() + SILENCE
        while time.monotonic() < until:  # a clock was wrong then or is wrong now: whoever is there touches it meanwhile
            time.sleep(BEAT)
            if path.stat().st_mtime != touched:
                return 0.0
    except OSError:
        pass
    return SILENCE


def _owner(handle: int) -> dict[str, Any]:
    """Read who holds a lock; nothing if the file is empty or was cut short."""
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        owner = json.loads(os.read(handle, 4096))
    except (OSError, ValueError, RecursionError):
        return {}
    return owner if isinstance(owner, dict) and isinstance(owner.get("pid"), int) else {}


def _sign(handle: int) -> str:
    """Write who holds the lock from now on, and return a word that nobody else has."""
    token = uuid.uuid4().hex
    owner = {
        "pid": os.getpid(),
        "born": _system.birth(os.getpid()),
        "host": platform.node(),
        "boot": _system.boot(),
        "user": _user(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "token": token,
    }
    with suppress(OSError):  # on a full disk the lock of the system has to do
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, json.dumps(owner).encode())
    return token


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may have nobody of this number
        return "unknown"


def _beat(path: Path, token: str, ended: threading.Event) -> None:
    """Touch the lock again and again while it is ours."""
    while not ended.wait(BEAT):
        with suppress(OSError, ValueError):
            if json.loads(path.read_bytes()).get("token") == token:
                os.utime(path)


def _let_go(path: Path, handle: int, token: str) -> None:
    if _HELD.pop(handle, None) != os.getpid():  # the copy of a process that was forked
        return
    ours = _owner(handle).get("token", token) == token
    if not _system.WINDOWS and ours:
        with suppress(OSError):
            path.unlink(missing_ok=True)  # while nobody else can have it
    with suppress(OSError):
        _system.unlock(handle)
    os.close(handle)
    if _system.WINDOWS and ours:  # there nobody removes what is open; who opens it meanwhile keeps it
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _refused(path: Path, kind: str, owner: dict[str, Any]) -> RunError:
    here = owner.get("host") == platform.node()
    if here and owner.get("pid") == os.getpid():
        who = "this process"
    elif owner:
        who = f"process {owner['pid']} of {owner.get('user', 'unknown')} on {owner.get('host', 'another machine')}"
    else:
        who = "another process"
    since = f" since {owner['since']}" if owner.get("since") else ""
    way_out = "wait until it ends, or stop it; the folder is free as soon as it has ended"
    if owner and not here:
        way_out += f", or {SILENCE:.0f} s after that machine's last sign of life"
    return RunError(f"the {kind} in {path.parent} is being written by {who}{since}: {way_out}.")


def _forget() -> None:
    """Close the locks of the parent in a process that was forked: they end with the parent, not with its children."""
    for handle in _HELD:
        with suppress(OSError):
            os.close(handle)
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
