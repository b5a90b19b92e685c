"""Flush denormal numbers, which slow a CPU down tenfold, in every thread that computes for the caller.

torch sets the flag of the calling thread alone, and the threads of OpenMP inherit it when they are started. Those of a
training would flush for the rest of the process, and those started before it never. So the caller's floating-point
environment is handed to all of them.
"""

import contextlib
import ctypes
import ctypes.util
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch


def flushes() -> bool:
    """Say whether the calling thread flushes denormal numbers."""
    return bool(torch.tensor(1e-39, dtype=torch.float32) * 1.0 == 0)


@contextlib.contextmanager
def flushed(wanted: bool) -> Iterator[None]:
    """Flush denormal numbers, or do not, and put back what was there; to be entered and left in one thread."""
    before, threads = flushes(), torch.get_num_threads()
    _flush(wanted, threads)
    try:
        yield
    finally:
        _flush(before, max(threads, torch.get_num_threads()))


def _flush(wanted: bool, threads: int) -> None:
    share = _sharing() if threads > 1 else None
    if share is None and threads > 1:
        torch.zeros(1 << 17).add_(1)  # OpenMP's threads start now, with the flag as it is
    torch.set_flush_denormal(wanted)
    if share is not None:
        share(threads)


@functools.cache
def _sharing() -> Callable[[int], None] | None:
    """Find the call that gives the caller's floating-point environment to OpenMP's threads; None without GNU's."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
        loaded = {line.split(maxsplit=5)[-1] for line in maps.splitlines()}
        ours = [name for name in sorted(loaded) if Path(name).name.startswith("libgomp")]
        home = str(Path(torch.__file__).parent)  # scikit-learn, say, brings an OpenMP with threads of its own
        openmp = ctypes.CDLL(min(ours, key=lambda name: not name.startswith(home)))
        library: Any = ctypes.CDLL(ctypes.util.find_library("m"))
        parallel, get, set_ = openmp.GOMP_parallel, library.fegetenv, ctypes.cast(library.fesetenv, ctypes.c_void_p)
    except (OSError, ValueError, AttributeError):
        return None

    def share(threads: int) -> None:
        environment = ctypes.create_string_buffer(256)  # larger than any platform's fenv_t
        get(environment)
        parallel(set_, environment, ctypes.c_uint(threads), ctypes.c_uint(0))

    return share
