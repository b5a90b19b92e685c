"""Another system, as far as Linux can play it: put this folder on PYTHONPATH and set SYSTEM to windows or macos.

What that system lacks is hidden from this process and its children, and what Windows refuses is refused. Third-party
packages are loaded as they are: `sys.platform` stays, and only `lamina._system` is told. Windows itself (its kernel,
its file system, its consoles) is not here, so tests that pass do not replace a run on it.
"""

import asyncio  # noqa: F401  (what decides by modules that are hidden below is loaded before)
import builtins
import concurrent.futures.process  # noqa: F401
import ctypes
import errno
import fcntl
import functools
import importlib.util
import io
import multiprocessing
import multiprocessing.context
import multiprocessing.popen_spawn_posix
import os
import shutil  # noqa: F401
import signal
import stat
import subprocess  # noqa: F401
import sys
import tempfile
import types

ABSENT = {
    "macos": {"os": ("sched_getaffinity", "posix_fadvise", "fdatasync", "memfd_create", "pidfd_open"), "modules": ()},
    "windows": {
        "os": ("sched_getaffinity", "fork", "forkpty", "pread", "pwrite", "nice", "killpg", "setsid", "mkfifo",
               "O_DIRECTORY", "O_CLOEXEC", "posix_fadvise", "statvfs", "sysconf", "chown", "getloadavg"),
        "modules": ("fcntl", "resource", "termios", "tty", "pty", "grp", "pwd", "syslog"),
    },
}  # fmt: skip
SIGNALS = ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGQUIT", "SIGSTOP")
real = types.SimpleNamespace(open=io.open, stat=os.stat, readlink=os.readlink, listdir=os.listdir)


def hide_proc():
    def without_proc(function):
        @functools.wraps(function)
        def checked(path, *rest, **more):
            if isinstance(path, str | os.PathLike) and os.fspath(path).startswith("/proc"):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
            return function(path, *rest, **more)

        return checked

    builtins.open = io.open = without_proc(io.open)
    for name in ("stat", "lstat", "listdir", "scandir", "open"):
        setattr(os, name, without_proc(getattr(os, name)))


def is_open(path):
    """Say whether this process has a file open or mapped, so that Windows would refuse to move or remove it."""
    try:
        wanted = real.stat(path)
    except OSError:
        return False
    if not stat.S_ISREG(wanted.st_mode):
        return False
    for handle in real.listdir("/proc/self/fd"):
        try:
            found = real.stat(f"/proc/self/fd/{handle}")
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    with real.open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        return any(line.rstrip().endswith(os.path.abspath(path)) for line in maps)


def refuse_like_windows():
    def only_closed(function):
        @functools.wraps(function)
        def checked(*paths, **more):
            for path in paths:
                if not more and is_open(path):
                    raise PermissionError(errno.EACCES, "The process cannot access the file", os.fspath(path))
            return function(*paths, **more)

        return checked

    def no_folder(function):
        @functools.wraps(function)
        def checked(path, *rest, **more):
            if not more and isinstance(path, str | os.PathLike) and os.path.isdir(path):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
            return function(path, *rest, **more)

        return checked

    def no_exec(*_):
        raise AssertionError("os.execve would let the shell go on on Windows")

    for name in ("replace", "rename", "unlink", "remove"):
        setattr(os, name, only_closed(getattr(os, name)))
    os.open = no_folder(os.open)
    os.execve = no_exec
    os.getppid = lambda: 1  # in a virtual environment the launcher, not the process that started this one
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile  # as there: nothing is removed while it is open
    multiprocessing.context.DefaultContext.get_all_start_methods = lambda self: ["spawn"]
    multiprocessing.get_all_start_methods = lambda: ["spawn"]


class Kernel32:
    """The calls of Windows that ask about a process, answered from /proc."""

    class Call:
        def __init__(self, function):
            self.function = function

        def __call__(self, *arguments):
            return self.function(*arguments)

    def __init__(self):
        for name in ("OpenProcess", "GetProcessTimes", "GetExitCodeProcess", "CloseHandle"):
            setattr(self, name, self.Call(getattr(self, "_" + name)))

    def _fields(self, pid):
        try:
            with real.open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                return file.read().rpartition(")")[2].split()
        except OSError:
            return None

    def _OpenProcess(self, access, inherit, pid):
        assert access == 0x1000, "an ordinary user may ask for no more than PROCESS_QUERY_LIMITED_INFORMATION"
        return pid if self._fields(pid) else 0

    def _GetProcessTimes(self, handle, start, *rest):
        assert len(rest) == 3
        fields = self._fields(handle.value)
        start._obj.value = int(fields[19]) if fields else 0
        return bool(fields)

    def _GetExitCodeProcess(self, handle, code):
        fields = self._fields(handle.value)
        code._obj.value = 259 if fields and fields[0] not in "ZX" else 0
        return True

    def _CloseHandle(self, handle):
        return True


def fake_msvcrt():
    """Give `msvcrt.locking` as Windows has it: nobody could read a locked byte, so it must lie beyond the end."""
    module = types.ModuleType("msvcrt")
    module.LK_UNLCK, module.LK_LOCK, module.LK_NBLCK = 0, 1, 2

    def locking(handle, mode, count):
        place = os.lseek(handle, 0, os.SEEK_CUR)
        assert count == 1 and os.fstat(handle).st_size < place < 2**31, "a lock on bytes that others read"
        try:
            fcntl.flock(handle, fcntl.LOCK_UN if mode == module.LK_UNLCK else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None

    module.locking = locking
    return module


class AfterSystem:
    """Finds `lamina._system` as usual, and tells it that this is Windows."""

    def find_spec(self, name, path=None, target=None):
        if name != "lamina._system":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            module.WINDOWS = True

        spec.loader.exec_module = exec_module
        return spec


def pretend(system):
    multiprocessing.set_start_method("spawn")
    hide_proc()
    if system == "windows":
        refuse_like_windows()
        ctypes.WinDLL = lambda name: {"kernel32": Kernel32()}[name]
        sys.modules["msvcrt"] = fake_msvcrt()
        sys.meta_path.insert(0, AfterSystem())
        for name in SIGNALS:
            delattr(signal, name)
    for name in ABSENT[system]["os"]:
        if hasattr(os, name):
            delattr(os, name)
    for name in ABSENT[system]["modules"]:
        sys.modules[name] = None


if os.environ.get("SYSTEM"):
    pretend(os.environ["SYSTEM"])
