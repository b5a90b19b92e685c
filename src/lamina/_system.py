"""What systems do differently, each difference once: locks, folders on disk, open files, processes, names, consoles.

Linux and macOS have `fcntl`, sync folders and replace files that somebody has open. Windows has `msvcrt`, refuses both,
and reserves names. Nothing else in Lamina asks which system it runs on.
"""

import contextlib
import ctypes
import errno
import importlib
import io
import math
import mmap
import os
import posixpath
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

WINDOWS = sys.platform == "win32"
PATIENCE = 2.0
"""Seconds for which a file that somebody has open on Windows, perhaps a virus scanner, is tried again."""
STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name))
"""The signals that ask a process to stop; Windows has Ctrl-Break too."""
_LOCKED_BYTE = 2**31 - 2
"""Windows lets nobody else read what is locked, so a byte is locked that no file of ours reaches."""
_UNKNOWN = 4 * 2**30
"""Bytes of memory that are assumed to be free where the system does not say it."""
_LOOK = 0.5
_QUERY, _STILL_ACTIVE = 0x1000, 259


def free_memory() -> int:
    """Say how many bytes of memory are left.

    >>> free_memory() > 2**20
    True
    """
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        free = 1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    except (OSError, StopIteration, ValueError):
        return _UNKNOWN
    return int(max(0, min(free, _allowed(), _left_to_group())))


def _allowed() -> float:
    """Say how many more bytes the limit of this process lets it have (`ulimit -v`)."""
    resource: Any = importlib.import_module("resource")
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return math.inf
    used = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
    return int(most) - used


