"""The loader of CUDA C++: compiled at run time by NVRTC, which comes with every CUDA build of torch, and launched.

Both libraries are called by their public C interfaces. A compiled kernel belongs to one device and is launched on
torch's current stream, so that a CUDA graph can capture it; compile before a capture, as a capture allows no loading.
"""

import contextlib
import ctypes
import functools
import hashlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from lamina._processor import cache_folder, keep
from lamina._system import WINDOWS
from lamina._types import Tensor
from lamina.kernels.loading import source

_INVALID_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT
_MAX_DYNAMIC_SHARED_MEMORY = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


Argument = Tensor | int | float | ctypes.Structure | None
"""Of a kernel: tensors become pointers (None a null pointer), integers 32-bit ones, floats doubles."""


class Kernel:
    """A compiled kernel, ready to be launched."""

    def __init__(self, function: ctypes.c_void_p, shared_memory: int) -> None:
        """Keep a loaded function and let its blocks have `shared_memory` bytes.

        Args:
            function: the driver's handle.
            shared_memory: bytes of dynamic shared memory a block.
        """
        self.function, self.shared_memory = function, shared_memory
        _check(_driver().cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED_MEMORY, shared_memory), "cuFuncSetAttribute")

    def launch(
        self,
        blocks: int | tuple[int, int],
        threads: int,
        arguments: Sequence[Argument],
        *,
        cooperative: bool = False,
        shared_memory: int | None = None,
    ) -> None:
        """Launch on the current stream.

        Args:
            blocks: how many, along one or two axes.
            threads: in a block.
            arguments: see `Argument`.
            cooperative: whether blocks wait for each other; all of them must then fit on the device together.
            shared_memory: dynamic bytes a block, if fewer than the kernel was made for.
        """
        values = [_value(argument) for argument in arguments]
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        grid = (blocks, 1, 1) if isinstance(blocks, int) else (*blocks, 1)
        shared = self.shared_memory if shared_memory is None else shared_memory
        parts = (self.function, *grid, threads, 1, 1, shared, stream, pointers)
        name, more = ("cuLaunchCooperativeKernel", ()) if cooperative else ("cuLaunchKernel", (None,))
        status = getattr(_driver(), name)(*parts, *more)
        if status == _INVALID_CONTEXT:  # autograd's thread, in which nothing of the runtime has been called yet
            _bind()
            status = getattr(_driver(), name)(*parts, *more)
        _check(status, name)


def _bind() -> None:
    """Make the device's context, which torch uses, the calling thread's; allowed while a graph is captured."""
    context = ctypes.c_void_p()
    _check(
        _driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), torch.cuda.current_device()),
        "cuDevicePrimaryCtxRetain",
    )
    _check(_driver().cuCtxSetCurrent(context), "cuCtxSetCurrent")


def _value(argument: Argument) -> Any:
    if isinstance(argument, ctypes.Structure):
        return argument
    if isinstance(argument, int):
        return ctypes.c_int(argument)
    if isinstance(argument, float):
        return ctypes.c_double(argument)
    return ctypes.c_void_p(None if argument is None else argument.data_ptr())


@functools.cache
def library(
    name: str,
    kernels: tuple[str, ...],
    device: torch.device | int,
    definitions: tuple[tuple[str, int], ...] = (),
    shared_memory: int = 0,
) -> dict[str, Kernel]:
    """Compile a text of this package for a device, once a process; see `compile_kernels`."""
    with torch.cuda.device(device):
        return compile_kernels(source(name), kernels, dict(definitions), shared_memory)


@functools.cache
def library_or_none(name: str, *rest: Any) -> dict[str, Kernel] | None:
    """Do as `library`, but return None, with a warning, where the compiler is absent or refuses."""
    try:
        return library(name, *rest)
    except (AttributeError, OSError, RuntimeError) as error:
        warnings.warn(f"{name} cannot be compiled, torch's kernels are used: {error}", RuntimeWarning, stacklevel=2)
        return None


def compile_kernels(
    text: str, names: Sequence[str], definitions: Mapping[str, int], shared_memory: int
) -> dict[str, Kernel]:
    """Compile CUDA C++ for the current device and load it.

    Args:
        text: a program that includes no header.
        names: its kernels, declared `extern "C"`.
        definitions: macros and their values.
        shared_memory: bytes of dynamic shared memory a block of each kernel needs.

    Returns:
        The kernels by name.

    Raises:
        RuntimeError: with the compiler's log when it refuses the source, or with what the driver says.
        OSError: when one of the two libraries is absent.
    """
    major, minor = torch.cuda.get_device_capability()
    options = ["-std=c++17", f"--gpu-architecture=sm_{major}{minor}"]
    binary = _stored(text, [*options, *(f"-D{name}={value}" for name, value in definitions.items())])
    torch.cuda.current_stream().query()  # a call of the runtime binds the device to this thread
    module, kernels = ctypes.c_void_p(), {}
    _check(_driver().cuModuleLoadData(ctypes.byref(module), binary), "cuModuleLoadData")
    for name in names:
        function = ctypes.c_void_p()
        _check(_driver().cuModuleGetFunction(ctypes.byref(function), module, name.encode()), "cuModuleGetFunction")
        kernels[name] = Kernel(function, shared_memory)
    return kernels


def _stored(text: str, options: Sequence[str]) -> bytes:
    """Compile, or read what an earlier process compiled from the user's cache, as compiling takes a second or more."""
    name = hashlib.sha256("\n".join([text, *options, str(torch.version.cuda)]).encode()).hexdigest()
    path = cache_folder() / "kernels" / name
    with contextlib.suppress(OSError):
        return path.read_bytes()
    binary = compile_source(text, options)
    keep(path, binary)
    return binary


def compile_source(text: str, options: Sequence[str]) -> bytes:
    """Compile CUDA C++ to machine code; needs no GPU.

    Args:
        text: a program.
        options: for the compiler; they name the architecture.

    Returns:
        The binary.

    Raises:
        RuntimeError: with the compiler's log.
    """
    nvrtc, program, size = _compiler(), ctypes.c_void_p(), ctypes.c_size_t()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), None, 0, None, None), "nvrtcCreateProgram")
    try:
        given = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        if nvrtc.nvrtcCompileProgram(program, len(options), given) != 0:
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(f"NVRTC refused a kernel: {log.value.decode()}")
        _check(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)), "nvrtcGetCUBINSize")
        binary = ctypes.create_string_buffer(size.value)
        _check(nvrtc.nvrtcGetCUBIN(program, binary), "nvrtcGetCUBIN")
        return binary.raw
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


@functools.cache
def _compiler() -> ctypes.CDLL:
    major = str(torch.version.cuda).split(".")[0]
    return ctypes.CDLL(f"nvrtc64_{major}0_0.dll" if WINDOWS else f"libnvrtc.so.{major}")


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("nvcuda.dll" if WINDOWS else "libcuda.so.1")


def _check(status: int, call: str) -> None:
    if status != 0:
        raise RuntimeError(f"{call} failed with status {status}.")
