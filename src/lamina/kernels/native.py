"""The loader of C++: compiled for this machine when it is needed, in half a second, then kept in a cache."""

import contextlib
import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lamina._processor import cache_folder, keep, processor
from lamina._system import WINDOWS
from lamina._types import Tensor
from lamina.kernels.loading import source

_OPTIONS = (
    "-x",
    "c++",
    "-std=c++17",
    "-O3",
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-shared",
    "-fPIC",
)
# One thread, for another would keep the caller's rule about denormal numbers for good.
_PROBE = """
typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
typedef int Whole __attribute__((vector_size(16)));
extern "C" int four() {
  int sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(1)
  for (int i = 0; i < 4; ++i) {
    Four x = {1, 1, 1, 1};
    sum += __builtin_convertvector(x, Whole)[i];
  }
  return sum;
}
"""


def compiler() -> str | None:
    """Name the C++ compiler of this system, if it has one that knows GCC's options; on Windows none is tried."""
    if WINDOWS:
        return None
    wanted = os.environ.get("CXX", "")
    return next((path for name in (wanted, "g++", "c++", "clang++") if name and (path := shutil.which(name))), None)


def _compile_native(text: str, definitions: Mapping[str, int]) -> ctypes.CDLL:
    """Compile C++ for this processor and load it; what an earlier process compiled is read from the user's cache.

    Args:
        text: the program.
        definitions: macros and their values.

    Raises:
        RuntimeError: with the compiler's words when it refuses.
    """
    macros = [f"-D{name}={value}" for name, value in definitions.items()]
    key = hashlib.sha256("\n".join([text, *_OPTIONS, *macros, processor()]).encode()).hexdigest()
    kept = cache_folder() / "kernels" / f"{key}.so"
    if kept.exists():
        with contextlib.suppress(OSError):
            return ctypes.CDLL(str(kept))
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "kernel.so"
        _run(text, [*macros, "-o", str(library)])
        loaded = ctypes.CDLL(str(library))
        keep(kept, library.read_bytes())
        return loaded


def _run(text: str, options: Sequence[str]) -> None:
    """Compile with threads if the compiler knows OpenMP, else without; no loop may begin where alignment says so."""
    path, said = compiler(), ""
    even = "--param=vect-max-peeling-for-alignment=0"  # else an entry's instructions depend on where it lies
    for threads in (["-fopenmp", even], ["-fopenmp"], [even], []):
        if path is None:
            break
        words = [path, *_OPTIONS, *threads, "-", *options]
        done = subprocess.run(words, input=text, capture_output=True, encoding="utf-8", errors="replace")
        if done.returncode == 0:
            return
        said = done.stderr.strip()
    raise RuntimeError(f"the C++ compiler {path or '(none was found)'} refused a kernel: {said[:500]}")


@functools.cache
def works() -> bool:
    """Say whether this system can compile and load what our kernels are made of."""
    if compiler() is None:
        return False
    try:
        return int(_compile_native(_PROBE, {}).four()) == 4
    except (OSError, RuntimeError):
        return False


@functools.cache
def library(name: str, definitions: tuple[tuple[str, int], ...]) -> Any:
    """Compile a text of this package with some macros, once a process."""
    return _compile_native(source(name), dict(definitions))


def pointers(tensors: Sequence[Tensor]) -> Any:
    """Give the addresses of tensors as a C array."""
    return (ctypes.c_void_p * len(tensors))(*[t.data_ptr() for t in tensors])


def pointer(tensor: Tensor | None) -> ctypes.c_void_p:
    """Give the address of a tensor."""
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())