def _left_to_group(own: Path = Path("/proc/self")) -> float:
    """Say how many more bytes the control groups of this process may have, as a container or a batch system sets them.

    Both kinds are read, of version 1 and 2, and every group above, since each can set a limit. Files that were read and
    not looked at again give way at once, so they count as free.

    Args:
        own: the folder in which the kernel tells a process about itself.
    """
    names = {"cgroup2": ("memory.max", "memory.current", "inactive_file"),
             "cgroup": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")}  # fmt: skip
    left = math.inf
    for kind, top, place in _groups(own):
        for group in (place, *place.parents):
            with contextlib.suppress(OSError, ValueError):  # the topmost group has no such files, and "max" is no limit
                most, used = (int((group / name).read_text(encoding="utf-8")) for name in names[kind][:2])
                rows = (group / "memory.stat").read_text(encoding="utf-8").splitlines()
                rest = next((int(row.split()[1]) for row in rows if row.split()[:1] == [names[kind][2]]), 0)
                left = min(left, most - used + rest)
            if group == top:
                break
    return left


def _groups(own: Path) -> list[tuple[str, Path, Path]]:
    """List the groups that limit the memory of a process: their kind, where it is mounted, and where they are."""
    try:
        mounted = [row.split(" - ") for row in (own / "mountinfo").read_text(encoding="utf-8").splitlines()]
        member = [row.split(":", 2) for row in (own / "cgroup").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return []
    paths = {"cgroup2" if not row[1] else "cgroup": row[2] for row in member
             if len(row) == 3 and (not row[1] or "memory" in row[1].split(","))}  # fmt: skip
    found = []
    for where, what in (row for row in mounted if len(row) == 2):
        kind, _, options = what.split(" ", 2)
        if kind not in paths or (kind == "cgroup" and "memory" not in options.split(",")):
            continue
        root, top = where.split()[3:5]
        inner = posixpath.relpath(paths[kind], root)  # a container sees its own group as the topmost one
        found.append((kind, Path(top), Path(top) / ("" if inner.startswith("..") else inner)))
    return found


def limit_memory(more: int) -> bool:
    """Let this process take so many bytes more than it has, and no more; say whether the system sees to it.

    Only Linux counts what a process has reserved for itself alone; elsewhere there is no such limit.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return False
    resource: Any = importlib.import_module("resource")
    row = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmData"))
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = 1024 * int(row.split()[1]) + more
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))
    return True


def give_back() -> None:
    """Give memory that was freed back to the system, where the C library keeps it for itself (glibc does)."""
    trim = None if WINDOWS else getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def one_arena() -> None:
    """Let all threads of this process take memory from one place, where the C library (glibc) has many.

    A page's thread ends with its page; what it freed in a place of its own is of no use to the next one.
    """
    option = None if WINDOWS else getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(-8, 1)  # M_ARENA_MAX


def shared(size: int) -> tuple[mmap.mmap, str, tuple[int, ...]]:
    """Make memory that a child can share, which is gone when both have ended.

    It needs no room in /dev/shm, of which a container has 64 MB.

    Args:
        size: how many bytes.

    Returns:
        The memory; its name for `shared_by`; what the child must inherit, and what is closed here when it does.
    """
    if WINDOWS:
        name = f"lamina-{uuid.uuid4().hex}"
        return _named(name, size), name, ()
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("lamina")
    else:
        with tempfile.TemporaryFile() as file:
            handle = os.dup(file.fileno())
    try:
        zeros = memoryview(bytes(min(size, 2**20)))
        while size > os.fstat(handle).st_size:  # a hole could find no room later, which ends a process
            os.write(handle, zeros[: size - os.fstat(handle).st_size])
        return mmap.mmap(handle, size), str(handle), (handle,)
    except BaseException:
        os.close(handle)
        raise


def shared_by(name: str, size: int) -> mmap.mmap:
    """Open in a child what its parent has made with `shared`."""
    if WINDOWS:
        return _named(name, size)
    memory = mmap.mmap(int(name), size)
    os.close(int(name))
    return memory


def _named(name: str, size: int) -> mmap.mmap:
    found: mmap.mmap = cast(Any, mmap.mmap)(-1, size, tagname=name)
    return found


def lock(handle: int, *, wait: bool = True) -> None:
    """Lock an open file for this process; the system unlocks it when the process ends, however it ends.

    Args:
        handle: of the file, open for writing.
        wait: whether to wait until nobody else has it.

    Raises:
        OSError: somebody else has it, or the file system has no locks.
    """
    if not WINDOWS:
        fcntl: Any = importlib.import_module("fcntl")
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return
    while True:
        try:
            _lock_byte(handle, "LK_NBLCK")
            return
        except OSError as error:
            if not wait or error.errno not in (errno.EACCES, errno.EDEADLK):
                raise
        time.sleep(0.005)


def unlock(handle: int) -> None:
    """Let others lock the file; closing it does so, too."""
    if WINDOWS:
        _lock_byte(handle, "LK_UNLCK")
    else:
        fcntl: Any = importlib.import_module("fcntl")
        fcntl.flock(handle, fcntl.LOCK_UN)


def _lock_byte(handle: int, how: str) -> None:
    msvcrt: Any = importlib.import_module("msvcrt")
    before = os.lseek(handle, 0, os.SEEK_CUR)
    os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(handle, getattr(msvcrt, how), 1)
    finally:
        os.lseek(handle, before, os.SEEK_SET)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk; Windows cannot be asked and does so by itself."""
    if WINDOWS:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(draft: Path, path: Path) -> None:
    """Move a file or folder to its place at once; on Windows wait a little for those who have the old one open."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            os.replace(draft, path)
            return
        except PermissionError:
            if not WINDOWS or time.monotonic() > until:
                raise
        time.sleep(0.02)


def remove(path: Path) -> None:
    """Remove a file that is no longer needed; one that somebody has open on Windows stays."""
    with contextlib.suppress(*([PermissionError] if WINDOWS else [])):
        path.unlink(missing_ok=True)


def birth(pid: int) -> str | None:
    """Say when a process began; None if there is none, or only one that has ended and was not fetched yet.

    >>> birth(os.getpid()) == birth(os.getpid()), birth(2**22 + 1)
    (True, None)
    """
    if WINDOWS:
        return _birth_on_windows(pid)
    if Path("/proc/self/stat").exists():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in "ZX" else fields[19]
    words = ["ps", "-o", "lstart=,stat=", "-p", str(pid)]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", errors="replace")
    text = done.stdout.strip()
    return None if done.returncode or not text or text.split()[-1].startswith("Z") else text.rpartition(" ")[0].strip()


def _birth_on_windows(pid: int) -> str | None:
    """Ask the kernel for the start of a process, in units of 100 ns."""
    kernel: Any = getattr(ctypes, "WinDLL")("kernel32")  # noqa: B009  (absent elsewhere, so the type checker objects)
    kernel.OpenProcess.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(kernel.OpenProcess(_QUERY, False, pid))
    if not handle:
        return None
    try:
        start, code = ctypes.c_uint64(), ctypes.c_uint32()
        rest = [ctypes.byref(ctypes.c_uint64()) for _ in range(3)]
        known = kernel.GetProcessTimes(handle, ctypes.byref(start), *rest)
        lives = kernel.GetExitCodeProcess(handle, ctypes.byref(code)) and code.value == _STILL_ACTIVE
        return str(start.value) if known and lives else None
    finally:
        kernel.CloseHandle(handle)


def boot() -> str:
    """Name the last start of this machine, "" where the system does not."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def end_with(parent: int) -> None:
    """End this process soon after the one that started it, however that ends; a thread looks twice a second."""
    born = birth(parent) if WINDOWS else None

    def lives() -> bool:  # elsewhere an orphan gets another parent
        return birth(parent) == born is not None if WINDOWS else os.getppid() == parent

    def watch() -> None:
        while lives():
            time.sleep(_LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def step_back(by: int) -> None:
    """Let other processes go first, where a process can say so."""
    if hasattr(os, "nice"):
        os.nice(by)


def keep_to_cores(part: int, parts: int, threads: int = 1) -> None:
    """Let this process compute on its share of the cores that it and those beside it have from their parent.

    Where no core is idle, a thread that wakes up on that of another process waits there for the next tick of the clock,
    4 ms on many systems. All cores are for all where a share is less than one for each thread. Nothing is done where
    somebody else chose cores for this process, and on systems where a process cannot choose.

    Args:
        part: the number of this process.
        parts: how many there are.
        threads: how many threads it computes with.
    """
    asked: Any = os  # the type checker knows that other systems have nothing of the kind
    if hasattr(asked, "sched_setaffinity"):
        try:
            common, own = asked.sched_getaffinity(os.getppid()), asked.sched_getaffinity(0)
        except OSError:  # the parent is somebody else's
            return
        if own in (common, _kept):
            share = len(common) // parts
            _kept.clear()
            _kept.update(sorted(common)[part * share : (part + 1) * share] if share >= threads else common)
            for thread in _threads():
                with contextlib.suppress(OSError):  # it has ended
                    asked.sched_setaffinity(int(thread.name), _kept)


_kept = set[int]()
"""The cores that this process chose for itself."""


def let_others_finish(name: str) -> None:
    """Let the threads of this process that have a name interrupt nobody when they wake up, where Linux can be asked."""
    asked: Any = os
    if hasattr(asked, "SCHED_BATCH"):
        for thread in _threads():
            with contextlib.suppress(OSError):  # it has ended, or a container forbids it
                if (thread / "comm").read_text(encoding="utf-8").strip() == name:
                    asked.sched_setscheduler(int(thread.name), asked.SCHED_BATCH, asked.sched_param(0))


def _threads() -> list[Path]:
    """List what Linux knows about the threads of this process; they are named by their numbers."""
    return list(Path("/proc/self/task").glob("*"))


def restart(variables: Mapping[str, str]) -> NoReturn:
    """Run this command again with more environment variables, and end as it does."""
    command, environment = [sys.executable, *sys.orig_argv[1:]], {**os.environ, **variables}
    sys.stdout.flush()
    if not WINDOWS:
        os.execve(sys.executable, command, environment)
    for stop in STOPS:  # there a process is not replaced: the shell would not wait. Ctrl-C is for the new one.
        signal.signal(stop, lambda number, frame: None)
    sys.exit(subprocess.run(command, env=environment).returncode)


def refused(path: Path) -> str:
    """Say why this system cannot have a file or folder of this name; "" when it can."""
    if "\0" in str(path):
        return "a name has no zero bytes"
    if not WINDOWS:
        return ""
    parts = path.parts[1:] if path.anchor else path.parts
    for part in parts:
        if found := re.search(r'[<>:"|?*\x00-\x1f]', part):
            return f"Windows allows no {found[0]!r} in a name"
        if re.fullmatch(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])", part.partition(".")[0].rstrip(), re.IGNORECASE):
            return f"Windows reserves the name {part!r}"
        if part not in (".", "..") and part.endswith((".", " ")):
            return f"a name cannot end with {part[-1]!r} on Windows"
    return ""


def open_streams() -> None:
    """Give a process that was started without input or outputs (`lamina train ... >&-`) ones that lead nowhere.

    Else the next file that is opened takes the number of a standard stream, and whatever is printed goes into it.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(handle, True)
    os.close(handle)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))


def lead_nowhere(stream: TextIO) -> None:
    """Let what is still printed vanish, once nobody reads a stream any more: Python would complain when it ends."""
    with contextlib.suppress(OSError):  # io.UnsupportedOperation is one
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, stream.fileno())
        os.close(handle)


def use_any_console() -> None:
    """Let what this process prints reach every console: a character that it lacks is written as its number."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
